"""Table 3 of Huh & Lee: random substitution, Clementine's range, and beta coefficients.

The simulated data of Table 2. Clementine's network has a logistic output node on y
scaled to [0, 1]; scikit-learn's networks have a linear one. Both are fitted here, the
first by least squares with L-BFGS, best of a few starts.

    python benchmarks/reproductions/huh_lee_table3.py --samples 20
"""

import argparse

import numpy as np
from huh_lee import models, simulate
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LinearRegression

from skvarimp import CoefficientImportance, SensitivityImportance

# Huh & Lee, Table 3
PUBLISHED = {
    "network, pairs": (0.71, 0.53, 0.36, 0.18),
    "network, range": (0.59, 0.47, 0.36, 0.17),
    "linear, pairs": (0.72, 0.54, 0.37, 0.19),
    "linear, beta": (0.72, 0.54, 0.37, 0.18),
}


class LogisticNetwork:
    """Two logistic hidden units and a logistic output node, on y scaled to [0, 1]."""

    def __init__(self, X, y, seed, n_starts=3):
        self.low, self.width = y.min(), np.ptp(y)
        self.shape = (X.shape[1] + 1, 2)
        scaled = (y - self.low) / self.width
        random = np.random.default_rng(seed)
        n_weights = self.shape[0] * 2 + 3
        fits = [
            minimize(
                self.loss,
                0.5 * random.standard_normal(n_weights),
                args=(X, scaled),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 5000, "ftol": 1e-13},
            )
            for _ in range(n_starts)
        ]
        self.weights = min(fits, key=lambda fit: fit.fun).x

    def forward(self, weights, X):
        """Hidden units (n, 2), output in (0, 1) and the output weights (3,)."""
        into, out = weights[:-3].reshape(self.shape), weights[-3:]
        hidden = expit(X @ into[1:] + into[0])
        return hidden, expit(hidden @ out[1:] + out[0]), out

    def loss(self, weights, X, y):
        """Mean squared error and its gradient."""
        hidden, output, out = self.forward(weights, X)
        error = output - y
        at_output = 2 * error * output * (1 - output) / len(y)
        at_hidden = np.outer(at_output, out[1:]) * hidden * (1 - hidden)
        gradient = np.concatenate(
            [
                np.vstack([at_hidden.sum(axis=0), X.T @ at_hidden]).ravel(),
                [at_output.sum()],
                hidden.T @ at_output,
            ]
        )
        return np.mean(error**2), gradient

    def predict(self, X):
        """Predictions in the unit of y."""
        return self.low + self.width * self.forward(self.weights, X)[1]


def columns_of_table(seed):
    """{column: importances (4,)} of one simulated sample."""
    X, y = simulate(seed)
    pairs = SensitivityImportance(estimation="exact")
    spread = SensitivityImportance(contrast="range")
    beta = CoefficientImportance(statistic="standardized")
    linear = LinearRegression().fit(X, y)
    network = models(seed)["network"].fit(X, y)
    logistic = LogisticNetwork(X, y, seed)
    fits = {
        ("network, pairs", "linear output"): (pairs, network),
        ("network, pairs", "logistic output"): (pairs, logistic),
        ("network, range", "linear output"): (spread, network),
        ("network, range", "logistic output"): (spread, logistic),
        ("linear, pairs", ""): (pairs, linear),
        ("linear, beta", ""): (beta, linear),
    }
    return {
        label: measure.fit(model, X, y).importances_
        for label, (measure, model) in fits.items()
    }


OUTLIERS = {
    "clean": {},
    "X4 of one record is 20": {"x": 20.0},
    "y of one is 60": {"y": 60.0},
}


def with_outlier(seed):
    """{(measure, outlier): importances (4,)}, of the regression of the clean rows.

    One record of the 1000 gets an outlying X4 or y; the fitted model stays, so that
    what changes is the measure.
    """
    X, y = simulate(seed)
    model = LinearRegression().fit(X, y)
    result = {}
    for outlier, value in OUTLIERS.items():
        X_other, y_other = X.copy(), y.copy()
        X_other[0, 3] = value.get("x", X[0, 3])
        y_other[0] = value.get("y", y[0])
        for contrast in ("pairs", "range"):
            imp = SensitivityImportance(contrast=contrast, estimation="exact")
            imp.fit(model, X_other, y_other)
            result[contrast, outlier] = imp.importances_
    return result


def print_outliers(n_samples):
    """Means over the samples."""
    samples = [with_outlier(s) for s in range(n_samples)]
    print(
        f"\n{'one outlying record':40}" + "".join(f"{f'X{j + 1}':>8}" for j in range(4))
    )
    for label in sorted(samples[0], key=lambda label: label[0]):
        mean = np.mean([sample[label] for sample in samples], axis=0)
        print(f"{label[0]:10}{label[1]:30}" + "".join(f"{v:8.3f}" for v in mean))


def main():
    """Print the table, published figures first, and what one record can do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    n_samples = parser.parse_args().samples
    samples = [columns_of_table(s) for s in range(n_samples)]
    print(f"{'':33}" + "".join(f"{f'X{j + 1}':>14}" for j in range(4)))
    for column, published in PUBLISHED.items():
        print(f"{column:17}{'published':16}", end="")
        print("".join(f"{v:14.2f}" for v in published))
        for label in samples[0]:
            if label[0] == column:
                rows = np.array([sample[label] for sample in samples])
                mean, spread = rows.mean(axis=0), rows.std(axis=0, ddof=1)
                print(f"{'':17}{label[1] or 'here':16}", end="")
                print("".join(f"{m:7.3f} ±{s:5.3f}" for m, s in zip(mean, spread)))
    print_outliers(n_samples)


if __name__ == "__main__":
    main()
