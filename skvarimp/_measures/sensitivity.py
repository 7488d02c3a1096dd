"""`SensitivityImportance`: how far the response moves when a feature does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.validation import grid_constraint
from skvarimp._measures.problem import Request, without_outputs
from skvarimp._measures.response_importance import (
    ConditionalImportance,
    Plan,
    given_the_others,
)
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._types import (
    Conditional,
    CustomGrid,
    Features,
    Matrix,
    NamedGrid,
    RandomState,
    ResponseMethod,
)

REDUCTIONS = {"pairs": Pairs(), "observed": Observed(), "range": Range()}


@dataclass(kw_only=True, eq=False, repr=False)
class SensitivityImportance(ConditionalImportance):
    """Mean change of a model's response when one feature is replaced.

    The feature takes values from its own observed distribution, and all other features
    keep theirs. The measure is *marginal*: it does not follow correlations between
    features.

    Parameters
    ----------
    contrast : {"pairs", "observed", "range"}, default="pairs"
        What is compared in each row. "pairs": the responses at two independent draws
        of the feature (Huh & Lee). "observed": the unmoved response and the response at
        one draw (Lemaire & Clérot, eq. 2). "range": the largest and the smallest
        response over the grid (Clementine). The importance is the mean over the rows.
    estimation : {"auto", "exact", "sampled", "rows"}, default="auto"
        "exact": over all rows and grid values. "sampled": from a few donors of each
        row, drawn in strata (not for the range). "rows": over rows drawn at random and
        the whole grid (Lemaire & Clérot, eqs. 4 and 5). "auto": "exact" if that is
        expected to cost at most three times as much as drawing or, where the model has
        a fast response, to take about five seconds; else "rows" with a fast response
        and for the range, and "sampled" of other models. All estimate the same number.
    grid : {"auto", "all", "equidistant", "deciles"}, int, array-like or dict, \
default="auto"
        Values the feature moves through. "all": the observed values with their
        frequencies. "equidistant": five values equally spaced from smallest to largest.
        "deciles": the deciles of the distinct values. An int: the medians of that many
        bins of equal probability. An array of values, or a dict from feature names to
        arrays. "auto": "all", but "equidistant" for the range. The values of
        "equidistant", "deciles" and arrays are equally probable; missing values keep
        their frequency. Categorical features take all their levels, and groups all
        their joint values, unless an array is given.
    n_draws : int or "auto", default="auto"
        "sampled": donors of each row and feature, an even number of at least 4. Each
        row draws one donor in each of as many strata of the values. "auto": 6. "rows":
        as many rows are drawn as n_draws predictions of each row make possible.
    tol : float, "auto" or None, default="auto"
        When drawing stops. Rows are drawn in random order, 10 000 at a time. "auto":
        until the error of drawing of each feature is at most a third of its standard
        error or 0.5% of the largest importance, or 30 000 rows are drawn. A number:
        until it is below `tol` times the largest importance, with further draws of all
        rows where these are not enough (at most 64 times `n_draws`). None: `n_draws` of
        every row. See Notes.
    scale : "auto" or None, default="auto"
        Divisor of the importances. "auto": the Gini mean difference of y for "pairs",
        the range of y for "range", and nothing for "observed". Probabilities and labels
        take these of the class indicators, decision functions of the response itself.
    categorical_features : array-like, default=None
        Names, positions or mask of columns to treat as categorical besides those of
        boolean, string or categorical type.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws ("sampled", "rows") and of ties in the trees of
        `conditional`.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows: `row_effects_`, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed.
    conditional : "subgroups", "residuals", tree, regressor, classifier, array-like \
of shape (n_samples,), dict or None, default=None
        Take new values only from rows of the same part: "subgroups": the leaves of a
        tree that predicts the feature from the other columns; a scikit-learn tree: it
        is cloned and fitted for this; labels of the rows for all features; or a dict
        from feature names to labels (all rows for other features). None: from all rows.
        "residuals": the new value is the prediction from the other columns plus the
        residual of another row, always drawn; categories are drawn from predicted
        probabilities. Cross-validation chooses between a ridge and gradient boosting. A
        regressor or classifier is cloned and fitted for this.
    conditional_fit_rows : {array-like, frame} of shape (n_rows, n_features), \
