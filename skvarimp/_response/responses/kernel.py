"""Kernel machines: link(sum_m dual[q, m] k(x, s_m) + b_q).

One moved column changes a smooth kernel smoothly: the curves are evaluated on a few
Chebyshev nodes and interpolated, exact to rounding.
"""

import numpy as np
from scipy import sparse

from skvarimp._data.table import SparseTable
from skvarimp._models.gradients.kernels import fitted_gamma, pairwise_weights
from skvarimp._models.links import (
    IDENTITY,
    PairwiseVotes,
    PlattCoupling,
    PositiveScore,
    Sign,
)
from skvarimp._response.lowering import NotLowerable
from skvarimp._response.responses.kernel_terms import (
    Gaussian,
    Polynomial,
    Sigmoid,
    Vectors,
    is_far,
)
from skvarimp._response.responses.linear import LinearResponse
from skvarimp._response.responses.process_kernel import process_terms
from skvarimp._response.responses.scores import (
    ScoreResponse,
    dense,
    numeric_values,
    refuse_unless_double,
)
from skvarimp._response.shapes.chebyshev import TOO_MANY, interpolation, nodes
from skvarimp._running.memory import working_bytes


def lower_support_vectors(model, table):
    """The response of a support vector machine."""
    estimator = model.estimator
    support = estimator.support_vectors_
    refuse_unless_double(table, support)
    n_classes = len(getattr(estimator, "classes_", ()))
    link = _support_link(model, estimator, n_classes)
    gamma = fitted_gamma(estimator)
    terms = _named_terms(estimator, gamma, support)
    if isinstance(table, SparseTable):
        _refuse_far(terms, table, support)
    dual = dense(estimator.dual_coef_)
    if n_classes > 2:
        dual = pairwise_weights(dual, estimator.n_support_).T
    return _machine(
        model, table, link, terms, support, dual, dense(estimator.intercept_)
    )


def _support_link(model, estimator, n_classes):
    if model.method == "predict_proba":
        if n_classes > 2:
            raise NotLowerable("SVC couples the probabilities of pairs of classes")
        # The public names of these two warn: they go when `probability` goes.
        return PlattCoupling(float(estimator._probA[0]), float(estimator._probB[0]))
    if n_classes == 0:  # regressors and the one-class machine
        outlier = model.method == "predict" and hasattr(estimator, "offset_")
        return Sign() if outlier else IDENTITY
    if n_classes == 2:
        return IDENTITY if model.method == "decision_function" else PositiveScore()
    by_class = estimator.decision_function_shape == "ovr"
    if model.method == "decision_function":
        return PairwiseVotes(n_classes, "decision") if by_class else IDENTITY
    ties = estimator.break_ties and by_class
    return PairwiseVotes(n_classes, "label of decision" if ties else "votes")


def lower_kernel_ridge(model, table):
    """The response of KernelRidge."""
    estimator = model.estimator
    support = estimator.X_fit_
    dual = dense(estimator.dual_coef_)
    refuse_unless_double(table, support, dual)
    dual = dual.reshape(len(dual), -1).T
    gamma = estimator.gamma
    gamma = 1.0 / support.shape[1] if gamma is None else gamma
    terms = _named_terms(estimator, gamma, support)
    _refuse_far(terms, table, support)  # the model itself takes products
    return _machine(model, table, IDENTITY, terms, support, dual, np.zeros(len(dual)))


def _refuse_far(terms, table, support):
    """Decline where squared distances by products would lose the kernel's digits."""
    gaussian = isinstance(terms[0], Gaussian)
    if gaussian and is_far(terms[0].gammas[0], table.numeric(), support):
        raise NotLowerable("its squared distances cancel but for rounding")


def lower_gaussian_process(model, table):
    """The response of a Gaussian process regressor's mean."""
    estimator = model.estimator
    if not hasattr(estimator, "X_train_"):
        raise NotLowerable("the Gaussian process predicts from its prior")
    support = estimator.X_train_
    alpha = dense(estimator.alpha_)
    refuse_unless_double(table, np.asarray(support), alpha)
    terms, constant = process_terms(estimator.kernel_, np.asarray(support))
    dual = alpha.reshape(len(alpha), -1).T
    # What normalize_y took from y is kept in no public attribute.
    spread = np.broadcast_to(estimator._y_train_std, len(dual))
    mean = np.broadcast_to(estimator._y_train_mean, len(dual))
    dual = dual * spread[:, np.newaxis]
    intercept = mean + constant * dual.sum(axis=1)
    return _machine(model, table, IDENTITY, terms, support, dual, intercept)


