"""Kinds of intervals for one estimate, where weights are even and where they are not.

The estimates are a mean difference of pairs, which cannot be negative, and a
permutation importance of squared errors, which can.
"""

import numpy as np
from scipy.stats import t as student

from skvarimp._data.statistics import Units
from skvarimp._results.intervals import Sampling, interval_ends

SIZES = (8, 20, 64, 400)
RESAMPLES = 400

COLUMNS = {
    "normal": lambda n, random: random.normal(size=n),
    "lognormal": lambda n, random: np.exp(random.normal(size=n)),
    "1 in a fifth": lambda n, random: (random.random(n) < 0.2).astype(float),
}
WEIGHTS = {
    "even": lambda n, random: np.ones(n),
    "lognormal": lambda n, random: np.exp(1.5 * random.normal(size=n)),
    "one row a third": lambda n, random: np.where(np.arange(n) == 0, n / 2, 1.0),
}


def pairs(x, weights, random):
    """Mean |x - x'| of all ordered pairs of rows, and the influences of the rows."""
    of_rows = np.abs(x[:, np.newaxis] - x) @ weights
    return weights @ of_rows, 2.0 * (of_rows - weights @ of_rows)


def permutation(x, weights, random):
    """Increase of (y - f)^2 for y = x + noise and f = x, as x takes any row's value."""
    y = x + random.normal(size=len(x))
    as_row = weights @ x**2 - 2 * (weights @ x) * y + y**2 - (y - x) ** 2
    as_donor = x**2 - 2 * x * (weights @ y)
    of_both = as_row + as_donor
    return weights @ as_row, of_both - weights @ of_both


def true_value(kind, x):
    """Of a very large sample."""
    if kind is permutation:
        return 2.0 * x.var()
    n, x = len(x), np.sort(x)
    return 2.0 * np.sum(x * (2 * np.arange(n) - n + 1)) / n**2


def unbounded(estimate, error, skew, freedom):
    """The correction for skewness (Hall 1992) as the formula gives it."""
    quantile = student.ppf(0.975, freedom)
    shifted = np.array([quantile, -quantile]) - skew / 6
    if abs(skew) > 1e-9:
        shifted = 3.0 / skew * (np.cbrt(1.0 + skew * shifted) - 1.0)
    return estimate - error * shifted


def resampled(estimate, influences, weights, random):
    """Percentiles of estimates of resampled rows, in the linear approximation."""
    n = len(weights)
    times = random.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) * weights
    changes = times @ influences / times.sum(axis=1)
    return estimate + np.quantile(changes, [0.025, 0.975])


def intervals(kind, x, weights, random):
    """Name -> lower and upper end; the estimate."""
    estimate, influences = kind(x, weights, random)
    units = Units.of(weights)
    error, skew = units.error_and_skewness(influences)
    lowest = 0.0 if kind is pairs else -np.inf
    sampling = Sampling.of(units, lowest)
    arrays = np.array([estimate]), np.array([error]), np.array([skew]), 0.0
    own = np.ravel(interval_ends(*arrays, sampling, 0.95))
    reach = student.ppf(0.975, sampling.freedom) * sampling.widening * error
    symmetric = np.array([estimate - reach, estimate + reach])
    found = {
        "no bound": unbounded(estimate, error, skew, units.freedom),
        "bounded": own,
        "Student": np.maximum(symmetric, lowest),
        "bootstrap": resampled(estimate, influences, weights, random),
    }
    if kind is pairs and estimate > 0:
        relative = reach / estimate
        root = np.maximum(1.0 + np.array([-relative, relative]) / 2, 0.0) ** 2
        found["root"] = estimate * root
        logarithm = np.clip([-relative, relative], -50, 50)
        found["logarithm"] = estimate * np.exp(logarithm)
    elif kind is pairs:
        found["root"] = found["logarithm"] = own
    return found, estimate


def interval_kinds(samples=400):
    """Coverage and width of kinds of intervals, for even and uneven weights."""
    random = np.random.default_rng(0)
    print("coverage, and median width by the spread of the estimates")
    for kind in (pairs, permutation):
        for name, column in COLUMNS.items():
            true = true_value(kind, column(2_000_000, random))
            for how, weighing in WEIGHTS.items():
                for n in SIZES:
                    ends, estimates = {}, []
                    for _ in range(samples):
                        weights = weighing(n, random)
                        weights = weights / weights.sum()
                        x = column(n, random)
                        found, estimate = intervals(kind, x, weights, random)
                        estimates.append(estimate)
                        for which, bounds in found.items():
                            ends.setdefault(which, []).append(bounds)
                    spread = np.ptp(np.quantile(estimates, [0.025, 0.975]))
                    texts = []
                    for which, bounds in ends.items():
                        lower, upper = np.array(bounds).T
                        inside = np.mean((lower <= true) & (true <= upper))
                        width = np.median(upper - lower) / spread
                        texts.append(f"{which} {inside:.2f} {width:.1f}")
                    print(f"{kind.__name__}, {name}, {how}, {n}: " + "; ".join(texts))


STUDIES = [interval_kinds]
