"""`InteractionImportance`: which inputs' effects depend on each other."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import (
    StrOptions,
    categorical_features_constraint,
    features_constraint,
    grid_constraint,
    n_jobs_constraint,
    response_method_constraint,
)
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.matrix import MatrixDisplay, pair_matrix
from skvarimp._measures.pairs import (
    ConditionalStd,
    MeanCurves,
    PairH,
    resolve_pairs,
    variance,
)
from skvarimp._measures.response_importance import Plan, Request, ResponseImportance
from skvarimp._response.engine import in_order
from skvarimp._response.reductions.reductions import Finished, Reduction, State
from skvarimp._running.progress import Progress
from skvarimp._types import (
    Axes,
    CustomGrid,
    Features,
    Floats,
    NamedGrid,
    Pairs,
    ResponseMethod,
)

MOST_VALUES = 1e10  # responses of one entry for "h_overall"


@dataclass
class PairsPlan(Plan):
    """The plan of a statistic of pairs, which walks by itself.

    Attributes
    ----------
    pairs : list of (int, int)
        Positions of the entries.
    """

    pairs: list


class InteractionImportance(ResponseImportance):
    """Strength of the interactions of pairs of inputs, or of one with all others.

    From the partial dependence of the response on two inputs at once, F_jk(v, u): how
    the flatness along one input changes with the other (Greenwell et al., section
    3.2), or how much of its variance is no sum of the two single partial dependences
    (Friedman's H).

    Parameters
    ----------
    statistic : {"conditional_std", "h", "h_overall"}, default="conditional_std"
        "conditional_std": half of (standard deviation over u of the flatness of
        F_jk(., u) + the converse), in units of the response. "h": Friedman's H of
        each pair, at the rows of X. "h_overall": of each entry with all others.
    pairs : sequence of pairs, default=None
        Pairs of entries by name or by position in `features`; None: all, of at most
        447 entries (100 000 pairs). Not for "h_overall".
    grid : {"deciles", "all", "equidistant"}, int, array-like or dict, \
default="deciles"
        Values each entry of a pair moves through for "conditional_std", as in
        `PartialDependenceImportance`; every value of one meets every value of the
        other. H is computed at the observed values instead.
    categorical_features : array-like, default=None
        Names, positions or mask of columns to treat as categorical besides those of
        boolean, string or categorical type; the flatness along them is the range.
    features : sequence or dict, default=None
        Entries: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.

    Attributes
    ----------
    importances_ : ndarray of shape (n_pairs,) or (n_entries,)
        Mean over the outputs.
    importances_per_output_ : ndarray of shape (n_pairs, n_outputs)
        Strength for each output.
    standard_errors_ : None
        Interactions have no standard errors.
    ranking_ : ndarray of shape (n_pairs,) or (n_entries,)
        1 = strongest.
    pairs_ : list of (str, str) or None
        Names of each pair's entries.
    matrix_ : ndarray of shape (n_entries, n_entries) or None
        Symmetric; NaN on the diagonal and for pairs not asked for.
    matrix_names_ : list of str
        Names of the matrix's rows and columns.
    statistic_ : str
        The statistic computed.
    estimation_ : str
        "exact".
    response_path_ : str
        How the response was computed.
    entry_names_ : list of str
        ``first:second`` of each pair; of "h_overall" the entries' names.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    PartialDependenceImportance : The flatness along one input.

    Notes
    -----
    With F centred over the rows i of X, and ``F_-j`` the partial dependence on all
    inputs but j, weights left out:

    - H_jk^2 = sum_i (F_jk - F_j - F_k)^2 / sum_i F_jk^2 [2]_, eq. 44,
    - H_j^2 = ``sum_i (f - F_j - F_-j)^2 / sum_i f^2`` [2]_, eq. 45.

    H is a share: a strong interaction of two unimportant inputs has a large H and a
    small conditional standard deviation. It is 0 for additive effects, 1 where the
    pair acts through its interaction alone, and can exceed 1 for dependent inputs;
    it is set to 0 where the pair's joint effect has less than 1e-20 of the response's
    variance. Cost for a model without a fast response: n_samples predictions a grid
    cell of a pair, n_samples^2 per pair for H. "h_overall" refuses entries for which
    n_samples x n_values exceeds 1e10 (100 000 rows of different values).

    References
    ----------
    .. [1] B. M. Greenwell, B. C. Boehmke and A. J. McCarthy, "A General Model-Based
       Variable Importance Metric for Supervised Learning", section 3.2.
    .. [2] J. H. Friedman and B. E. Popescu, "Predictive Learning via Rule Ensembles",
       Annals of Applied Statistics 2 (2008), section 8.1.

    Examples
    --------
    A product of two inputs plus a third, on the corners of a cube:

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

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "statistic": [StrOptions({"conditional_std", "h", "h_overall"})],
        "pairs": ["array-like", None],
        "grid": grid_constraint("all", "equidistant", "deciles"),
        "categorical_features": categorical_features_constraint,
        "features": features_constraint,
        "response_method": response_method_constraint,
        "n_jobs": n_jobs_constraint,
    }

    def _not_per_column(self):
        if self.statistic == "h_overall":
            return None
        return (
            "InteractionImportance gives one number per pair of columns, not one per "
            "column. Use statistic='h_overall' or SensitivityImportance."
        )

    def __init__(
        self,
        *,
        statistic: Literal["conditional_std", "h", "h_overall"] = "conditional_std",
        pairs: Pairs = None,
        grid: NamedGrid | int | CustomGrid = "deciles",
        categorical_features: ArrayLike | None = None,
        features: Features = None,
        response_method: ResponseMethod = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.statistic = statistic
        self.pairs = pairs
        self.grid = grid
        self.categorical_features = categorical_features
        self.features = features
        self.response_method = response_method
        self.n_jobs = n_jobs

    def _plan(self, problem, entries):
        own_grid = not (isinstance(self.grid, str) and self.grid in {"deciles", "all"})
        if self.statistic != "conditional_std" and own_grid:
            raise ValueError(
                f"statistic={self.statistic!r} is computed at the rows of X and takes "
                f"no `grid`, got {self.grid!r}. Use statistic='conditional_std' for a "
                "grid, or grid='all'."
            )
        if self.statistic != "h_overall":
            return PairsPlan(problem, entries, [], resolve_pairs(self.pairs, entries))
        if self.pairs is not None:
            raise ValueError(
                "`pairs` has no meaning for statistic='h_overall', which sets each "
                "entry against all others. Use `features` to choose entries."
            )
        scale = np.ones(len(problem.base))
        request = Request("all", [OverallInteraction()], [scale])
        _check_affordable(problem, entries, request)
        return Plan(problem, entries, [request])

    def _conclude(self, plan, outcomes):
        self.estimation_ = "exact"
        self.statistic_, self.pairs_ = self.statistic, None
        if self.statistic == "h_overall":
            self._store_outcome(plan, outcomes[0][0])
            return
        strengths = self._strengths(plan)
        self.matrix_names_ = names = [entry.name for entry in plan.entries]
        self.pairs_ = [(names[j], names[k]) for j, k in plan.pairs]
        pair_names = [f"{first}:{second}" for first, second in self.pairs_]
        self._store(strengths, pair_names, plan.problem.model.output_names)

    @property
    def matrix_(self) -> Floats | None:
        """The strengths as a symmetric matrix, made when asked for."""
        check_is_fitted(self, "importances_")
        if self.pairs_ is None:
            return None
        return pair_matrix(self.matrix_names_, self.pairs_, self.importances_)

    def _strengths(self, plan):
        """Statistic of each pair and output; NaN from where a callback stopped."""
        problem, entries, pairs = plan.problem, plan.entries, plan.pairs
        joint = [entries[j].together_with(entries[k]) for j, k in pairs]
        response = problem.response(joint)
        statistic = self._statistic(problem, response, joint)
        self.response_path_ = statistic.path(joint)
        how = (statistic,), self.n_jobs, response.prefer
        strengths = np.full((len(joint), len(problem.base)), np.nan)
        used = sorted({e for pair in pairs for e in pair})
        with Progress([self], len(used) + len(joint)) as progress:
            alone = {}
            tasks = (entries[e] for e in used)
            for entry, result in in_order(_alone, tasks, *how):
                alone[entry.name] = result
                if progress.step():
                    return strengths
            tasks = (
                (p, joint[p], alone[entries[j].name], alone[entries[k].name])
                for p, (j, k) in enumerate(pairs)
            )
            for task, result in in_order(_of_pair, tasks, *how):
                strengths[task[0]] = result
                if progress.step():
                    break
        return strengths

    def _statistic(self, problem, response, joint):
        curves = MeanCurves(
            response,
            problem.model,
            problem.table,
            problem.weights,
            problem.base,
            max(len(entry.columns) for entry in joint),
        )
        if self.statistic == "h":
            return PairH(curves)
        return ConditionalStd(curves, self.grid, self._categorical(problem))

    def plot(
        self, ax: Axes | None = None, **kwargs: Any
    ) -> MatrixDisplay | ImportanceDisplay:
        """Draw the pairs as a heat map; of "h_overall" the entries as bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `MatrixDisplay.from_importance`, or to
            `ImportanceDisplay.from_importance`.

        Returns
        -------
        display : MatrixDisplay or ImportanceDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self, "importances_")
        if self.pairs_ is None:
            return super().plot(ax=ax, **kwargs)
        return MatrixDisplay.from_importance(self, ax=ax, **kwargs)


def _check_affordable(problem, entries, request):
    """Refuse entries of which H with all others would take for ever."""
    n_samples = problem.table.n_samples
    if n_samples**2 <= MOST_VALUES:
        return
    moves = problem.moves(entries, [request])
    for e, entry in enumerate(entries):
        if n_samples * moves[e].n_cells > MOST_VALUES:
            raise ValueError(
                f"statistic='h_overall' moves each of the {n_samples} rows to each of "
                f"the {moves[e].n_cells} values of {entry.name!r}, which is more than "
                f"{MOST_VALUES:.0e} responses. Fit on a random sample of the rows."
            )


def _alone(entry, statistic):
    return statistic.alone(entry)


def _of_pair(task, statistic):
    return statistic.of_pair(*task[1:])


@dataclass(frozen=True)
class OverallInteraction(Reduction):
    """Friedman's H of an entry with all others [Friedman & Popescu, eq. 45].

    With d[i, k] = ICE[i, k] - f[i], F_-j at row i is f[i] + sum_k p[k] d[i, k], and
    F_j at cell k a constant + sum_i w[i] d[i, k]: f - F_j - F_-j takes two means of d.
    """

    needs = "moments"

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        size = np.abs(shape.margins.base).max()
        return State(*shape.means(lambda chunk: chunk.moved, size))

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        own = sample.donated(state.cells)
        rest = state.rows + own
        rest -= (rest @ sample.weights)[..., np.newaxis]
        total = variance(sample.base, sample.weights)
        share = np.zeros(rest.shape[:2])
        np.divide(rest**2 @ sample.weights, total, out=share, where=total > 0)
        return Finished(np.sqrt(share), None)
