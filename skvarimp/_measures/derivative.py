"""`DerivativeImportance`: how steep the response is along a feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.statistics import divided, unit_of
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._models.gradients import (
    DOUBTFUL,
    central_blocks,
    central_steps,
    differentiable,
    gradient_blocks,
)
from skvarimp._models.links import NoGradient, PiecewiseConstant
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.reductions import Outcome
from skvarimp._response.shape import add_by_group
from skvarimp._running.guards import warn
from skvarimp._running.tasks import Progress
from skvarimp._types import Features, ResponseMethod
from skvarimp.exceptions import ImportanceWarning

WAY_OUT = "Use SensitivityImportance, which moves a feature by whole steps."
PROBE_ROWS, PROBE_VALUES = 20, 20  # looked at where every difference is 0


@dataclass(kw_only=True, eq=False, repr=False)
class DerivativeImportance(ResponseImportance):
    """Root mean square derivative of the response times the feature's spread.

    The derivative is taken at the rows of X, with all other features held fixed. It
    shows the model's slope at the data, but not what happens one standard deviation
    away; `SensitivityImportance` shows that.

    Parameters
    ----------
    features : sequence or dict, default=None
        Features: names or positions of single columns of numbers; None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models. Labels (`predict` of a classifier) have no derivative.
    keep_rows : bool, default=False
        Whether to keep `influences_`, from which `interval` and the comparisons of
        importances are computed.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Root mean square slope times the feature's standard deviation, mean over the
        outputs, in units of the response.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        Importance for each output.
    standard_errors_ : ndarray of shape (n_features,)
        Sampling error with the model held fixed.
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : None
        The importance is not a mean over rows.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the mean response goes as values rise: 1 where it only rises, -1 where
        it only falls, near 0 where it turns; see the glossary. NaN for groups and for
        categories without an order. None for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    method_ : str
        "analytic", or "central differences" with the reason.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    Raises
    ------
    TypeError
        For groups, and where all columns are categories or dates. Beside numbers these
        have no importance (NaN), which a warning says.
    ValueError
        For models whose response is piecewise constant (trees, nearest neighbours),
        and columns with missing values.

    See Also
    --------
    SensitivityImportance : Any model and any kind of feature.
    FIRMImportance : Follows the features' correlations; equals this one for linear
        models with uncorrelated features.

    Notes
    -----
    For a linear model abs(coefficient) x standard deviation (divisor n). Analytic for
    linear models, kernel machines, multilayer perceptrons and Gaussian naive Bayes,
    alone, behind scaling, selection or projection of columns, and inside searches,
    votes and bagging. Other models are differentiated by central differences with a
    step of 1e-5 standard deviations, which cost 2 n_samples predictions per feature.
    Where the response is rounded more coarsely than double precision, or noisy, the
    step is wider, up to 0.1 standard deviations. It is chosen from differences over h,
    which show more noise, and over 2h, which show more curvature, at 20 rows. Each step
    tried costs 80 predictions. An `ImportanceWarning` says where no step is good.

    Directions are those of the mean response at all values. A model that is not read
    predicts it at ten values in at most 100 rows.

    The standard error is that of a product of two means over the same rows: each
    row counts through its squared derivative and its squared distance from the mean.

    References
    ----------
    .. [1] A. Zien, N. Krämer, S. Sonnenburg and G. Rätsch, "The Feature Importance
       Ranking Measure", eq. 3.

    Examples
    --------
    The derivative of x0 squared is 2 x0, its mean square here 4 (1 + 1 + 4) / 4 = 6,
    and the variance of x0 is 5 / 4:

    >>> import numpy as np
    >>> from skvarimp import DerivativeImportance
    >>> X = np.array([[1.0, 7.0], [-1.0, 5.0], [2.0, 6.0], [0.0, 4.0]])
    >>> imp = DerivativeImportance().fit(lambda X: X[:, 0] ** 2, X)
    >>> imp.importances_.round(6)  # sqrt(6 * 5 / 4)
    array([2.738613, 0.      ])
    """

    _has_directions = True

    features: Features = None
    response_method: ResponseMethod = "auto"
    keep_rows: bool = False

    def _plan(self, problem, features):
        try:
            differentiable(problem.model, problem.table)
            self.method_ = "analytic"
        except PiecewiseConstant as reason:
            raise ValueError(
                f"DerivativeImportance finds no derivative: {reason}. {WAY_OUT}"
            ) from None
        except NoGradient as declined:
            self.method_ = f"central differences ({declined})"
        for feature in features:
            if len(feature.columns) > 1:
                raise TypeError(
                    f"{feature.name!r} is a group of columns, which has no one "
                    "derivative. Use SensitivityImportance, which moves a group "
                    "together."
                )
        self._leave_out(
            [f.name for f in features if problem.table.has_levels(*f.columns)],
            features,
            "predictions have no derivative by categories and dates",
            "Leave them out of `features`, or use SensitivityImportance.",
        )
        return Plan(problem, features, estimation=None)

    def _conclude(self, plan, outcomes):
        problem = plan.problem
        at = [e for e, f in enumerate(plan.features) if f.name not in self._undefined]
        features = [plan.features[e] for e in at]
        columns = [feature.columns[0] for feature in features]
        moments, n_done = _Moments(problem, columns, self.keep_rows), len(columns)
        with Progress([self], n_done) as progress:
            if self.method_ == "analytic":
                model, table = problem.model, problem.table
                for rows, block in gradient_blocks(model, table, columns=columns):
                    moments.add(rows, slice(None), block)
                progress.step(n_done)
            else:
                n_done = self._by_differences(problem, features, moments, progress)
        outcome = Outcome(np.full((len(plan.features), len(problem.base)), np.nan))
        outcome.store(at, moments.outcome(n_done))
        self._add_directions(plan, outcome)
        self._store_outcome(plan, outcome)

    def _by_differences(self, problem, features, moments, progress):
        """Feature by feature, for callbacks that may stop; says how many."""
        model, table, columns = problem.model, problem.table, moments.columns
        steps, gaps = central_steps(model, table, columns)
        for e, j in enumerate(columns):
            for rows, block in central_blocks(model, table, [j], steps):
                moments.add(rows, slice(e, e + 1), block)
            if not moments.first[:-2, e].any() and _jumps(problem, features[e]):
                raise ValueError(
                    f"The derivative by {features[e].name!r} is 0 at every row of X, "
                    "but the prediction changes between its values: it is piecewise "
                    f"constant. {WAY_OUT}"
                )
            if gaps[j] > DOUBTFUL:
                warn(
                    f"The derivative by {features[e].name!r} is uncertain: central "
                    f"differences over h and 2h differ by {gaps[j]:.0%} at best, since "
                    "the prediction is rounded, noisy, or jumps. Compute it in double "
                    f"precision. {WAY_OUT}",
                    ImportanceWarning,
                )
            if progress.step():
                break
        return e + 1

    def _quantity(self):
        return "root mean square slope, standardised"

    def _in_words(self):
        text = f"the root mean square slope of the {self._prediction}"
        text += " times the standard deviation of a feature"
        return self._says(text, unit=self._unit)


def _jumps(problem, feature):
    """Whether the response of some rows differs between observed values."""
    table = problem.table
    rows = spread_over(table.n_samples, PROBE_ROWS)
    move = make_move(table, problem.weights, feature, PROBE_VALUES)
    black_box = BlackBoxResponse(problem.model, len(problem.base))
    ice = black_box.curves(problem.rows.block(rows), move)
    return bool(np.any(np.ptp(ice, axis=2) > 0))


class _Moments:
    """Weighted moments of z: squared derivatives g^2, one per output, d^2, and 1.

    Here d is the deviation of a row's value from the mean. With A = E g^2 and B = E d^2
    the importance is theta = (A B)^(1/2) (eq. 3), and the influence of a row on it
    theta / 2 (g^2 / A + d^2 / B - 2), over the mean of the outputs. The sum of the
    squares of w_i times that follows from the sums of the products of w_i z_i.
    Derivatives and deviations are in units in which squares neither vanish nor
    overflow.
    """

    def __init__(self, problem, columns, keep_rows):
        self.table, self.weights = problem.table, problem.weights
        self.columns = np.asarray(columns)
        n_numbers, n = len(problem.base) + 2, len(columns)
        self.units = problem.units
        self.first = np.zeros((n_numbers, n))
        self.second = np.zeros((n_numbers, n_numbers, n))
        self.of_groups = None
        if self.units.groups is not None:
            self.of_groups = np.zeros((n_numbers, self.units.n, n))
        self.kept = None
        if keep_rows:
            self.kept = np.full((n_numbers, self.table.n_samples, n), np.nan)
        # apart, so that a constant has variance 0 exactly
        self.origins, self.means = np.zeros((2, n))
        self.size, of_outputs = np.ones((n_numbers, n)), np.ptp(problem.base, axis=1)
        for e, j in enumerate(columns):
            values = self.table.column(j).astype(np.float64)
            self.origins[e] = values[0]
            self.means[e] = self.weights @ (values - values[0])
            reach = unit_of(np.ptp(values))
            self.size[:-1, e] = [*(unit_of(r) / reach for r in of_outputs), reach]

    def add(self, rows, features, derivatives):
        """Add rows of some features; `derivatives` (n_rows, n_features, n_outputs)."""
        values = [self.table.column(j)[rows] for j in self.columns[features]]
        shifted = np.column_stack(values) - self.origins[features]
        shifted -= self.means[features]
        z = np.stack([*np.moveaxis(derivatives, -1, 0), shifted, np.ones_like(shifted)])
        z /= self.size[:, np.newaxis, features]
        z **= 2
        if self.kept is not None:
            self.kept[:, rows, features] = z
        weighted = self.weights[rows, np.newaxis] * z
        self.first[:, features] += weighted.sum(axis=1)
        if self.of_groups is None:
            products = np.einsum("yie,zie->yze", weighted, weighted)
            self.second[..., features] += products
            return
        for sums, of_rows in zip(self.of_groups, weighted):
            add_by_group(sums[:, features], self.units.groups[rows], of_rows)

    def outcome(self, n_done):
        """The `Outcome`; NaN for the features after the first `n_done`."""
        if self.of_groups is not None:
            sums = self.of_groups
            self.second = np.einsum("yge,zge->yze", sums, sums, optimize=True)
        theta = np.sqrt(self.first[:-2] * self.first[-2])
        theta[:, n_done:] = np.nan
        theta *= self.size[:-2] * self.size[-2]
        factors = self._factors(theta, range(len(theta)))
        outcome = Outcome(theta.T, self._errors(factors))
        each = [self._errors(self._factors(theta, [o])) for o in range(len(theta))]
        outcome.errors_per_output = np.stack(each, axis=1)
        if self.kept is not None:
            outcome.influences = np.einsum("zie,ze->ei", self.kept, factors)
        return outcome

    def _factors(self, theta, outputs):
        """What the mean influence on some outputs takes of each z, (n_numbers, n)."""
        factors, mean = np.zeros_like(self.first), theta[outputs].mean(axis=0)
        factors[outputs] = theta[outputs] / len(outputs) / 2
        factors[-2] = mean / 2
        factors[:-1] = divided(factors[:-1], self.first[:-1])
        factors[-1] = -mean
        return factors

    def _errors(self, factors):
        squares = np.einsum("ye,yze,ze->e", factors, self.second, factors)
        return self.units.error_of_squares(np.maximum(squares, 0.0))
