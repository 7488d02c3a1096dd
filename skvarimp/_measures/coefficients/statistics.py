"""t and Wald statistics of coefficients on the training data.

t is an estimated coefficient over its standard error. Standard errors come from the
Fisher information of the model's likelihood at the estimator's own coefficients, times
the dispersion where the family has one. For least squares that is the textbook t.

Everything is computed on centred and scaled columns by orthogonal factors, never from
X'X, so that ill-conditioned designs keep their digits; block by block of rows, so that
memory stays bounded for sparse X too.

There is no maximum of the likelihood at finite coefficients where some combination of
columns separates the classes (wholly or in part), or the zeros of a count from the
rest: the likelihood keeps growing along it, and a solver stops where it happens to.

statsmodels has the same statistics, and tests compare them. Its models fit y again, on
a dense X of full rank. Here the model that was fitted is read, with sparse X, columns
that are combinations of others, multinomial models, and classes that may be separated.

Reference: Bach (2010), Self-concordant analysis for logistic regression, Electronic
Journal of Statistics 4, 384-414.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, stats
from scipy.special import expit, softmax
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)

from skvarimp._data.sparse_table import row_blocks
from skvarimp._data.statistics import divided
from skvarimp._models.labels import class_lists, positions
from skvarimp._running.guards import warn

# Distance of the coefficients from the likelihood's maximum, in standard errors, from
# which on statistics are warned about or refused.
_WARN_DISTANCE, _LARGEST_DISTANCE = 0.1, 1.0

# Scaled columns nearer than this to a combination of the others are aliased.
_RANK_TOLERANCE = 1e-10

# Shares of a unit direction that no row sees below this are rounding.
_UNSEEN = 1e-8

FAMILIES = {
    LinearRegression: (0, "identity"),
    PoissonRegressor: (1, "log"),
    GammaRegressor: (2, "log"),
}


def family_of(estimator):
    """Power and link of an unpenalised regressor's family, None for other estimators.

    The family is one of exponential dispersion with variance mu ** power. Exact types:
    a subclass may estimate otherwise.
    """
    if type(estimator) is TweedieRegressor:
        power, link = estimator.power, estimator.link
        usual = "identity" if power <= 0 else "log"
        return power, usual if link == "auto" else link
    return FAMILIES.get(type(estimator))


class NoStatistic(ValueError):
    """Data or coefficients on which t and Wald statistics would say nothing."""


class CoefficientEstimates(NamedTuple):
    """What the training data say of the coefficients of an unpenalised model.

    Attributes
    ----------
    statistics : ndarray of shape (n_features, n_outputs)
        Coefficients, those of least norm among all that predict the same, over their
        standard errors; 0 where both are 0 (constant columns).
    standard_errors : ndarray of shape (n_features, n_outputs)
    dispersion : ndarray of shape (n_outputs,)
        Residual variance of least squares; 1 for families without dispersion.
    degrees_of_freedom : int
        Rows of positive weight minus rank.
    wald : ndarray of shape (n_inputs, n_outputs)
        Wald's statistic of all columns that come from one input: t squared for one.
    wald_freedom : ndarray of shape (n_inputs,)
        How many combinations of these columns' coefficients the data determine.
    pvalues : ndarray of shape (n_inputs, n_outputs)
        Of `wald`, by the chi square distribution, or with a dispersion by that of F;
        NaN where no combination is determined.
    doubt : str or None
        Why the coefficients may not be those of greatest likelihood.
    """

    statistics: NDArray
    standard_errors: NDArray
    dispersion: NDArray
    degrees_of_freedom: int
    wald: NDArray
    wald_freedom: NDArray
    pvalues: NDArray
    doubt: str | None


def check_has_statistic(estimator):
    """Raise an error that says why an estimator's coefficients have no statistic."""
    name, is_logistic = type(estimator).__name__, type(estimator) is LogisticRegression
    if not is_logistic and family_of(estimator) is None:
        raise TypeError(
            f"{name} has no t or Wald statistics: these need estimates of least "
            "squares or maximum likelihood that no penalty or margin shrinks. Use "
            "statistic='standardized', or fit LinearRegression, "
            "LogisticRegression(C=np.inf), or PoissonRegressor, GammaRegressor or "
            "TweedieRegressor with alpha=0."
        )
    way_out = "Use statistic='standardized', or refit without it."
    if getattr(estimator, "positive", False):
        raise ValueError(
            f"{name}(positive=True) has no t statistics: at the bound 0 a coefficient "
            f"has no normal distribution. {way_out}"
        )
    if is_logistic:
        penalised = getattr(estimator, "penalty", "deprecated") is not None
        penalised = penalised and np.isfinite(estimator.C)
        parameter, without = "C", "C=np.inf"
    else:
        penalised = getattr(estimator, "alpha", 0) > 0
        parameter, without = "alpha", "alpha=0"
    if penalised:
        raise ValueError(
            f"{name}({parameter}={getattr(estimator, parameter):g}) has no Wald "
            "statistics: its penalty shrinks the coefficients, so that they are biased "
            "and the information does not give their errors. Use "
            f"statistic='standardized', or refit with {without}."
        )
    if getattr(estimator, "class_weight", None) is not None:
        raise ValueError(
            f"{name} with `class_weight` has no Wald statistics: it counts rows more "
            f"or less often than they were observed. {way_out}"
        )


