"""Models with a linear predictor: link(W' x + b)."""

import numpy as np

from skvarimp._model import Model
from skvarimp.response import _line_columns as line_columns
from skvarimp.response._base import Task
from skvarimp.response._links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    ClippedLine,
    LargestScore,
    OneVersusRest,
    PositiveScore,
    Sign,
    Softmax,
)
from skvarimp.response._lowering import lowered
from skvarimp.response._monotone_link import (
    LogisticLine,
    has_logistic_form,
    logistic_closed_form,
)
from skvarimp.response._projection import ProjectionResponse, categorical_columns
from skvarimp.response._scaled_line import ScaledLine, closed_form, has_line_form
from skvarimp.response._scores import (
    dense,
    numeric_values,
    own_values,
    refuse_unless_double,
)


def lower_linear(model, table):
    """The response of a model with `coef_`."""
    estimator = model.estimator
    refuse_unless_double(table, estimator.coef_)
    coef = np.atleast_2d(dense(estimator.coef_))
    intercept = _intercept(estimator, len(coef))
    return LinearResponse(model, _link(model, table, len(coef)), coef.T, intercept)


def _intercept(estimator, n_scores):
    if hasattr(estimator, "x_rotations_"):
        # Partial least squares centres X by a mean that it keeps private. With the
        # identity as link only differences from the unmoved response are needed.
        return np.zeros(n_scores)
    if hasattr(estimator, "offset_"):  # SGDOneClassSVM
        return -dense(estimator.offset_).reshape(-1)
    return np.broadcast_to(dense(estimator.intercept_), n_scores)


def lower_naive_bayes(model, table):
    """Naive Bayes whose joint log-likelihood is linear in X."""
    estimator = model.estimator
    refuse_unless_double(table, estimator.feature_log_prob_)
    coef = dense(estimator.feature_log_prob_)
    n_classes = len(coef)
    prior = np.zeros(n_classes)
    if type(estimator).__name__ == "MultinomialNB" or n_classes == 1:
        prior = dense(estimator.class_log_prior_)
    if n_classes == 2:  # of two classes one score, like other classifiers
        coef, prior = coef[1:] - coef[:1], prior[1:] - prior[:1]
    if model.method == "predict":
        link = _label_link(model, table, len(coef))
    else:
        link = LOGISTIC if n_classes == 2 else Softmax()
    return LinearResponse(model, link, coef.T, prior)


def lower_ransac(model, table):
    """RANSAC predicts by the estimator it fitted to the inliers."""
    return lowered(Model(model.estimator.estimator_, model.method), table)


def _link(model, table, n_scores):
    estimator, name = model.estimator, type(model.estimator).__name__
    if model.method == "decision_function":
        return IDENTITY
    if model.method == "predict_proba":
        return _probability_link(estimator, name, n_scores)
    if model.classifier:
        return _label_link(model, table, n_scores)
    if name == "SGDOneClassSVM":
        return Sign()
    return EXPONENTIAL if _has_log_link(estimator, name) else IDENTITY


def _has_log_link(estimator, name):
    if name == "TweedieRegressor":
        # link="auto": the identity for power <= 0, else the logarithm
        by_power = estimator.link == "auto" and estimator.power > 0
        return estimator.link == "log" or by_power
    return name in ("PoissonRegressor", "GammaRegressor")


def _probability_link(estimator, name, n_scores):
    if name == "SGDClassifier":
        if estimator.loss == "modified_huber":
            return ClippedLine()
        return LOGISTIC if n_scores == 1 else OneVersusRest()
    return LOGISTIC if n_scores == 1 else Softmax()


def _label_link(model, table, n_scores):
    if n_scores == 1:
        return PositiveScore()
    labels = model.raw(table.take(np.zeros(1, dtype=np.intp)).native)
    return PositiveScore() if np.ndim(labels) == 2 else LargestScore()  # 2: multilabel