def _named_terms(estimator, gamma, support):
    kernel, coef0, degree = estimator.kernel, estimator.coef0, estimator.degree
    if not isinstance(kernel, str):
        raise NotLowerable("its kernel is a function")
    if kernel == "linear":
        return [Polynomial(1.0, 1.0, 0.0, 1)]
    if kernel == "rbf":
        origin = np.asarray(support.mean(axis=0)).reshape(-1)
        return [Gaussian(1.0, np.full(len(origin), float(gamma)), origin)]
    if kernel == "sigmoid":
        return [Sigmoid(gamma, coef0)]
    if kernel in ("poly", "polynomial"):
        if degree != int(degree):
            raise NotLowerable("the degree of its polynomial kernel is not whole")
        return [Polynomial(1.0, gamma, coef0, int(degree))]
    raise NotLowerable(f"the kernel {kernel!r} has no fast form")


def _machine(model, table, link, terms, support, dual, intercept):
    """A kernel response, or a linear one where the kernel is."""
    if all(isinstance(term, Polynomial) and term.degree == 1 for term in terms):
        gamma = sum(term.factor * term.gamma for term in terms)
        offset = sum(term.factor * term.offset for term in terms)
        weights = gamma * (dense(support.T @ dual.T))
        intercept = intercept + offset * dual.sum(axis=1)
        return LinearResponse(model, link, weights, intercept)
    response = KernelResponse(model, link, terms, support, dual, intercept)
    few = np.unique(np.linspace(0, table.n_samples - 1, 12).astype(int))
    if response.cancels(table.take(few)):
        raise NotLowerable("its dual coefficients cancel but for rounding")
    return response