def coefficient_statistics(estimator, coefficients, X, y, weights, names, inputs):
    """Statistics of an unpenalised model on its training data.

    Parameters
    ----------
    estimator : object
        One that `check_has_statistic` lets pass.
    coefficients : ndarray of shape (n_features, n_outputs)
    X : {ndarray, sparse} of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        All positive.
    names : list of str
        Names of the columns.
    inputs : list of ndarray of int
        The columns that come from each input.

    Returns
    -------
    CoefficientEstimates

    Raises
    ------
    NoStatistic
        If the data leave no degree of freedom or no residual, or the coefficients are
        not those of greatest likelihood.
    """
    design = Design(X, estimator.fit_intercept)
    if design.n_samples <= design.n_parameters:
        raise NoStatistic(
            f"statistic='t' needs more rows than coefficients, got {design.n_samples} "
            f"rows and {design.n_parameters} coefficients: no degree of freedom is "
            "left for their errors. Use statistic='standardized'."
        )
    predictor = X @ coefficients + np.ravel(estimator.intercept_)
    freedom, dispersion = design.n_samples - design.rank, np.ones(predictor.shape[1])
    may_lack_maximum, has_dispersion = True, False
    if type(estimator) is LogisticRegression:
        code = positions(y, class_lists(estimator.classes_))[:, 0]
        roots, residuals = _logistic_terms(predictor, code, weights)
        if len(dispersion) > 1:
            coefficients = coefficients - coefficients.mean(axis=1, keepdims=True)
    else:
        power, link = family_of(estimator)
        y = y.reshape(len(y), -1)
        roots, residuals, chi_square = _family_terms(power, link, predictor, y, weights)
        may_lack_maximum = link == "log" and power < 2
        has_dispersion = power != 1  # the variance of Poisson is its mean
        if has_dispersion:
            dispersion = chi_square / freedom  # Pearson's estimate
    half = design.half_inverse(roots)
    doubt = _check_maximum(design, half, residuals, dispersion, may_lack_maximum)
    aliased = [
        np.intersect1d(columns, design.aliased)
        for columns in inputs
        if len(columns) == 1 or design.overlaps(columns)
    ]
    if sum(map(len, aliased)):
        warn(
            f"Columns {[names[j] for j in np.sort(np.concatenate(aliased))]} are "
            "constant or linear "
            "combinations of each other: the data do not determine their coefficients, "
            "and the pseudo-inverse shares what they have in common among them."
        )
    coefficients = design.shortest(coefficients)
    errors = np.sqrt(design.slope_variances(half) * dispersion)
    statistics = divided(coefficients, errors)
    wald, rank = np.empty((len(inputs), len(dispersion))), np.ones(len(inputs), int)
    for i, columns in enumerate(inputs):
        if len(columns) == 1:
            wald[i], rank[i] = statistics[columns[0]] ** 2, errors[columns].any()
        else:
            square, rank[i] = design.joint_statistic(half, coefficients, columns)
            wald[i] = square / dispersion
    r = rank[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):  # no distribution has r = 0
        if has_dispersion:
            pvalues = stats.f.sf(wald / r, r, freedom)
        else:
            pvalues = stats.chi2.sf(wald, r)
    return CoefficientEstimates(
        statistics, errors, dispersion, freedom, wald, rank, pvalues, doubt
    )


