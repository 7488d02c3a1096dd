"""scikit-learn's permutation scores, from outputs found for all repeats at once."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.utils import check_random_state

from skvarimp._data.table import as_table
from skvarimp._inspection.responses import Responses
from skvarimp._running.memory import HELD

# Their label is the class of the largest probability, the first of equal ones.
MOST_PROBABLE = (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
TIE = 1e-9  # closer probabilities are left to the model
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
    """

    def __init__(self, original, estimator, X, scoring):
        self.original, self.scoring = original, scoring
        self.responses = Responses(estimator, X)

    def __call__(
        self,
        estimator,
        X,
        y,
        sample_weight,
        col_idx,
        random_state,
        n_repeats,
        scorer,
        max_samples,
    ):
        """The scores of one column, (n_repeats,) or one such array per metric."""
        names = _names(self.scoring)
        if max_samples < X.shape[0] or names is None:
            return self.original(
                estimator,
                X,
                y,
                sample_weight,
                col_idx,
                random_state,
                n_repeats,
                scorer,
                max_samples,
            )
        donors = shuffles(random_state, X.shape[0], n_repeats)
        smooth = names <= SMOOTH
        permuted = Permuted(estimator, self.responses, X, col_idx, donors, smooth)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        scores = []
        for repeat in range(n_repeats):
            permuted.repeat = repeat
            scores.append(scorer(permuted, X, y, **weight))
        if isinstance(scores[0], dict):
            return {name: np.array([s[name] for s in scores]) for name in scores[0]}
        return np.array(scores)


def _names(scoring):
    """Names of scikit-learn's own scorers, which look at predictions only, or None."""
    if scoring is None:
        return set()
    if isinstance(scoring, str):
        return {scoring}
    if isinstance(scoring, dict):
        scoring = list(scoring.values())
    by_name = isinstance(scoring, list | tuple | set)
    if by_name and all(isinstance(name, str) for name in scoring):
        return set(scoring)
    return None


def shuffles(random_state, n_samples, n_repeats):
    """The rows that scikit-learn's shuffles take values from, (n_repeats, n_samples).

    Each shuffles the column as the last one left it.
    """
    random_state = check_random_state(random_state)
    order, donors = np.arange(n_samples), np.arange(n_samples)
    result = np.empty((n_repeats, n_samples), dtype=np.intp)
    for repeat in range(n_repeats):
        random_state.shuffle(order)
        donors = donors[order]
        result[repeat] = donors
    return result


class Permuted:
    """Stands for a fitted estimator whose X has one column permuted.

    Its outputs are those of the permuted rows of the current `repeat`, found for all
    repeats at once when first asked for; everything else is the estimator's own.

    Parameters
    ----------
    estimator : estimator
    responses : Responses
    X : array or frame
    column : int
    donors : ndarray of shape (n_repeats, n_samples)
    smooth : bool
        Whether outputs may differ from the estimator's by rounding.
    """

    def __init__(self, estimator, responses, X, column, donors, smooth):
        self.repeat, self._smooth = 0, smooth
        self._estimator, self._responses = estimator, responses
        self._X, self._column, self._donors = X, column, donors
        self._outputs = {}

    def __getattr__(self, name):
        if name.startswith("__") and name != "__sklearn_tags__":
            raise AttributeError(name)
        value = getattr(self._estimator, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return value

        def of_this_repeat(X):
            return self._of(name)

        of_this_repeat.__name__ = name  # scikit-learn asks for it
        return of_this_repeat

    def __sklearn_tags__(self):
        return self._estimator.__sklearn_tags__()

    def score(self, X, y, sample_weight=None):
        """The estimator's score; scikit-learn's mixins' from the outputs here."""
        own = type(self._estimator).score
        for mixin in (RegressorMixin, ClassifierMixin):
            if own is mixin.score:
                return own(self, X, y, sample_weight=sample_weight)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        moved = as_table(self._X).moved(
            np.arange(len(self._donors[0])),
            (self._column,),
            donors=self._donors[self.repeat],
        )
        return self._estimator.score(moved, y, **weight)

    def _of(self, method):
        if method not in self._outputs:
            self._outputs[method] = self._found(method)
        return self._outputs[method][self.repeat]

    def _found(self, method):
        """What the method returns for each repeat."""
        if method == "predict" and isinstance(self._estimator, ClassifierMixin):
            return self._labels()
        outputs = self._fast(method) if self._smooth else None
        return self._asked(method) if outputs is None else outputs

    def _fast(self, method):
        """The same to rounding, from a fast response; None where there is none."""
        outputs = self._responses.at_donors(method, self._column, self._donors)
        if outputs is None:
            return None
        problem, _ = self._responses.problem(method)
        lists = problem.model.class_lists
        if method == "predict_proba" and (lists is None or len(lists) != 1):
            return None
        outputs = np.moveaxis(outputs, 0, -1)  # (n_repeats, n_samples, n_outputs)
        if method == "predict_proba" and outputs.shape[2] == 1:
            return np.concatenate([1.0 - outputs, outputs], axis=2)
        flat = outputs.shape[2] == 1 and self._is_flat(method)
        return outputs[:, :, 0] if flat else outputs

    def _is_flat(self, method):
        rows = as_table(self._X).take(np.arange(1)).native
        return np.ndim(getattr(self._estimator, method)(rows)) == 1

    def _labels(self):
        """Labels, by the probabilities where these decide without a tie."""
        if type(self._estimator) not in MOST_PROBABLE:
            return self._asked("predict")
        chances, classes = self._fast("predict_proba"), self._estimator.classes_
        if chances is None or isinstance(classes, list):
            return self._asked("predict")
        labels = classes[chances.argmax(axis=2)]
        ordered = np.sort(chances, axis=2)
        near = ordered[:, :, -1] - ordered[:, :, -2] < TIE
        if near.any():
            rows, donors = np.nonzero(near)[1], self._donors[near]
            labels[near] = self._at("predict", rows, donors)
        return labels

    def _asked(self, method):
        """The model's own output for each repeat, several repeats at a time."""
        n_repeats, n = self._donors.shape
        at_once = max(1, HELD // (n * self._X.shape[1]))
        parts = []
        for start in range(0, n_repeats, at_once):
            donors = self._donors[start : start + at_once]
            rows = np.tile(np.arange(n), len(donors))
            found = self._at(method, rows, donors.ravel())
            if isinstance(found, list):  # probabilities of several columns of y
                split = [np.split(np.asarray(part), len(donors)) for part in found]
                parts += [list(of_repeat) for of_repeat in zip(*split)]
            else:
                parts += list(np.split(np.asarray(found), len(donors)))
        return parts if isinstance(parts[0], list) else np.array(parts)

    def _at(self, method, rows, donors):
        moved = as_table(self._X).moved(rows, (self._column,), donors=donors)
        return getattr(self._estimator, method)(moved)