class KernelResponse(ScoreResponse):
    """See the module.

    Parameters
    ----------
    model, link : see `ScoreResponse`
    terms : list of terms of `_kernel_terms.py`
    support : ndarray or sparse array of shape (n_support, n_columns)
    dual : ndarray of shape (n_scores, n_support)
    intercept : ndarray of shape (n_scores,)
    """

    path = "kernel"

    BLOCK_ELEMENTS = 2**18  # of rows times support vectors
    CELL_ELEMENTS = 2**22  # of cells times support vectors

    def __init__(self, model, link, terms, support, dual, intercept):
        super().__init__(model, link, len(dual))
        self.terms, self.support = terms, support
        self.dual, self.intercept = dual, intercept
        self._remembered = None

    def __getstate__(self):
        return {**self.__dict__, "_remembered": None}

    def cancels(self, table):
        """Whether less than ten digits are left of sums over the support vectors."""
        X, S = Vectors(table.numeric()), self._vectors(table)
        kernel = sum(term.whole(X, S) for term in self.terms)
        scores = kernel @ self.dual.T + self.intercept
        terms = np.abs(kernel) @ np.abs(self.dual).T
        return bool(terms.max() > 1e6 * np.abs(scores).max())

    def tasks(self, walk):
        """See `Response.tasks`; grids of one entry share what is remembered of it."""
        for e in range(walk.n_entries):
            for position in range(e, len(walk.moves), walk.n_entries):
                yield from self.tasks_of(walk, position)

    def scores(self, table, rows, move):
        """See `ScoreResponse.scores`."""
        columns, values = list(move.entry.columns), numeric_values(move)
        at, basis = self._nodes(table, columns, values)
        if basis is None:
            return self._scores_at(table, rows, columns, at)
        return np.matmul(self._scores_at_nodes(table, rows, columns, at), basis.T)

    def _scores_at(self, table, rows, columns, values):
        scores = np.empty((self.n_scores, len(rows), len(values)))
        scores[:] = self.intercept[:, np.newaxis, np.newaxis]
        for part, cells, of_part in self._parts(table, rows, columns, values):
            scores[:, part, cells] += of_part(None)
        return scores

    def _scores_at_nodes(self, table, rows, columns, at):
        """Remembered for the last entry, whose grids lie between the same ends."""
        size = 8 * self.n_scores * table.n_samples * len(at)
        if size > working_bytes() / 8:
            return self._scores_at(table, rows, columns, at)
        if not self._remembers(table, columns, at):
            scores = np.empty((self.n_scores, table.n_samples, len(at)))
            known = np.zeros(table.n_samples, dtype=bool)
            self._remembered = table, (columns, at), scores, known
        *_, scores, known = self._remembered
        new = rows[~known[rows]]
        if len(new):
            scores[:, new] = self._scores_at(table, new, columns, at)
            known[new] = True
        return scores[:, rows]

    def _remembers(self, table, columns, at):
        if self._remembered is None or self._remembered[0] is not table:
            return False
        of_columns, known_at = self._remembered[1]
        return of_columns == columns and np.array_equal(known_at, at)

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`; O((n_rows + n_cells) n_support)."""
        if self.link is not IDENTITY:
            return super().mean_curves(table, rows, weights, move, base)
        columns, values = list(move.entry.columns), numeric_values(move)
        at, basis = values, None
        if not all(term.separable for term in self.terms):
            at, basis = self._nodes(table, columns, values)
        mean = np.zeros((self.n_scores, len(at)))
        for part, cells, of_part in self._parts(table, rows, columns, at):
            mean[:, cells] += of_part(weights[part])[:, 0]
        mean = mean if basis is None else mean @ basis.T
        unmoved = self.intercept * weights.sum() - base @ weights
        return mean + unmoved[:, np.newaxis]

    def _nodes(self, table, columns, values):
        """Values to evaluate at, and the matrix (n_cells, n_values) to interpolate."""
        low, high = values.min(), values.max()
        if len(columns) > 1 or low == high:
            return values, None
        half_width = (high - low) / 2.0
        S = Vectors(self.support)
        n = max(term.n_nodes(half_width, S, columns[0]) for term in self.terms)
        if n >= TOO_MANY:
            return values, None
        at = nodes(low, high, n)[:, np.newaxis]
        if n >= len(values) and not self._remembers(table, columns, at):
            return values, None
        return at, interpolation(values[:, 0], low, high, n)

    def _parts(self, table, rows, columns, values):
        """Blocks of rows and cells, with a function of row weights or None that sums.

        Yields
        ------
        rows, cells : slice
        of_part : callable
            of_part(None) is (n_scores, n_rows, n_cells), of_part(weights) the
            weighted sum over the rows, (n_scores, 1, n_cells).
        """
        S = self._vectors(table)
        n_support = len(self.dual[0])
        row_step = max(1, self.BLOCK_ELEMENTS // n_support)
        cell_step = max(1, self.CELL_ELEMENTS // self.dual.size)
        for first in range(0, len(values), cell_step):
            cells = slice(first, min(first + cell_step, len(values)))
            moved = [
                self._moved(term, values[cells], S, columns) for term in self.terms
            ]
            for start in range(0, len(rows), row_step):
                part = slice(start, start + row_step)
                X = Vectors(table.take(rows[part]).numeric())
                others = [term.others(X, S, columns) for term in self.terms]
                yield part, cells, lambda w, o=others, m=moved: self._summed(o, m, w)

    def _moved(self, term, values, S, columns):
        moved = term.moved(values, S, columns)
        if not term.separable:
            return moved
        # (n_scores, n_support, n_cells) each
        return [self.dual[:, :, np.newaxis] * function for function in moved]

    def _summed(self, others, moved, weights):
        result = 0.0
        for term, of_rows, of_cells in zip(self.terms, others, moved):
            if term.separable:
                result = result + self._products(of_rows, of_cells, weights)
            else:
                result = result + self._one_by_one(of_rows, of_cells, weights)
        return result

    def _products(self, of_rows, of_cells, weights):
        result = 0.0
        for left, right in zip(of_rows, of_cells):
            if weights is not None:
                left = weights[np.newaxis] @ left
            # (n_rows, n_support) @ (n_scores, n_support, n_cells)
            result = result + left @ right
        return result

    def _one_by_one(self, of_rows, of_cells, weights):
        columns = []
        for of_cell in of_cells.T:
            sums = np.tanh(of_rows + of_cell) @ self.dual.T
            columns.append(sums if weights is None else weights[np.newaxis] @ sums)
        return np.stack([column.T for column in columns], axis=2)

    def _vectors(self, table):
        """The support vectors in the table's kind of array."""
        support = self.support
        if isinstance(table, SparseTable):
            return Vectors(sparse.csr_array(support))
        return Vectors(dense(support))

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`; measured times in microseconds, roughly."""
        n_support, n_columns = self.support.shape
        of_model = 0.3 + n_support * (0.0015 * n_columns + 0.007)
        n_nodes = min(n_cells, 40)
        of_row = n_support * (0.004 + 0.0001 * n_columns + 0.0001 * n_nodes)
        return n_rows * (of_row + 0.025 * n_cells) / of_model
