"""scikit-learn's permutation scores, from fast responses for all repeats at once."""

import numpy as np
from sklearn import config_context
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from skvarimp._data.entries import resolve_features
from skvarimp._data.table import as_table
from skvarimp._measures.problem import ALL, make_problem
from skvarimp._models.model import is_classifier
from skvarimp._response.lowering import respond
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.memory import HELD, Memo, at_once, even_slices


class Responses:
    """Curves of a model's outputs at the rows of X.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    table : Table
    entries : list of Entry
        Which move.
    """

    def __init__(self, estimator, table, entries):
        self.estimator, self.table, self.entries = estimator, table, entries
        self._known, self._served = Memo(most=np.inf), Memo()

    def of(self, method):
        """The rows watched by a method, and the response; None where there is none."""
        return self._known.get(method, lambda: self._made(method))

    def _made(self, method):
        try:
            of = make_problem(self.estimator, self.table, None, None, method)
            rows = of.table, of.base, of.weights
            response = respond(of.model, *rows, self.entries, walked=False)
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None, None
        return of, None if isinstance(response, BlackBoxResponse) else response

    def at_donors(self, method, position, donors, together):
        """Outputs with one column's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            Of the column.
        donors : ndarray of shape (n_repeats, n_samples)
            The rows that values are taken from.
        together : bool
            Whether other columns will be asked for with the same donors: several are
            then found at once and kept.

        Returns
        -------
        ndarray of shape (n_outputs, n_repeats, n_samples) or None
            None where there is no fast response, or the model itself costs less.
        """
        problem, response = self.of(method)
        if response is None:
            return None
        size = at_once(response.n_outputs * donors.size) if together else 1
        first = position - position % size
        which = range(first, min(first + size, len(self.entries)))
        asked = problem, response, which, donors
        found = self._served.get((method, first), lambda: self._of_columns(*asked))
        return None if found is None else found[position - first]

    def _of_columns(self, problem, response, which, donors):
        moves = problem.moves(self.entries, [ALL])
        moves, n = [moves[e] for e in which], problem.table.n_samples
        cells = [len(donors) if response.reads_cells else m.n_cells for m in moves]
        cost = sum(response.evaluations(n, n_cells) for n_cells in cells)
        if cost > len(moves) * donors.size:
            return None
        cells = np.stack([move.codes[donors] for move in moves])
        return response.at_cells(
            problem.table, np.arange(n), moves, problem.base, cells
        )


# Scores that rounding of the outputs changes by rounding only. Others, such as the area
# under the ROC curve, look at ties.
SMOOTH = {
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
    "explained_variance",
    "neg_brier_score",
    "neg_log_loss",
    "neg_max_error",
    "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_gamma_deviance",
    "neg_mean_poisson_deviance",
    "neg_mean_squared_error",
    "neg_mean_squared_log_error",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    "r2",
}


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
        scores = [scorer(permuted, X, y, **weight)]
        if not isinstance(scores[0], dict):
            found = _by_formula(*names, permuted, y, sample_weight, scores[0])
            if found is not None:
                return found
        # the first has checked everything but the other outputs
        unchecked = {"assume_finite": True, "skip_parameter_validation": True}
        for permuted.repeat in range(1, n_repeats):
            with config_context(**unchecked if permuted.is_finite() else {}):
                scores.append(scorer(permuted, X, y, **weight))
        if isinstance(scores[0], dict):
            return {name: np.array([s[name] for s in scores]) for name in scores[0]}
        return np.array(scores)


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


class Permuted:
    """Stands for a fitted estimator whose X has one column permuted.

    Its outputs are those of the permuted rows of the current `repeat`, found for all
    repeats at once when first asked for; everything else is the estimator's own.

    Parameters
    ----------
    responses : Responses
    column : int
    donors : ndarray of shape (n_repeats, n_samples)
    smooth : bool
        Whether outputs may differ from the estimator's by rounding.
    together : bool
        Whether other columns will be permuted alike.
    """

    def __init__(self, responses, column, donors, smooth, together):
        self.repeat, self._smooth, self._outputs = 0, smooth, {}
        self._estimator, self._responses = responses.estimator, responses
        self._column, self._donors = column, donors
        self._moves = column, donors, together

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._estimator, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return value

        def of_this_repeat(X):
            return self.outputs(name)[self.repeat]

        of_this_repeat.__name__ = name  # scikit-learn asks for it
        return of_this_repeat

    def __sklearn_tags__(self):
        return self._estimator.__sklearn_tags__()

    def score(self, X, y, sample_weight=None):
        """The score of scikit-learn's mixins, from the outputs here."""
        score = type(self._estimator).score
        return score(self, X, y, sample_weight=sample_weight)

    def outputs(self, method):
        """What the method returns for each repeat."""
        if method not in self._outputs:
            self._outputs[method] = self._found(method)
        return self._outputs[method]

    def is_finite(self):
        """Whether all outputs asked for so far are finite numbers, or labels."""
        return all(
            isinstance(outputs, np.ndarray)
            and (outputs.dtype.kind != "f" or bool(np.isfinite(outputs).all()))
            for outputs in self._outputs.values()
        )

    def _found(self, method):
        """From a fast response; from the model where there is none.

        The labels of a classifier are found from indicators of its classes.
        """
        labels = method == "predict" and is_classifier(self._estimator)
        fast = labels or self._smooth
        found = self._responses.at_donors(method, *self._moves) if fast else None
        if found is None:
            return self._asked(method)
        of_classes = labels or method == "predict_proba"
        lists = self._responses.of(method)[0].model.class_lists or []
        if of_classes and len(lists) != 1:
            return self._asked(method)
        if of_classes and len(lists[0]) == 2:  # the second is known
            found = np.concatenate([1.0 - found, found])
        if labels:
            return lists[0][found.argmax(axis=0)]
        outputs = np.moveaxis(found, 0, -1)  # (n_repeats, n_samples, n_outputs)
        if len(found) > 1:
            return outputs
        first_row = self._responses.table.take(np.arange(1)).native
        asked = getattr(self._estimator, method)(first_row)
        return found[0] if np.ndim(asked) == 1 else outputs

    def _asked(self, method):
        """The model's own output for each repeat, several repeats at a time."""
        n_repeats, n = self._donors.shape
        n_at_once = max(1, HELD // (n * self._responses.table.n_columns))
        parts = []
        for repeats in even_slices(n_repeats, n_at_once):
            n_parts = repeats.stop - repeats.start
            rows, donors = np.tile(np.arange(n), n_parts), self._donors[repeats].ravel()
            moved = self._responses.table.moved(rows, (self._column,), donors=donors)
            found = getattr(self._estimator, method)(moved)
            if isinstance(found, list):  # probabilities of several columns of y
                split = [np.split(np.array(part), n_parts) for part in found]
                parts += [list(of_repeat) for of_repeat in zip(*split)]
            else:
                parts += list(np.split(np.array(found), n_parts))
        return parts if isinstance(parts[0], list) else np.array(parts)
