"""`ShapleyImportance`: a fair share of what a model explains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skvarimp._data.table import together
from skvarimp._data.validation import CONSTRAINTS, StrOptions
from skvarimp._measures.evaluations import CountsEvaluations, exact_rows
from skvarimp._measures.joint.game import LEAST_REPEATS, Game, estimate
from skvarimp._measures.joint.statistics import check_disjoint
from skvarimp._measures.losses import make_loss
from skvarimp._measures.problem import ALL, without_outputs
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._response.contract import TIMES_DRAWN
from skvarimp._running.guards import budget, warn
from skvarimp._types import Features, RandomState, ResponseMethod


@dataclass(kw_only=True, eq=False, repr=False)
class ShapleyImportance(CountsEvaluations, ResponseImportance):
    """Fair share of each feature in what a model explains.

    Coalitions of features explain more or less of y: with F_S(x_S) the mean of the
    response over all rows whose features in S are x_S, a coalition's value is by how
    much F_S lowers the mean squared error of the mean response. A feature's importance
    is its Shapley value: what it adds to the features before it, on average over all
    orders of the features. The importances sum to the value of all features together,
    `total_`. The measure is *marginal*: if features are dependent, it evaluates rows
    that do not occur.

    Parameters
    ----------
    loss : {"squared_error", "brier"} or None, default=None
        What is explained. "squared_error": y (SAGE). "brier": y's classes, by the
        squared error of their probabilities. None: the response itself, without y. Then
        the variance of the response is shared out; for independent features these are
        the Shapley effects.
    estimation : {"auto", "exact", "sampled"}, default="auto"
        "exact": from the joint effects of all sets of features that interact.
        "sampled": from random orders, each with its reverse. "auto" is exact if that is
        expected to cost at most three times as much as drawing.
    n_repeats : int, default=10
        Number of random orders, each with its reverse ("sampled"). A model without
        exact coalitions is asked for each row in an order of its own, with two random
        donors. These repeats also give the donors' part of its standard errors where
        the importances are exact.
    tol : float, "auto" or None, default="auto"
        When repeats stop, after at least four of them, or ten where all rows have the
        same order; `n_repeats` is the most there may be. "auto": when the error of
        drawing of each feature is at most a third of its standard error or 0.5% of the
        largest importance. A number: when it is at most `tol` times the largest
        importance. None: all repeats are made.
    scale : {"auto"} or None, default="auto"
        "auto": importances are shares of the variance of y (of the response for
        loss=None). None: they are in units of the squared response.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups); None: each column. A
        column may be in one feature only. Columns in none are always those of donors.
    categorical_features : array-like, default=None
        Names, positions or a boolean mask of columns whose values have no order: they
        get no direction. The importances do not depend on it.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers for the repeats. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the orders and donors.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows: `row_effects_`, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed.
    max_evaluations : int, default=None
        The largest number of rows that the model may be asked to predict, those of X
        included. Repeats stop there, and each serves all features. None: no limit.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Mean over the outputs; negative if a feature makes the error larger.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        The same for each output.
    total_ : float
        What all features explain together: the sum of the importances. With
        scale="auto" it is 1 for loss=None, and R^2 for loss="squared_error" if the mean
        response is the mean of y; both if the features hold all columns.
    standard_errors_ : ndarray of shape (n_features,)
        Sampling error with the model held fixed, each row counting as evaluated row,
        as donor, and in the variance that importances are divided by (infinitesimal
        jackknife). If features interact, the donors' part comes from random orders,
        whose noise is taken off.
    monte_carlo_errors_ : ndarray of shape (n_features,) or None
        Error of drawing ("sampled"); NaN for one repeat, 0 if no features interact.
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: the Shapley value of each row's own squared error (0 where its
        weight is 0); the weighted mean is `importances_`.
    row_effects_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: each row's response minus its mean as the feature takes the
        values of other rows, of additive models the Shapley value; NaN where the row's
        weight is 0 (not for models that are not read). Several outputs are a third
        axis.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the mean response goes as values rise: 1 where it only rises, -1 where
        it only falls, near 0 where it turns; see the glossary. NaN for groups and for
        categories without an order, and for models that are not read. None for several
        outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    estimation_ : str
        The estimation used.
    response_path_ : str
        How the response was computed.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    SobolImportance : Bounds of the shares for independent features, at less cost.
    PermutationImportance : The loss gained when one feature alone is replaced.

    Notes
    -----
    With F_0 the mean response and t = y, or the response for loss=None,

        v(S) = E (t - F_0)^2 - E (t - F_S(x_S))^2,

    and v of all features follows from the model's own response. F_S is a sum of
    components m_T over the sets T in S, and so is the value of a coalition::

        phi_j = 2 sum over T that hold j of E[(t - F_0) m_T] / |T|
                - sum over T, T' one of which holds j of E[m_T m_T'] / |T + T'|.

    This is exact and costs little where few sets interact: additive models, whose
    importances are 2 cov(t, m_j) - cov(m_j, f); trees, where T is on the way to one
    leaf, for depth 3 in boosting, say; and polynomials of low degree. Otherwise orders
    are drawn. For trees without a link function each coalition on the way is exact over
    all rows and donors, the orders alone are random, and the effects of single features
    and of pairs are known and serve as control variates. Other models are asked
    themselves, 4 (n_features - 1) n_samples predictions a repeat.

    For independent features and loss=None, first-order index <= share <= total index,
    see `SobolImportance`. Two identical columns that a model uses alike have equal
    shares. A column that the model does not use, and a constant one, have exactly 0.

    References
    ----------
    .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
       Uncertainty Quantification 2 (2014), eq. 2.2 and theorem 1.
    .. [2] I. Covert, S. Lundberg and S.-I. Lee, "Understanding Global Feature
       Contributions With Additive Importance Measures", NeurIPS 33 (2020), section 3.
    .. [3] E. Song, B. L. Nelson and J. Staum, "Shapley Effects for Global Sensitivity
       Analysis", SIAM/ASA Journal on Uncertainty Quantification 4 (2016), section 4.

    Examples
    --------
    On the corners of a cube a product and a single feature have variance 1 each; the
    two factors share the first:

    >>> from itertools import product
    >>> import numpy as np
    >>> from skvarimp import ShapleyImportance
    >>> X = np.array(list(product([-1.0, 1.0], repeat=3)))
    >>> imp = ShapleyImportance(estimation="exact")
    >>> imp.fit(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X).importances_
    array([0.25, 0.25, 0.5 ])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "tol": [StrOptions({"auto"}), *CONSTRAINTS["tol"]],
    }

    total_: float = field(init=False)

    loss: Literal["squared_error", "brier"] | None = None
    estimation: Literal["auto", "exact", "sampled"] = "auto"
    n_repeats: int = 10
    tol: float | Literal["auto"] | None = "auto"
    scale: Literal["auto"] | None = "auto"
    features: Features = None
    categorical_features: ArrayLike | None = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    keep_rows: bool = False
    max_evaluations: int | None = None

    _has_directions = True
    _drawn_estimation = "sampled"

    @property
    def _may_be_negative(self):
        return self.loss is not None

    def _lowest(self):  # as of a column that works against its correlated ones
        return -np.inf

    def _plan(self, problem, features):
        check_disjoint(features, "Leave one of them out of `features`.")
        game = Game(problem, features, self._target(problem), self.scale is not None)
        if self.loss is not None and self.scale is not None:
            scale = problem.without_absent_classes(game.scale, game.constant)
            game.scale, game.constant = scale, game.constant & np.isfinite(scale)
        if self.loss is not None and game.constant.any():
            raise ValueError(
                "scale='auto' divides by the variance of y, but y is constant. "
                "Use scale=None for importances in units of the loss."
            )
        return Plan(problem, features, None, self.estimation, game)

    def _target(self, problem):
        """What the response is to explain, (n_outputs, n_rows)."""
        model = problem.model
        if self.loss is None:
            return problem.base
        if problem.given_y is None:
            raise ValueError(
                f"y is required: loss={self.loss!r} compares the prediction with it. "
                "loss=None shares out the variance of the prediction and needs no y."
            )
        if self.loss == "brier" and model.kind != "probability":
            raise ValueError(
                "loss='brier' compares probabilities with y's classes, got "
                f"`{model.method}` of {type(model.estimator).__name__}. Use "
                "loss='squared_error', or a classifier with `predict_proba`."
            )
        loss = make_loss("squared_error", model, problem.y, len(problem.base))
        return loss.target(problem.y)

    def _read(self, plan):
        """The game, with what the model's response knows of coalitions."""
        game, problem, features = plan.own, plan.problem, plan.features
        if game.coalitions is None:
            with budget().reading(game.rows_of_repeat):
                game.coalitions = problem.response(features).coalitions(
                    problem.rows, features
                )
        return game

    def _family(self, plan):
        """The sets of features that interact; None if they are not to be exact."""
        factor = {"auto": TIMES_DRAWN, "exact": np.inf, "sampled": 0}[self.estimation]
        return self._read(plan).affordable(np.inf, factor * self.n_repeats)

    def _cheapest(self, plan):
        return "sampled" if self._family(plan) is None else "exact"

    def _exact_rows(self, plan):
        """How many rows all sets that interact and the repeats ask the model for."""
        family, game = self._family(plan), plan.own
        n_rows = self.n_repeats * game.rows_of_repeat * game.coalitions.draws_donors
        if family is None:
            return n_rows
        joint = [together(plan.features[e] for e in s) for s in family.sets[1:]]
        response = plan.problem.response(plan.features)
        return n_rows + exact_rows(plan.problem, joint, ALL, response)

    def _least_evaluations(self, n_rows, features):
        return n_rows + LEAST_REPEATS * 4 * n_rows * len(features)

    def _moved_rows(self, problem, features):
        plan = clone(self).set_params(loss=None)._plan(problem, features)
        return self._exact_rows(plan)

    def _conclude(self, plan, outcomes):
        game, problem = self._read(plan), plan.problem
        self.response_path_ = problem.response(plan.features).path
        if self.estimation_ == "exact":
            game.know([np.inf], np.inf)
            if not game.complete:
                raise ValueError(
                    "estimation='exact' needs the joint effects of all sets of "
                    "features that interact, which are too many for scikit-learn's "
                    "`working_memory`. Use estimation='sampled', or fewer features."
                )
        else:  # larger sets are not worth their cost
            few = [] if game.coalitions.draws_donors else [2, 1]
            game.know(few, self.n_repeats)
        repeats = estimate(game, problem.units, self)
        outcome = repeats.outcome()
        if self.scale is None:
            outcome = outcome.times(game.unit**2)
        if self.estimation_ == "exact":
            outcome.monte_carlo_errors = None
        else:
            asked = self.tol not in (None, "auto")
            if asked and repeats.n and not repeats.precise(self.tol):
                warn(
                    f"tol={self.tol} was not reached within {repeats.n} repeats, see "
                    f"`monte_carlo_errors_`. Use a larger n_repeats than "
                    f"{self.n_repeats}, a larger max_evaluations than "
                    f"{self.max_evaluations}, or a larger tol."
                )
        if repeats.n == 1:
            self._warn_of_one_repeat(game)
        self._add_directions(plan, outcome, self.keep_rows)
        without_outputs(outcome, game.scale)
        self._store_outcome(plan, outcome)
        self.total_ = float(self.importances_.sum())

    def _warn_of_one_repeat(self, game):
        """Say why there are no errors, and what to change."""
        text = "After one repeat standard errors and errors of drawing are not known."
        if self.n_repeats < LEAST_REPEATS:
            text += f" Use n_repeats={LEAST_REPEATS}, or more."
        elif game.rows_of_repeat > budget().left:
            needed = budget().spent + game.rows_of_repeat
            text += f" Use max_evaluations={needed}, or more."
        warn(text)

    def _quantity(self):
        of_what = "predictions" if self.loss is None else "y"
        share = f"share of the variance of {of_what}"
        return f"squared deviation of {of_what}" if self.scale is None else share

    def _in_words(self):
        what = "y" if self.loss is not None else f"the {self._prediction}"
        text = f"the part of the variance of {what} that a feature explains"
        text += ", by Shapley values"
        if self.scale is not None:
            return self._says(text, share_of="that variance")
        return self._says(text, unit=f"squared units of {what}")
