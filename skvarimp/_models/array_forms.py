"""The forms of models that are arrays of weights: additive, low degree, layers."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense
from skvarimp._models.affine import affine
from skvarimp._models.forms import BehindSteps, LinkedForm, numbers
from skvarimp._models.links import IDENTITY, NoGradient, logistic


@dataclass(frozen=True, eq=False, kw_only=True)
class Additive(LinkedForm):
    """Scores b + x W + sum_m g_m(x), each g_m a sum over the columns.

    Attributes
    ----------
    intercept : ndarray of shape (n_scores,)
    weights : ndarray of shape (n_columns, n_scores)
        W; 0 for columns that have other parts.
    parts : tuple of callable
        part(X, columns) gives (n_rows, n_scores), the sum over some columns of what
        each adds; X holds these columns only. `part.slopes(X)` gives
        (n_scores, n_rows, n_columns).
    """

    intercept: np.ndarray
    weights: np.ndarray
    parts: tuple = ()

    def scores(self, X):
        """See `Form.scores`."""
        return self.sums(numbers(X)).T

    def sums(self, X):
        """Scores of numeric rows, (n_rows, n_scores)."""
        return self.steps(X, slice(None)) + self.intercept

    def steps(self, X, columns):
        """What some columns add to the scores; X holds these columns only."""
        result = X @ self.weights[columns]
        for part in self.parts:
            result = result + part(X, columns)
        return result

    def slopes(self, X):
        """See `LinkedForm.slopes`; for linear scores a read-only view of one row."""
        scores = self.scores(X)
        shape = (*scores.shape, len(self.weights))
        slopes = np.broadcast_to(self.weights.T[:, np.newaxis], shape)
        for part in self.parts:
            slopes = slopes + part.slopes(dense(numbers(X)))
        return scores, slopes

    def magnitude(self, X):
        """See `Form.magnitude`."""
        largest = dense(abs(numbers(X)).max(axis=0))
        return (largest @ np.abs(self.weights) + np.abs(self.intercept)).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        return self.weights.size * (1 if self.link is IDENTITY else 4)

    @property
    def piecewise_constant(self):
        """See `Form`."""
        steps = all(part.piecewise_constant for part in self.parts)
        return steps and not self.weights.any()

    def after(self, steps):
        """See `Form.after`."""
        if self.parts:
            return None
        return replace(
            self,
            weights=steps.matrix @ self.weights,
            intercept=self.intercept + steps.shift @ self.weights,
        )

    @staticmethod
    def mixed(members, mix):
        """See `Form.mixed`."""
        if any(form.link is not IDENTITY for form in members):
            return None
        weighted = zip(members, mix.matrix[0])
        parts = [part.times(w) for form, w in weighted for part in form.parts]
        # parts take one number each: a single mix, and one weight for each member
        if parts and mix.matrix.shape != (1, len(members)):
            return None
        weights = np.hstack([form.weights for form in members])
        intercept = np.concatenate([form.intercept for form in members])
        return replace(
            members[0],
            intercept=mix(intercept[:, np.newaxis])[0][:, 0],
            weights=mix.chain(None, weights.T).T,
            parts=tuple(parts),
            single=any(form.single for form in members),
        )


ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0, out=z),
    "tanh": lambda z: np.tanh(z, out=z),
    "logistic": logistic,
    "cosine": lambda z: np.cos(z, out=z),
}
# Their derivatives, as functions of the activation's own value.
DERIVATIVES = {
    "identity": np.ones_like,
    "relu": lambda a: (a > 0.0).astype(np.float64),
    "tanh": lambda a: 1.0 - a * a,
    "logistic": lambda a: a * (1.0 - a),
}  # The cosine has none: its value does not tell whether it rises or falls.


@dataclass(frozen=True, eq=False, kw_only=True)
class Layers(LinkedForm):
    """Scores W_L a_(L-1) + b_L with a_l = activation(W_l a_(l-1) + b_l), a_0 = x.

    Attributes
    ----------
    weights : list of ndarray of shape (n_in, n_out)
    biases : list of ndarray of shape (n_out,)
    activation : {"identity", "relu", "tanh", "logistic", "cosine"}
    """

    weights: list
    biases: list
    activation: str

    def _values(self, X):
        """The values of all layers but the last, and the scores."""
        activate = ACTIVATIONS[self.activation]
        layers = [numbers(X)]
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            layers.append(activate(layers[-1] @ W + b))
        return layers, (layers[-1] @ self.weights[-1] + self.biases[-1]).T

    def scores(self, X):
        """See `Form.scores`."""
        return self._values(X)[1]

    def slopes(self, X):
        """See `LinkedForm.slopes`; by backward accumulation."""
        if self.activation not in DERIVATIVES:
            raise NoGradient(f"a layer of {self.activation}s is not differentiated")
        layers, scores = self._values(X)
        derivative = DERIVATIVES[self.activation]
        W = self.weights[-1]
        slopes = np.broadcast_to(W.T[:, np.newaxis], (*scores.shape, len(W)))
        for W, values in zip(self.weights[-2::-1], layers[:0:-1]):
            # (n_scores, n_rows, n_out) @ (n_out, n_in)
            slopes = (slopes * derivative(values)) @ W.T
        return scores, slopes

    def magnitude(self, X):
        """See `Form.magnitude`."""
        layers, _ = self._values(X)
        return (abs(layers[-1]) @ np.abs(self.weights[-1])).max()

    @property
    def elements_per_row(self):
        """See `Form`: all layers, the two widest slopes, a link's temporaries."""
        units = [len(W) for W in self.weights]
        return sum(units) + self.weights[-1].shape[1] * (2 * max(units) + 3 * units[0])

    def after(self, steps):
        """See `Form.after`."""
        W, b = self.weights[0], self.biases[0]
        return replace(
            self,
            weights=[steps.matrix @ W, *self.weights[1:]],
            biases=[b + steps.shift @ W, *self.biases[1:]],
        )

    def collapsed(self):
        """The linear form of layers without a bend; None if they have one."""
        if self.activation != "identity" and len(self.weights) > 1:
            return None
        W, b = self.weights[0], self.biases[0]
        for V, c in zip(self.weights[1:], self.biases[1:]):
            W, b = W @ V, b @ V + c
        return Additive(weights=W, intercept=b, link=self.link, single=self.single)


