"""Importances whose values are known in closed form, beside ours.

``python benchmarks/published/closed_forms.py`` draws one sample for each and prints
the closed form, our number, its error, and their difference in errors.

- Permutation importance of a linear model with the squared error: 2 beta^2 var x.
- Conditional permutation importance of a linear model of Gaussian inputs:
  2 beta^2 var x (1 - R^2), R^2 of the input given the others.
- Shapley effects of a linear model of two correlated Gaussian inputs (Owen & Prieur,
  SIAM/ASA Journal on Uncertainty Quantification 5, 2017): with r the correlation and
  b the slopes times the standard deviations, the first is
  (b1^2 (1 - r^2 / 2) + r b1 b2 + b2^2 r^2 / 2) / var f. Ours: half the first-order
  index, by FIRM, plus half the share that is left given the other input, which is half
  of the conditional permutation importance.
- Shapley effects of the Ishigami function, a = 7, b = 0.1: 0.4357, 0.4424, 0.1218.
- First-order indices of a linear model of correlated Gaussian inputs:
  cov(x_j, f)^2 / (var x_j var f). Ours: the square of FIRM divided by var f.
"""

import numpy as np
from sklearn.linear_model import LinearRegression

from skvarimp import FIRMImportance, PermutationImportance, ShapleyImportance

SLOPES = np.array([1.0, -0.5, 0.25, 2.0])
CORRELATION = 0.6  # of the first two of the columns
ISHIGAMI = np.array([0.4357, 0.4424, 0.1218])


def correlated(random, n, p=4):
    """Normal columns of variance 1, of which the first two are correlated."""
    X = random.normal(size=(n, p))
    X[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
    return X


def covariance(p=4):
    """Of the columns."""
    found = np.eye(p)
    found[0, 1] = found[1, 0] = CORRELATION
    return found


def linear_model(slopes):
    """A linear model with these slopes, which nobody estimated."""
    p = len(slopes)
    model = LinearRegression().fit(np.eye(p), np.zeros(p))
    model.coef_, model.intercept_ = np.array(slopes), 0.0
    return model


def errors(measure):
    """Standard errors, those of drawing included where anything was drawn."""
    drawn = getattr(measure, "monte_carlo_errors_", None)
    return np.hypot(measure.standard_errors_, 0.0 if drawn is None else drawn)


def permutation(random, n):
    """(closed form, ours, its error) of the linear model."""
    X = correlated(random, n)
    y = X @ SLOPES + random.normal(size=n)
    found = PermutationImportance().fit(linear_model(SLOPES), X, y)
    return 2 * SLOPES**2, found.importances_, errors(found)


def conditional(random, n):
    """The same given the other columns."""
    X = correlated(random, n)
    y = X @ SLOPES + random.normal(size=n)
    given = {"conditional": LinearRegression(), "random_state": 0}
    found = PermutationImportance(**given).fit(linear_model(SLOPES), X, y)
    left = 1 / np.diag(np.linalg.inv(covariance()))  # var x (1 - R^2)
    return 2 * SLOPES**2 * left, found.importances_, errors(found)


def first_order(random, n):
    """First-order indices of correlated columns."""
    X = correlated(random, n)
    found = FIRMImportance(method="linear").fit(linear_model(SLOPES), X)
    variance = SLOPES @ covariance() @ SLOPES
    ours = found.importances_**2 / variance
    error = 2 * found.importances_ * found.standard_errors_ / variance
    return (covariance() @ SLOPES) ** 2 / variance, ours, error


def owen_prieur(random, n):
    """Shapley effects of two correlated columns."""
    b, r = SLOPES[:2], CORRELATION
    X = correlated(random, n, 2)
    model = linear_model(b)
    own = FIRMImportance(method="linear").fit(model, X)
    given = {"conditional": LinearRegression(), "random_state": 0}
    rest = PermutationImportance(**given).fit(model, X, X @ b)
    variance = b @ covariance(2) @ b
    ours = (own.importances_**2 + rest.importances_ / 2) / 2 / variance
    # at most: the sum of the errors of both halves
    error = own.importances_ * own.standard_errors_ + errors(rest) / 4
    squares = b**2 * (1 - r**2 / 2) + r * b[0] * b[1] + b[::-1] ** 2 * r**2 / 2
    return squares / variance, ours, error / variance


def ishigami(X):
    """Of columns uniform on (-pi, pi)."""
    first = np.sin(X[:, 0])
    return first + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * first


def ishigami_effects(random, n):
    """Shapley effects of Ishigami's function."""
    X = random.uniform(-np.pi, np.pi, (n, 3))
    found = ShapleyImportance(random_state=0).fit(ishigami, X)
    return ISHIGAMI, found.importances_, errors(found)


CASES = {
    "permutation, linear": (permutation, 20_000),
    "conditional, Gaussian": (conditional, 20_000),
    "first order, correlated": (first_order, 20_000),
    "Shapley effects, Owen & Prieur": (owen_prieur, 20_000),
    "Shapley effects, Ishigami": (ishigami_effects, 20_000),
}


def main():
    """Print one line for each number."""
    print(f"{'':32s}closed form      ours     error  difference in errors")
    for name, (case, n) in CASES.items():
        for j, numbers in enumerate(zip(*case(np.random.default_rng(0), n))):
            expected, ours, error = numbers
            z = (ours - expected) / error
            label = name if j == 0 else ""
            cells = f"{expected:11.4f}{ours:10.4f}{error:10.4f}{z:8.2f}"
            print(f"{label:32s}{cells}")


if __name__ == "__main__":
    main()