class LinearResponse(ProjectionResponse):
    """link(X W + b), in closed form wherever there is one.

    Parameters
    ----------
    model, link : see `ScoreResponse`
    weights : ndarray of shape (n_columns, n_scores)
    intercept : ndarray of shape (n_scores,)
    """

    path = "linear"

    def __init__(self, model, link, weights, intercept):
        super().__init__(model, link, len(intercept), weights, intercept)

    def moved_scores(self, others, weights, values):
        """See `ProjectionResponse.moved_scores`."""
        steps = values @ weights
        return others.T[:, :, np.newaxis] + steps.T[:, np.newaxis, :]

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        return np.moveaxis(sums, -1, 0)

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        if self.link is not IDENTITY or not self.uses(move.entry.columns):
            return super().curves(table, rows, move, base)
        t, s = self._line(table, rows, move)
        return (base - s)[:, :, np.newaxis] + t[:, np.newaxis, :]

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`."""
        if self.link is not IDENTITY or not self.uses(move.entry.columns):
            return super().mean_curves(table, rows, weights, move, base)
        t, s = self._line(table, rows, move)
        return weights.sum() * t - (s @ weights)[:, np.newaxis]

    def _line(self, table, rows, move):
        """The moved columns' part of the scores, of cells and of rows."""
        columns = list(move.entry.columns)
        weights = self.weights[columns]
        t = (numeric_values(move) @ weights).T
        if move.codes is not None:
            return t, t[:, move.codes[rows]]
        return t, (own_values(table, rows, columns) @ weights).T

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`; a prediction costs about 2 n_columns."""
        of_model = 2.0 * self.weights.size + 50.0
        if self.link is IDENTITY or self.link is EXPONENTIAL:
            return (n_rows + n_cells) * 10.0 / of_model
        if self.link is LOGISTIC:
            return min(n_rows * n_cells * 10.0, (n_rows + n_cells) * 1e3) / of_model
        return n_rows * n_cells * (20.0 + 5.0 * self.n_scores) / of_model

    def batches(self, walk, request, columns):
        """See `ProjectionResponse.batches`; in closed form if the link is identity."""
        if self.link is not IDENTITY:
            yield from super().batches(walk, request, columns)
        elif line_columns.serves(walk.reductions[request], walk.moves.grids[request]):
            yield from line_columns.batches(walk.table.numeric(), columns)

    def finished(self, walk, request, columns):
        """See `ProjectionResponse.finished`."""
        if self.link is not IDENTITY:
            return super().finished(walk, request, columns)
        return line_columns.finish(
            walk.reductions[request],
            walk.scales[request],
            line_columns.SortedColumns(walk.table.numeric(), columns, walk.weights),
            self.weights[columns],
            walk.base @ walk.weights,
            categorical_columns(walk, request, columns),
            walk.total_weight,
        )

    def tasks_of(self, walk, position):
        """See `Response.tasks_of`; closed forms take all rows at once."""
        closed = self._closed_form(walk.moves[position].n_cells) is not None
        if closed and any(map(self._has_form, walk.reductions_of(position))):
            return [Task((position,), slice(0, len(walk.rows)))]
        return super().tasks_of(walk, position)

    def evaluations_for(self, reduction, n_rows, n_cells):
        """See `Response.evaluations_for`."""
        if self.link not in (IDENTITY, EXPONENTIAL, LOGISTIC):
            return self.evaluations(n_rows, n_cells)
        if self._has_form(reduction):
            return self.evaluations(n_rows, n_cells)
        return 0.02 * n_rows * n_cells / (0.3 + 0.0015 * self.weights.size)

    LEAST_CELLS = 64  # of a logistic link: fewer are evaluated one by one

    def _closed_form(self, n_cells):
        if self.link is IDENTITY or self.link is EXPONENTIAL:
            return closed_form
        if self.link is LOGISTIC and n_cells > self.LEAST_CELLS:
            return logistic_closed_form
        return None

    def _has_form(self, reduction):
        if self.link is LOGISTIC:
            return has_logistic_form(reduction)
        return has_line_form(reduction)

    def _reduced(self, walk, position, rows, reductions=None):
        move = walk.moves[position]
        form = self._closed_form(move.n_cells)
        all_rows = rows == slice(0, len(walk.rows))
        if form is None or not all_rows or not self.uses(move.entry.columns):
            return super()._reduced(walk, position, rows, reductions)
        reductions = walk.reductions_of(position)
        line = self._line_of(walk, move)
        if line is None:
            return super()._reduced(walk, position, rows, reductions)
        states = [form(line, reduction) for reduction in reductions]
        others = [r for r, state in zip(reductions, states) if state is None]
        if others:
            further = iter(super()._reduced(walk, position, rows, others))
            states = [next(further) if state is None else state for state in states]
        return states

    def _line_of(self, walk, move):
        t, s = self._line(walk.table, walk.rows, move)
        common = (move.probabilities, walk.weights, walk.base)
        more = (move.categorical, walk.y)
        if self.link is IDENTITY:
            return ScaledLine(t, s, None, *common, *more)
        others = self.sums(walk.table, walk.rows).T - s
        if self.link is LOGISTIC:
            return LogisticLine(t, s, others, *common, *more)
        # exp(others + t) = exp(others + largest t) exp(t - largest t), free of overflow
        top = t.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            scale = np.exp(others + top)
        if not np.all(np.isfinite(scale)):
            return None  # the model itself is to say where
        return ScaledLine(np.exp(t - top), np.exp(s - top), scale, *common, *more)