def linear_part(form, n_columns):
    """The linear `Additive` form that a form of n_columns columns is, or None.

    Affine steps in front are multiplied in. Layers are never linear here, even without
    a bend: their coefficients are products of weights. Other steps raise NotAffine.
    """
    if isinstance(form, BehindSteps):
        steps = affine(form.steps, n_columns)
        inner = linear_part(form.form, steps.matrix.shape[1])
        return None if inner is None else inner.after(steps)
    return form if isinstance(form, Additive) and not form.parts else None


@dataclass(frozen=True, eq=False, kw_only=True)
class LowDegree(LinkedForm):
    """Scores b + sum_t coef[t] prod_(u in factors[t]) z_u, with z = x A + c.

    A unit z_u is a line, or a hinge: max(0, line). A polynomial is a sum of products of
    columns, a quadratic discriminant a sum of squares of lines, and a multivariate
    adaptive regression spline a sum of products of hinges. As one column moves, every
    score is a polynomial of low degree, between the kinks of hinges if there are any.

    Attributes
    ----------
    intercept : ndarray of shape (n_scores,)
        b.
    coef : ndarray of shape (n_terms, n_scores)
    factors : ndarray of int of shape (n_terms, degree)
        The units of each product; n_units stands for the number 1.
    matrix : ndarray of shape (n_columns, n_units)
        A.
    shift : ndarray of shape (n_units,)
        c.
    hinges : ndarray of bool of shape (n_units,), or False
    """

    intercept: np.ndarray
    coef: np.ndarray
    factors: np.ndarray
    matrix: np.ndarray
    shift: np.ndarray
    hinges: np.ndarray = np.False_

    def scores(self, X):
        """See `Form.scores`."""
        return self.head(numbers(X) @ self.matrix + self.shift).T

    def products(self, X):
        """The products themselves at rows, (n_rows, n_terms)."""
        return self._products(numbers(X) @ self.matrix + self.shift, self.factors)

    def head(self, lines):
        """Scores (..., n_scores) of the units' lines (..., n_units)."""
        return self._products(lines, self.factors) @ self.coef + self.intercept

    def _products(self, lines, factors):
        """The products of some units each, (..., n_terms)."""
        result = np.ones((*lines.shape[:-1], len(factors)))
        units = np.where(self.hinges, np.maximum(lines, 0.0), lines)
        units = np.concatenate([units, np.ones((*lines.shape[:-1], 1))], axis=-1)
        for of_terms in factors.T:
            result *= units[..., of_terms]
        return result

    def split(self, units):
        """The sum of the products with some units, and that of the others.

        Parameters
        ----------
        units : ndarray of bool of shape (n_units,)

        Returns
        -------
        moving, still : LowDegree
            `still` has the intercept.
        """
        has = np.append(units, False)[self.factors].any(axis=1)
        moving = replace(
            self,
            intercept=np.zeros_like(self.intercept),
            coef=self.coef[has],
            factors=self.factors[has],
        )
        return moving, replace(self, coef=self.coef[~has], factors=self.factors[~has])

    def degree(self, units):
        """How many of some units a product has, at most."""
        counts = np.append(units, False)[self.factors].sum(axis=1)
        return int(counts.max(initial=0))

    def slopes(self, X):
        """See `LinkedForm.slopes`; at a kink the slope on its flat side."""
        lines = numbers(X) @ self.matrix + self.shift
        n_terms, n_units = len(self.factors), len(self.shift)
        by_unit = np.zeros((len(self.intercept), len(lines), n_units + 1))
        for position in range(self.factors.shape[1]):
            others = np.delete(self.factors, position, axis=1)
            products = self._products(lines, others)
            where = (np.arange(n_terms), self.factors[:, position])
            for of_score, coef in zip(by_unit, self.coef.T):
                add = sparse.csr_array((coef, where), shape=(n_terms, n_units + 1))
                of_score += products @ add
        by_unit = by_unit[..., :-1] * np.where(self.hinges, lines > 0.0, True)
        return self.head(lines).T, by_unit @ self.matrix.T

    def magnitude(self, X):
        """See `Form.magnitude`."""
        terms = np.abs(self.products(X)) @ np.abs(self.coef)
        return (terms + np.abs(self.intercept)).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        n_columns, n_units = self.matrix.shape
        per_score = 2 * n_units + n_columns
        return 3 * len(self.factors) + per_score * len(self.intercept)

    def after(self, steps):
        """See `Form.after`."""
        return replace(
            self,
            matrix=steps.matrix @ self.matrix,
            shift=self.shift + steps.shift @ self.matrix,
        )


def is_single(*parameters):
    """Whether any of some arrays or sparse matrices is in single precision."""
    return any(p.dtype.kind == "f" and p.dtype.itemsize <= 4 for p in parameters)