def _family_terms(power, link, predictor, y, weights):
    """Exponential dispersion families; weights divide the variance of their row.

    Returns
    -------
    roots, residuals
        Of the information, see `Design.triangle`; and the score's, by the predictor.
    chi_square : ndarray of shape (n_outputs,)
    """
    with np.errstate(over="ignore"):
        mean = np.exp(predictor) if link == "log" else predictor
    if power != 0 and not np.all((mean > 0) & np.isfinite(mean)):
        raise NoStatistic(
            "The model's means are not all positive on X, which variance "
            f"mean**{power:g} needs. Pass the training data."
        )
    by_predictor = mean if link == "log" else np.ones_like(mean)  # dmu / deta
    variance, weights = np.power(mean, power), weights[:, np.newaxis]
    information = weights * by_predictor**2 / variance
    residuals = weights * (y - mean) * by_predictor / variance
    chi_square = np.sum(weights * (y - mean) ** 2 / variance, axis=0)
    rounding = (10 * np.finfo(np.float64).eps) ** 2 * len(y)
    rounding = rounding * np.sum(weights * y**2 / variance, axis=0)
    if power != 1 and np.any(chi_square <= rounding):
        raise NoStatistic(
            "The model fits y without any residual: the standard errors are 0 and t "
            "is not defined. Use statistic='standardized' or 'absolute'."
        )
    return np.sqrt(information[:, :1, np.newaxis]), residuals, chi_square


def _logistic_terms(predictor, code, weights):
    """Binary (one linear predictor) and multinomial (one per class) models.

    Roots and residuals as those of `_family_terms`.
    """
    weights = weights[:, np.newaxis]
    if predictor.shape[1] == 1:
        chance = expit(predictor)
        observed = code[:, np.newaxis] == 1
        roots = np.sqrt(weights * chance * expit(-predictor))[:, :, np.newaxis]
    else:
        chance = softmax(predictor, axis=1)
        observed = code[:, np.newaxis] == np.arange(chance.shape[1])
        # M_i M_i' = w_i (diag(p_i) - p_i p_i') = w_i (I - p 1') diag(p) (I - 1 p'), as
        # p sums to 1
        centred = np.eye(chance.shape[1]) - chance[:, :, np.newaxis]
        roots = centred * np.sqrt(weights * chance)[:, np.newaxis, :]
    return roots, weights * (observed - chance)


def _check_maximum(design, half, residuals, dispersion, may_lack_maximum):
    """Whether coefficients may not maximise the likelihood; those far off are refused.

    With score g and information I, sqrt(g' I^-1 g / dispersion) bounds the distance,
    in standard errors, of every coefficient from the maximum, to first order.

    Where the likelihood may lack one, the derivatives tell. Along any direction h of
    unit information the third derivative of minus the log likelihood (logistic, or of a
    log link with power below 2) is at most R times the second, R the largest spread of
    a row's linear predictors along h. So the slope, at least -lambda at the start
    (lambda^2 = g' I^-1 g), gains 1 / R or more on the way: with lambda R < 1 no
    direction descends for ever (Bach, proposition 2). 1/2 leaves room for rounding.

    Returns
    -------
    str or None
        Why the coefficients may not be those of greatest likelihood.
    """
    distance = np.inf
    if half is not None:
        rank, n_classes, n_parameters = half.shape
        score = sum(z.T @ residuals[rows] for rows, z in design.blocks())  # (j, k)
        # one vector of all classes, or one of each output
        score = score.T.reshape(-1, n_classes * n_parameters)
        along = half.reshape(rank, n_classes * n_parameters) @ score.T
        decrement = np.sum(along**2, axis=0)
        distance = np.sqrt(np.max(decrement / dispersion))
    if not distance <= _WARN_DISTANCE:
        message = (
            "The coefficients are not those of greatest likelihood on X and y: they "
            f"are up to {distance:.2g} standard errors away. Pass the data (and "
            "weights) the estimator was fitted on. If these are, its solver stopped "
            "early or dropped directions (standardise the columns, or refit with a "
            "smaller `tol` and a larger `max_iter`), or the columns separate the "
            "classes of y (use statistic='standardized', or a penalised model)."
        )
        if not distance <= _LARGEST_DISTANCE:
            raise NoStatistic(message)
        return message
    if may_lack_maximum and decrement[0] * _spread(design, half) > 0.25:
        return (
            "The solver stopped where the likelihood may have no maximum. Either it "
            "needs a smaller `tol` or a larger `max_iter`, or a combination of columns "
            "separates the classes of y, or the rows with y = 0, at least in part. "
            "Wald statistics then mean nothing: use statistic='standardized', or a "
            "penalised model."
        )
    return None