default=None
        Rows to fit the models of "residuals" on. None: the rows of X, and predictions
        are then made out of fold.
    max_evaluations : int, default=None
        The largest number of rows that the model may be asked to predict, those of X
        included. Where it does not allow `n_draws` of every row, fewer rows are drawn,
        with four donors each. None: no limit.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Mean change of the prediction between two values of the feature ("pairs") or
        when the feature is replaced ("observed"), or range of the prediction as the
        feature moves ("range"), mean over the outputs. With `scale` a share of the mean
        difference, or of the range, of the outcomes or scores; else in units of the
        prediction.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        Importance for each output.
    standard_errors_ : ndarray of shape (n_features,) or None
        Sampling error with the model, scale and grid held fixed; each row counts as
        evaluated row and as donor (infinitesimal jackknife). It is that of all rows,
        whichever were drawn, and does not contain the error of drawing.
    monte_carlo_errors_ : ndarray of shape (n_features,) or None
        Error of drawing donors and rows ("sampled", "rows").
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: each row's own importance (0 where its weight is 0); the
        weighted mean is `importances_`.
    row_effects_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: each row's response minus its mean as the feature takes the
        values of other rows, of additive models the Shapley value; NaN where the row's
        weight is 0, or it was not drawn. Several outputs are a third axis.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the mean response goes as values rise: 1 where it only rises, -1 where
        it only falls, near 0 where it turns; see the glossary. NaN for groups and for
        categories without an order. None for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    subgroups_ : dict or None
        With parts: feature name -> the part of each row, shape (n_samples,), numbers
        from 0; -1 for rows with zero weight.
    explained_ : ndarray of shape (n_features,) or None
        With `conditional`: share of each feature's variance that lies between the
        parts, or that the model of "residuals" explains out of fold.
    scale_ : float or ndarray of shape (n_outputs,)
        What the importances were divided by.
    goodness_of_fit_ : float or None
        1 - sum|y - f| / sum|y - median(y)|, of one numeric output with y given.
    estimation_ : str
        The estimation used.
    response_path_ : str
        How the response was computed.
    n_draws_ : ndarray of shape (n_features,) or None
        Number of draws: of a row with a donor, or of a row.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    PartialDependenceImportance : Flatness of the mean response curve.

    Notes
    -----
    A constant feature and an unused feature score exactly 0. Exact cost for a model
    without a fast response: n_samples x n_cells predictions per feature; a draw of
    "sampled" costs one prediction, one of "rows" n_cells. So a default fit of a model
    without a fast response asks for at most 6 x n_samples predictions per feature, and
    for at most 180 000.

    The strata of a row start at random, so that any two values may lie in different
    ones. "observed" is the mean change over the donors, and "pairs" the mean difference
    of two donors, in which neighbours stand for the pairs within strata as well.
    Neither has a bias. The error of drawing follows from what neighbours differ by;
    rows that are not drawn add what a random sample without replacement lacks. For
    "pairs" of values without an order, n_draws / 2 strata have two donors each.

    A drawn importance is the running mean of its draws, which is the state of a Kalman
    filter with a constant state and a diffuse start. A feature stops drawing only if it
    would stop even after one more draw as large as the largest change known (of any
    draw, or between the responses of two rows). Draws that are all equal, such as all
    0, prove little. Such a feature makes at least 2000 draws, and with a number as
    `tol` its error is taken to be 3 / n_draws times the largest change known: after no
    hit in n draws, the rate is below 3 / n with 95% confidence. If the largest
    importance falls, features that had stopped draw again. "sampled" keeps about
    seven numbers per row and feature. "rows" evaluates the earlier rows again in each
    round.

    With F the mean response at the values v of the grid, a direction is the mean of
    sign(v - v') (F(v) - F(v')) over all pairs of values, weighted by their
    probabilities, divided by the mean of the absolute differences. It takes no further
    predictions. Missing values are in no pair. Drawn responses
    ("sampled") are averaged in ten bins of equal probability, and `conditional`
    compares values of the same part.

    References
    ----------
    .. [1] M.-H. Huh and Y. G. Lee, "Input Variable Importance in Supervised Learning
       Models", section 2 and section 5.
    .. [2] V. Lemaire and F. Clérot, "An Input Variable Importance Definition based on
       Empirical Data Probability", eqs. 2 to 5.

    Examples
    --------
    A model doubles its first feature. The 16 ordered pairs of 0, 1, 0, 2 differ by
    14 / 16 on average, so its response moves by 2 * 14 / 16:

    >>> from skvarimp import SensitivityImportance
    >>> X = [[0.0, 7.0], [1.0, 5.0], [0.0, 6.0], [2.0, 4.0]]
    >>> imp = SensitivityImportance(scale=None).fit(lambda X: 2 * X[:, 0], X)
    >>> imp.importances_
    array([1.75, 0.  ])
    """

    _has_directions = _follows_mean = True

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "grid": grid_constraint("auto", "all", "equidistant", "deciles"),
    }

    contrast: Literal["pairs", "observed", "range"] = "pairs"
    estimation: Literal["auto", "exact", "sampled", "rows"] = "auto"
    grid: Literal["auto"] | NamedGrid | int | CustomGrid = "auto"
    n_draws: int | Literal["auto"] = "auto"
    tol: float | Literal["auto"] | None = "auto"
    scale: Literal["auto"] | None = "auto"
    categorical_features: ArrayLike | None = None
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    keep_rows: bool = False
    conditional: Conditional = None
    conditional_fit_rows: Matrix | None = None
    max_evaluations: int | None = None

    def _plan(self, problem, features):
        estimation = self._estimation()
        if estimation == "sampled" and self.contrast == "range":
            raise ValueError(
                "estimation='sampled' cannot estimate contrast='range': the largest "
                "response is not a mean of draws. Use estimation='rows' or 'exact'."
            )
        grid = self._grid_in_parts(problem, features, self._grid)
        scaled = self.scale == "auto"
        scale = problem.scale(self.contrast) if scaled else np.ones(len(problem.base))
        reductions = [REDUCTIONS[self.contrast]]
        request = Request(grid, reductions, [scale], self._categorical)
        return Plan(problem, features, request, estimation)

    @property
    def _grid(self):
        if not isinstance(self.grid, str) or self.grid != "auto":
            return self.grid
        return "equidistant" if self.contrast == "range" else "all"

    @property
    def _drawn_estimation(self):
        return "rows" if self.contrast == "range" else "sampled"

    def _conclude(self, plan, outcomes):
        (scale,) = plan.request.scales
        if plan.estimation == "exact":
            outcome = outcomes[0]
        else:
            outcome = self._draw(plan, REDUCTIONS[self.contrast], scale)
        self.n_draws_ = outcome.n_draws
        # of numbers in a range, two differ on average by half of it at most
        share = 0.5 if self.contrast == "pairs" else 1.0
        self._range_of_rows = share * plan.problem.reach(scale)
        scale = without_outputs(outcome, scale)
        self._store_outcome(plan, outcome)
        self.scale_ = float(scale[0]) if len(scale) == 1 else scale
        self.goodness_of_fit_ = plan.problem.goodness_of_fit

    def _highest(self):
        """By the range of the predictions; moved rows may reach further.

        If the importance is more than half of what that range allows, they do: then the
        limit is twice the importance.
        """
        return np.maximum(self._range_of_rows, 2.0 * self.importances_)

    def _quantity(self):
        what = "mean change of the prediction"
        if self.contrast == "range":
            what = "range of the prediction"
        as_share = self.scale is not None and self.contrast != "observed"
        return f"relative {what}" if as_share else what

    def _in_words(self):
        what, own = self._prediction, given_the_others(self)
        share = {"value": "values of y", "score": "decision scores"}
        outcomes = share.get(self._moves, "indicators of a class")
        if self.contrast == "observed":
            text = f"the mean absolute change of the {what} when a feature takes a "
            return self._says(f"{text}random value{own}", unit=self._unit)
        if self.contrast == "range":
            text = f"the mean range of the {what} as a feature moves through its values"
            share = f"the range of the {outcomes}"
        else:
            text = f"the mean absolute difference between the {what} at two random "
            text += "values of a feature"
            share = f"the mean difference between two {outcomes}"
        text += own
        if self.scale is None:
            return self._says(text, unit=self._unit)
        return self._says(text, share_of=share)
