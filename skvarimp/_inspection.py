"""What scikit-learn's inspection functions compute, from fast responses."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.table import Entry, SparseTable, column_position
from skvarimp._measures.scorers.stand_ins import SMOOTH, Permuted, Responses, StandIn
from skvarimp._measures.scorers.ways import OF_PREDICTIONS
from skvarimp._response.grid import Move
from skvarimp._running.memory import HELD, even_slices

OWN_SCORES = {RegressorMixin.score: "r2", ClassifierMixin.score: "accuracy"}


@dataclass
class Permutations:
    """The same shuffles of each column, and what scores them.

    Attributes
    ----------
    responses : Responses
    X, y : object
        What scorers are given.
    weight : dict
        With `sample_weight`, or empty.
    scorer : callable
    names : set of str
        Of the scorers, see `names_of`.
    donors : ndarray of shape (n_repeats, n_samples)
        See `shuffles`.
    together : bool
        Whether one worker scores all columns, which may then share their work.
    """

    responses: Responses
    X: object
    y: object
    weight: dict
    scorer: object
    names: set
    donors: np.ndarray
    together: bool

    def scores(self, column):
        """The score of each repeat, or a dict of scores, with one column permuted."""
        smooth = self.names <= SMOOTH
        permuted = Permuted(self.responses, column, self.donors, smooth, self.together)
        scores = permuted.scores(self.score)
        first = next(scores)
        if isinstance(first, dict):
            return [first, *scores]
        (name,), weight = self.names, self.weight.get("sample_weight")
        found = _by_formula(name, permuted, self.y, weight, first)
        return [first, *scores] if found is None else found

    def score(self, estimator):
        """The score of a model, or of what stands for it."""
        return self.scorer(estimator, self.X, self.y, **self.weight)


def _by_formula(name, permuted, y, weight, first):
    """The scores of all repeats at once; None where the first is not `first`.

    What a formula leaves out, such as a constant y, is the same for all repeats.
    """
    y = np.asarray(y)
    if name not in OF_PREDICTIONS or y.ndim > 1 or not permuted.is_finite():
        return None
    outputs = permuted.outputs("predict")
    if np.shape(outputs) != (len(outputs), *y.shape):
        return None
    with np.errstate(all="ignore"):
        mean = partial(np.average, axis=-1, weights=weight)
        found = OF_PREDICTIONS[name](y, outputs, mean)
    return found if np.isclose(found[0], first, rtol=1e-11, atol=1e-13) else None


def names_of(scoring, estimator):
    """Names of scikit-learn's own scorers, which look at predictions only, or None."""
    if isinstance(scoring, dict):
        scoring = list(scoring.values())
    if not isinstance(scoring, list | tuple):
        scoring = [scoring]
    own = OWN_SCORES.get(getattr(type(estimator), "score", None))
    names = [own if name is None else name for name in scoring]
    return set(names) if all(isinstance(name, str) for name in names) else None


def shuffles(random_state, n_samples, n_repeats):
    """The rows that scikit-learn's shuffles take values from, (n_repeats, n_samples).

    Each shuffles the column as the last one left it.
    """
    random_state = check_random_state(random_state)
    order, donors, result = np.arange(n_samples), np.arange(n_samples), []
    for _ in range(n_repeats):
        random_state.shuffle(order)
        donors = donors[order]
        result.append(donors)
    return np.array(result)


def moved_entry(features, table):
    """The entry that scikit-learn's `features` name, None where this cannot tell."""
    given = [features] if isinstance(features, str | Integral) else list(features)
    try:
        columns = tuple(column_position(f, table.names, table.n_columns) for f in given)
    except (ValueError, TypeError):  # such as a mask
        return None
    takes_numbers = all(map(table.takes_numbers, columns))
    if len(set(columns)) < len(columns) or not takes_numbers:
        return None
    return Entry("moved", columns, len(columns) > 1)


class Unmoved(StandIn):
    """Stands for a fitted estimator where scikit-learn makes a grid and checks input.

    Whatever the rows, its outputs are those of the first row of X.

    Parameters
    ----------
    estimator : estimator
    table : Table
    """

    def __init__(self, estimator, table):
        super().__init__(estimator)
        self._first = table.take(np.arange(1)).native

    def output(self, method, X):
        """The first row's, as often as X has rows."""
        found = getattr(self._estimator, method)(self._first)
        return np.repeat(found, X.shape[0], axis=0)

    def __sklearn_is_fitted__(self):
        check_is_fitted(self._estimator)
        return True


def points_of(values):
    """All points of a grid, (n_points, n_columns), the last column's values fastest."""
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1)
    return grid.reshape(-1, len(values))


def kept_as_given(table, columns, grid):
    """Whether X stores all points of a grid as they are.

    Integers are truncated. Models may refuse numbers that are not finite, and tell a
    zero that a sparse X stores from an absent one.
    """
    kept = np.isfinite(grid)
    with np.errstate(invalid="ignore", over="ignore"):
        for at, j in enumerate(columns):
            stored = grid[:, at].astype(table.column(j).dtype)
            kept[:, at] &= stored == grid[:, at]
    if isinstance(table, SparseTable):
        kept &= grid != 0
    return bool(kept.all())


def curves_on(grid, problem, response, entry, kind, sample_weight):
    """Averages and the curves of all rows, if wanted, on a grid.

    Parameters
    ----------
    grid : ndarray of shape (n_points, n_columns)
    problem : Problem
    response : Response
    entry : Entry
    kind : {"average", "individual", "both"}
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    average : ndarray of shape (n_outputs, n_points)
    individual : ndarray of shape (n_outputs, n_samples, n_points) or None
    """
    values, back = np.unique(grid, axis=0, return_inverse=True)
    back = np.ravel(back)
    if len(entry.columns) == 1:
        values = values[:, 0]
    equal = np.full(len(values), 1.0 / len(values))
    move = Move(entry, values, None, equal, None, False)
    n = problem.table.n_samples
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
    weights = weights / weights.sum()
    base, rows = problem.base, np.arange(n)
    if kind == "average":
        means = response.mean_curves(problem.table, rows, weights, move, base)
        means = means + (base @ weights)[:, np.newaxis]
        return means[:, back], None
    curves = np.empty((len(base), n, len(values)))
    for part in even_slices(n, max(1, HELD // len(values))):
        some = base[:, part]
        curves[:, part] = response.curves(problem.table, rows[part], move, some)
    means = np.einsum("onk,n->ok", curves, weights)
    return means[:, back], curves[:, :, back]
