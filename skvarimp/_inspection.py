"""scikit-learn's permutation scores, from fast responses for all repeats at once."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from skvarimp._data.entries import resolve_features
from skvarimp._data.table import as_table
from skvarimp._measures.scores import SMOOTH, Permuted, Responses
from skvarimp._running.memory import Memo


def _mean(values, weight):
    return np.average(values, axis=-1, weights=weight)


def _squared_error(y, outputs, weight):
    return _mean((1.0 * y - outputs) ** 2, weight)


# The scores (n_repeats,) of outputs (n_repeats, n_samples), of y and weights. Labels
# may be bool, which NumPy does not subtract.
FORMULAS = {
    "accuracy": lambda y, f, w: _mean(y == f, w),
    "neg_mean_absolute_error": lambda y, f, w: -_mean(np.abs(1.0 * y - f), w),
    "neg_mean_squared_error": lambda y, f, w: -_squared_error(y, f, w),
    "neg_root_mean_squared_error": lambda y, f, w: -np.sqrt(_squared_error(y, f, w)),
    "r2": lambda y, f, w: (
        1.0 - _squared_error(y, f, w) / _squared_error(y, _mean(y, w), w)
    ),
}
OWN_SCORES = {RegressorMixin.score: "r2", ClassifierMixin.score: "accuracy"}


class PermutedScores:
    """Takes the place of the function that scores one permuted column.

    Parameters
    ----------
    original : callable
        scikit-learn's, which serves where this cannot.
    estimator : estimator
    X : array or frame
    scoring : object
        As given to `permutation_importance`.
    together : bool
        Whether one worker scores all columns, which may then share their work.
    """

    def __init__(self, original, estimator, X, scoring, together):
        self.original, self.scoring, self.together = original, scoring, together
        table = as_table(X)
        entries = resolve_features(None, table.names, table.n_columns)
        self.responses = Responses(estimator, table, entries)
        self._shuffled = Memo()  # the same for all columns

    def __call__(self, *given):
        """The scores of one column, (n_repeats,) or one such array per metric."""
        estimator, X, y, sample_weight, column, seed, n_repeats, scorer, n_rows = given
        names, n = _names(self.scoring, estimator), X.shape[0]
        if n_rows < n or names is None:
            return self.original(*given)
        donors = self._shuffled.get(seed, lambda: shuffles(seed, n, n_repeats))
        how = names <= SMOOTH, self.together
        permuted = Permuted(self.responses, column, donors, *how)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        scores = permuted.scores(lambda model: scorer(model, X, y, **weight))
        first = next(scores)
        if isinstance(first, dict):
            scores = [first, *scores]
            return {name: np.array([s[name] for s in scores]) for name in first}
        found = _by_formula(*names, permuted, y, sample_weight, first)
        return np.array([first, *scores]) if found is None else found


def _by_formula(name, permuted, y, weight, first):
    """The scores of all repeats at once; None where the first is not `first`.

    What a formula leaves out, such as a constant y, is the same for all repeats.
    """
    y = np.asarray(y)
    if name not in FORMULAS or y.ndim > 1 or not permuted.is_finite():
        return None
    outputs = permuted.outputs("predict")
    if np.shape(outputs) != (len(outputs), *y.shape):
        return None
    with np.errstate(all="ignore"):
        found = FORMULAS[name](y, outputs, weight)
    return found if np.isclose(found[0], first, rtol=1e-11, atol=1e-13) else None


def _names(scoring, estimator):
    """Names of scikit-learn's own scorers, which look at predictions only, or None."""
    if isinstance(scoring, dict):
        scoring = list(scoring.values())
    if not isinstance(scoring, list | tuple | set):
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