def _spread(design, half):
    """R^2: largest variance of a row's linear predictor, or of a difference of two."""
    n_predictors = half.shape[1]
    contrasts = [half[:, 0]]
    if n_predictors > 1:
        pairs = itertools.combinations(range(n_predictors), 2)
        contrasts = [half[:, k] - half[:, m] for k, m in pairs]
    return max(
        np.max(np.sum((z @ contrast.T) ** 2, axis=1))
        for _, z in design.blocks()
        for contrast in contrasts
    )


def _n_directions(null):
    """The dimension of what is left of orthonormal rows in some of their columns."""
    return int(np.sum(np.linalg.svd(null, compute_uv=False) > _UNSEEN))


class Design:
    """The design of a linear predictor a + X b, in the coordinates a~ + Z b~.

    Parameters
    ----------
    X : {ndarray, sparse} of shape (n_samples, n_features)
    fit_intercept : bool

    Attributes
    ----------
    n_parameters : int
        Columns of Z: the ones of the intercept, if there is one, and n_features.
    rank : int
        Rank of Z.
    aliased : ndarray of int
        Columns that are a linear combination of others (and of the intercept), whose
        coefficients the data do not determine.
    """

    def __init__(self, X, fit_intercept):
        self.X = X.tocsr() if sparse.issparse(X) else X
        self.n_samples, self.n_features = X.shape
        self.fit_intercept = fit_intercept
        self.n_parameters = self.n_features + fit_intercept
        self._centre_and_scale()
        self._find_rank()

    def _centre_and_scale(self):
        """Set the mean and 1 / scale of each column; 0 for a constant's scale."""
        mean = sum(x.sum(axis=0) for _, x in row_blocks(self.X)) / self.n_samples
        self._mean = mean if self.fit_intercept else np.zeros(self.n_features)
        square = sum(
            np.sum((x - self._mean) ** 2, axis=0) for _, x in row_blocks(self.X)
        )
        rounding = 16 * np.finfo(np.float64).eps * np.abs(self._mean)
        self._per_scale = divided(1.0, np.sqrt(square / self.n_samples), rounding)

    def _find_rank(self):
        """Set the rank and the directions of b that no row of X sees."""
        first = int(self.fit_intercept)
        varying = np.flatnonzero(self._per_scale)
        used = np.r_[:first, varying + first]
        triangle = self.triangle(np.ones((self.n_samples, 1, 1)))[:, used]
        _, singular, directions = np.linalg.svd(triangle)
        self.rank = int(np.sum(singular > _RANK_TOLERANCE * singular.max(initial=0.0)))
        null = directions[self.rank :, first:]  # (n_null, n_varying), in Z's units
        self._null_of_z = np.zeros((len(null), self.n_features))
        self._null_of_z[:, varying] = null
        constant = np.flatnonzero(self._per_scale == 0)
        seen_twice = varying[np.linalg.norm(null, axis=0) > _UNSEEN]
        self.aliased = np.union1d(constant, seen_twice)
        basis = np.zeros((self.n_features, len(null) + len(constant)))
        basis[varying, : len(null)] = (null * self._per_scale[varying]).T
        basis[constant, len(null) + np.arange(len(constant))] = 1.0
        self._null = np.linalg.qr(basis)[0]

    def blocks(self, n_copies=1):
        """Pairs of a slice of rows and the rows of Z, (n, n_parameters)."""
        elements = n_copies**2 * self.n_parameters
        for rows, x in row_blocks(self.X, elements):
            z = (x - self._mean) * self._per_scale
            if self.fit_intercept:
                z = np.column_stack([np.ones(len(z)), z])
            yield rows, z

    def triangle(self, roots):
        """R of the orthogonal factorisation of the stacked rows root_i' (x) z_i.

        R'R = sum_i (M_i M_i') (x) (z_i z_i'): the information, without forming it.

        Parameters
        ----------
        roots : ndarray of shape (n_samples, n_classes, n_classes)
            Roots M_i of each row's information on its n_classes linear predictors.

        Returns
        -------
        ndarray of shape (., n_classes * n_parameters)
        """
        n_classes = roots.shape[1]
        width = n_classes * self.n_parameters
        triangle = np.empty((0, width))
        for rows, z in self.blocks(n_classes):
            stacked = np.einsum("ilk,ij->iklj", roots[rows], z).reshape(-1, width)
            triangle = np.linalg.qr(np.vstack([triangle, stacked]), mode="r")
        return triangle

    def half_inverse(self, roots):
        """H of the information's pseudo-inverse, the sum over r of H_r H_r'.

        Parameters
        ----------
        roots : ndarray of shape (n_samples, n_classes, n_classes)

        Returns
        -------
        ndarray of shape (rank, n_classes, n_parameters) or None
            None where the information is singular.
        """
        _, n_classes, _ = roots.shape
        # The linear predictors of all classes may move together: nothing changes.
        rank = self.rank * max(n_classes - 1, 1)
        if rank == 0:
            return np.zeros((0, n_classes, self.n_parameters))
        _, singular, directions = np.linalg.svd(self.triangle(roots))
        if not singular[rank - 1] > _RANK_TOLERANCE * singular[0]:
            return None
        half = directions[:rank] / singular[:rank, np.newaxis]
        return half.reshape(rank, n_classes, self.n_parameters)

    def shortest(self, coefficients):
        """The coefficients of least norm that predict the same, (n_features, .)."""
        return coefficients - self._null @ (self._null.T @ coefficients)

    def _slopes(self, half):
        """H of the slopes in the units of Z, which sums to 0 over several classes."""
        return half[:, :, int(self.fit_intercept) :]

    def slope_variances(self, half):
        """Variances of the shortest coefficients in X's units, (n_features, n_classes).

        Parameters
        ----------
        half : ndarray of shape (rank, n_classes, n_parameters)
            From `half_inverse`.
        """
        slopes = self._slopes(half) * self._per_scale
        slopes = slopes - slopes @ self._null @ self._null.T
        return np.einsum("rkj,rkj->jk", slopes, slopes)

    def overlaps(self, columns):
        """Whether several columns say together what others say, too.

        Directions that no row sees go through some of these columns and some others;
        those within the columns, as of all levels of a category, are no matter.
        """
        within = np.isin(np.arange(self.n_features), columns)
        n_through = _n_directions(self._null_of_z[:, within])
        n_within = len(self._null_of_z) - _n_directions(self._null_of_z[:, ~within])
        return n_through > n_within

    def joint_statistic(self, half, coefficients, columns):
        """Wald's statistic of several columns at once, for a dispersion of 1.

        Of the combinations of the columns' coefficients those count that the data
        determine: those at right angles to all directions that no row sees. The
        statistic is that of leaving the columns out, to second order of the
        likelihood, whichever column of a category is left out to identify the others.

        Parameters
        ----------
        half : ndarray of shape (rank, n_classes, n_parameters)
            From `half_inverse`.
        coefficients : ndarray of shape (n_features, n_outputs)
            In X's units.
        columns : ndarray of int

        Returns
        -------
        statistic : ndarray of shape (n_outputs,)
        rank : int
            Number of independent combinations.
        """
        columns = columns[self._per_scale[columns] > 0]
        unseen = self._null_of_z[:, columns].T  # (column, direction)
        left, singular, _ = np.linalg.svd(unseen)
        determined = left[:, np.sum(singular > _UNSEEN) :]
        rank = determined.shape[1]
        b = determined.T @ (
            coefficients[columns] / self._per_scale[columns, np.newaxis]
        )
        statistic = np.empty(coefficients.shape[1])
        slopes = self._slopes(half)[:, :, columns] @ determined  # (r, k, rank)
        for output in range(len(statistic)):
            # the covariance is R'R, of one information for all outputs or of each
            triangle = np.linalg.qr(slopes[:, output % slopes.shape[1]], mode="r")
            root = linalg.solve_triangular(triangle, b[:, output], trans="T")
            statistic[output] = root @ root
        return statistic, rank
