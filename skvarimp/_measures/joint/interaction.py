"""`InteractionImportance`: which features' effects depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import Interval
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.drawing import check_choice, check_count, check_has
from skvarimp._display.matrix import MatrixDisplay, pair_matrix
from skvarimp._measures.joint.statistics import (
    ConditionalStd,
    JointH,
    MeanCurves,
    OverallInteraction,
    all_pairs,
    check_affordable,
    check_asked,
    check_disjoint,
    check_several,
    resolve_sets,
    screened_pairs,
    together,
)
from skvarimp._measures.problem import Request
from skvarimp._measures.response_importance import (
    Plan,
    ResponseImportance,
    warn_stopped,
)
from skvarimp._running.tasks import Progress, in_order
from skvarimp._types import (
    Axes,
    CustomGrid,
    Features,
    Floats,
    NamedGrid,
    Pairs,
    ResponseMethod,
    Triples,
)

Statistic = Literal["conditional_std", "h", "h_overall", "h_total"]
MOST_IN_MATRIX = 12  # features whose pairs are drawn as a heat map by default


@dataclass(kw_only=True, eq=False, repr=False)
class InteractionImportance(ResponseImportance):
    """Strength of the interactions of features: of pairs, triples, or all of them.

    From the partial dependence of the response on two features at once, F_jk(v, u): how
    the flatness along one feature changes with the other (Greenwell et al., section
    3.2), or how much of its variance is not the sum of the two single partial
    dependences (Friedman's H).

    Parameters
    ----------
    statistic : {"conditional_std", "h", "h_overall", "h_total"}, \
default="conditional_std"
        "conditional_std": half of (standard deviation over u of the flatness of
        F_jk(., u) + the converse), in units of the response. "h": Friedman's H of
        each pair or triple, at the rows of X. "h_overall": of each feature with all
        others. "h_total": one number, the share of the response's variance that the
        sum of all single partial dependences leaves.
    pairs : sequence of pairs or int, default=None
        Pairs of features by name or by position in `features`; None: all, of at most
        447 features (100 000 pairs). An integer: that many of the strongest pairs,
        found by a screen (see Notes). For "conditional_std" and "h".
    triples : sequence of triples, default=None
        Triples of features, for "h" in place of `pairs`.
    grid : {"deciles", "all", "equidistant"}, int, array-like or dict, \
default="deciles"
        Values each feature of a pair moves through for "conditional_std", as in
        `PartialDependenceImportance`; every value of one meets every value of the
        other. H is computed at the observed values instead.
    categorical_features : array-like, default=None
        Names, positions or mask of columns to treat as categorical besides those of
        boolean, string or categorical type; the flatness along them is the range.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.

    Attributes
    ----------
    importances_ : ndarray of shape (n_pairs,), (n_triples,), (n_features,) or (1,)
        Mean over the outputs.
    importances_per_output_ : ndarray of shape (n_pairs, n_outputs)
        Strength for each output.
    standard_errors_ : None
        Interactions have no standard errors.
    ranking_ : ndarray of shape (n_pairs,), (n_triples,), (n_features,) or (1,)
        1 = strongest.
    pairs_ : list of (str, str) or None
        Names of each pair's features.
    triples_ : list of (str, str, str) or None
        Names of each triple's features.
    matrix_ : ndarray of shape (n_features, n_features) or None
        Symmetric; NaN on the diagonal and for pairs not asked for.
    matrix_names_ : list of str
        Names of the matrix's rows and columns.
    statistic_ : str
        The statistic computed.
    estimation_ : str
        "exact".
    response_path_ : str
        How the response was computed.
    features_ : list of str
        ``first:second`` of each pair, and so on of triples; of "h_overall" the
        features' names; of "h_total" one name.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    PartialDependenceImportance : The flatness along one feature.
    SobolImportance : How much of the variance a feature has through interactions.

    Notes
    -----
    With F centred over the rows i of X, and ``F_-j`` the partial dependence on all
    features but j, weights left out:

    - H_jk^2 = sum_i (F_jk - F_j - F_k)^2 / sum_i F_jk^2 [2]_, eq. 44,
    - ``H_jkl^2 = sum_i (F_jkl - F_jk - F_jl - F_kl + F_j + F_k + F_l)^2 / sum_i
      F_jkl^2``,
    - H_j^2 = ``sum_i (f - F_j - F_-j)^2 / sum_i f^2`` [2]_, eq. 45,
    - h_total = ``sum_i (f - sum_j F_j)^2 / sum_i f^2``, a share without a root.

    H is a share: a strong interaction of two unimportant features has a large H and a
    small conditional standard deviation. It is 0 for additive effects, 1 where the
    pair acts through its interaction alone, and can exceed 1 for dependent features;
    it is set to 0 where the pair's joint effect has less than 1e-20 of the response's
    variance. Cost for a model without a fast response: n_samples predictions per cell
    of a pair's grid, n_samples^2 per pair or triple for H. "h_overall" refuses features
    for which n_samples x n_values exceeds 1e10 (100 000 rows of different values).
    Additive models are known to have no interactions, without any work.

    The screen of ``pairs=k`` ranks the features by the total minus the first-order
    index of `SobolImportance` on `grid`, computes all pairs of the first of them, some
    4 k, and keeps the k strongest. For independent features that difference bounds the
    share of the variance that any pair of the feature contributes; a large H of two
    features that hardly matter can be missed.

    References
    ----------
    .. [1] B. M. Greenwell, B. C. Boehmke and A. J. McCarthy, "A General Model-Based
       Variable Importance Metric for Supervised Learning", section 3.2.
    .. [2] J. H. Friedman and B. E. Popescu, "Predictive Learning via Rule Ensembles",
       Annals of Applied Statistics 2 (2008), section 8.1.

    Examples
    --------
    A product of two features plus a third, on the corners of a cube:

    >>> from itertools import product
    >>> import numpy as np
    >>> from skvarimp import InteractionImportance
    >>> X = np.array(list(product([-1.0, 1.0], repeat=3)))
    >>> imp = InteractionImportance(statistic="h")
    >>> imp.fit(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X).importances_
    array([1., 0., 0.])
    >>> imp.pairs_
    [('x0', 'x1'), ('x0', 'x2'), ('x1', 'x2')]
    """

    _takes_groups = False

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "pairs": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "triples": ["array-like", None],
    }

    statistic: Statistic = "conditional_std"
    pairs: Pairs | int = None
    triples: Triples = None
    grid: NamedGrid | int | CustomGrid = "deciles"
    categorical_features: ArrayLike | None = None
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None

    def _not_per_column(self):
        if self.statistic == "h_overall":
            return None
        return (
            f"InteractionImportance(statistic={self.statistic!r}) does not give one "
            "number per column. Use statistic='h_overall' or SensitivityImportance."
        )

    def _plan(self, problem, features):
        own_grid = not (isinstance(self.grid, str) and self.grid in {"deciles", "all"})
        if self.statistic != "conditional_std" and own_grid:
            raise ValueError(
                f"statistic={self.statistic!r} is computed at the rows of X and takes "
                f"no `grid`, got {self.grid!r}. Use statistic='conditional_std' for a "
                "grid, or grid='all'."
            )
        check_asked(self.statistic, self.pairs, self.triples)
        if self.statistic == "h_total":
            check_disjoint(features, "Leave one of them out of `features`.")
            return Plan(problem, features, own=[])
        if self.statistic == "h_overall":
            scale = np.ones(len(problem.base))
            request = Request("all", [OverallInteraction()], [scale], self._categorical)
            check_affordable(problem, features, request)
            return Plan(problem, features, request)
        if isinstance(self.pairs, Integral):
            check_several(features)
            return Plan(problem, features, own=[])
        if self.triples is not None:
            sets = resolve_sets(self.triples, features, "triples")
        elif self.pairs is not None:
            sets = resolve_sets(self.pairs, features, "pairs")
        else:
            sets = all_pairs(features)
        return Plan(problem, features, own=sets)

    def _conclude(self, plan, outcomes):
        self.statistic_, self.pairs_, self.triples_ = self.statistic, None, None
        self.matrix_names_ = names = [feature.name for feature in plan.features]
        if self.statistic == "h_overall":
            self._store_outcome(plan, outcomes[0])
            return
        n_strongest = self.pairs if isinstance(self.pairs, Integral) else None
        if n_strongest:
            on_grid = Request(self.grid, [], [], self._categorical)
            plan.own = screened_pairs(
                plan.problem, plan.features, on_grid, n_strongest, self.n_jobs
            )
        strengths = self._strengths(plan)
        sets = [tuple(names[e] for e in members) for members in plan.own]
        if n_strongest:
            order = np.argsort(-strengths.mean(axis=1), kind="stable")[:n_strongest]
            strengths, sets = strengths[order], [sets[s] for s in order]
        set_names = [":".join(members) for members in sets] or ["all features"]
        if self.triples is not None:
            self.triples_ = sets
        elif self.statistic != "h_total":
            self.pairs_ = sets
        self._store(strengths, set_names, plan.problem.model.output_names)
        warn_stopped(self, np.isnan(self.importances_))

    @property
    def matrix_(self) -> Floats | None:
        """The strengths as a symmetric matrix, made when asked for."""
        check_is_fitted(self, "importances_")
        if self.pairs_ is None:
            return None
        return pair_matrix(self.matrix_names_, self.pairs_, self.importances_)

    def top_pairs(self, k: int = 10) -> list[tuple[str, str]]:
        """The strongest pairs, as another measure's `pairs` or for their pictures.

        Parameters
        ----------
        k : int, default=10
            How many, at most.

        Returns
        -------
        list of (str, str)
            Names of the features, the strongest pair first.
        """
        check_has(self, "pairs_", "an InteractionImportance of pairs")
        check_count("k", k)
        return [self.pairs_[p] for p in np.argsort(self.ranking_)[:k]]

    def _strengths(self, plan):
        """Statistic of each set and output; NaN from where it was stopped."""
        problem, features = plan.problem, plan.features
        sets = [[features[e] for e in members] for members in plan.own]
        joint = [together(members) for members in sets] or features
        parts = [_parts(members) for members in sets]
        used = list(dict.fromkeys(chain(*parts))) or features
        moved = list(dict.fromkeys([*used, *joint]))
        response = problem.response(moved)
        self.response_path_ = response.path
        n_outputs = len(problem.base)
        statistic = self._statistic(problem, moved, joint, sets)
        if sets and response.additive:
            return np.zeros((len(sets), n_outputs))
        how = (), self.n_jobs, response.prefer
        strengths = np.full((max(len(sets), 1), n_outputs), np.nan)
        with Progress([self], len(used) + len(sets)) as progress:
            alone = {}
            for feature, result in in_order(statistic.alone, used, *how):
                alone[feature] = result
                if progress.step():
                    return strengths
            if not sets:
                return statistic.left(list(alone.values()))[np.newaxis]
            known = (list(map(alone.get, of_set)) for of_set in parts)
            tasks = zip(sets, known)
            with progress.until_interrupted():
                found = in_order(statistic.strength, tasks, *how)
                for s, (_, result) in enumerate(found):
                    strengths[s] = result
                    if progress.step():
                        break
        return strengths

    def _statistic(self, problem, moved, joint, sets):
        n_columns = max(len(feature.columns) for feature in joint)
        on_grid = Request(self.grid, [], [], self._categorical)
        request = on_grid if self.statistic == "conditional_std" else None
        curves = MeanCurves.over(problem, moved, n_columns)
        if request is None:
            return JointH(curves)
        return ConditionalStd(curves, partial(problem.move, request=request))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["auto", "matrix", "bars"] = "auto",
        **kwargs: Any,
    ) -> MatrixDisplay | ImportanceDisplay:
        """Draw pairs as a heat map or as bars; all other statistics as bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        kind : {"auto", "matrix", "bars"}, default="auto"
            A heat map of pairs, or bars of the strongest; "auto": bars where the pairs
            are of more than 12 features.
        **kwargs : dict
            Passed to `MatrixDisplay.from_importance`, or to
            `ImportanceDisplay.from_importance`.

        Returns
        -------
        display : MatrixDisplay or ImportanceDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self, "importances_")
        check_choice("kind", kind, ["auto", "matrix", "bars"])
        if kind == "auto":
            paired = {name for pair in self.pairs_ or () for name in pair}
            kind = "matrix" if 0 < len(paired) <= MOST_IN_MATRIX else "bars"
        if kind == "bars":
            return super().plot(ax=ax, **kwargs)
        return MatrixDisplay.from_importance(self, ax=ax, **kwargs)

    def _quantity(self):
        return {
            "h": "Friedman's H",
            "h_overall": "Friedman's H with all others",
            "h_total": "share of variance by interactions",
            "conditional_std": "importance of one given the other",
        }.get(self.statistic_, "interaction")

    def _in_words(self):
        what, members = self._prediction, "pair" if self.triples is None else "triple"
        if self.statistic_ == "conditional_std":
            text = "how much the importance of one feature of a pair changes with the "
            text += f"value of the other, by the partial dependence of the {what}"
            return self._says(text, unit=self._unit, noun="pair")
        texts = {
            "h": f"Friedman's H of a {members}, from 0 to 1: how much of its joint "
            f"effect on the {what} is interaction",
            "h_overall": "Friedman's H of a feature with all others, from 0 to 1: how "
            f"much of its effect on the {what} is interaction",
            "h_total": f"the part, from 0 to 1, of the variance of the {what} that is "
            "interaction",
        }
        nouns = {"h": members, "h_total": ""}
        return self._says(
            texts[self.statistic_],
            noun=nouns.get(self.statistic_, "feature"),
        )


def _parts(members):
    """The smaller parts of a pair or triple, each as one feature."""
    pairs = combinations(members, 2) if len(members) > 2 else ()
    return [*members, *map(together, pairs)]
