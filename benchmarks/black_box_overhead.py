"""How much of the black box's time is the model's own: share, rows per call, memory.

    python benchmarks/black_box_overhead.py

Ten sampled repeats of a random forest of 100 trees on 5000 x 20; then memory on
100 000 x 20. Run with OMP_NUM_THREADS=1.
"""

import tracemalloc

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from timer import once

from skvarimp import SensitivityImportance


class Timed:
    """Counts the seconds and rows spent inside predict."""

    def __init__(self, predict):
        self.predict_, self.seconds, self.rows = predict, 0.0, []

    def predict(self, X):
        """Predict and count."""
        result, spent = once(self.predict_, X)
        self.seconds += spent.wall
        self.rows.append(len(X))
        return result


def share(model, X, y):
    """(share of time inside predict, total seconds, median rows per call)."""
    timed = Timed(model.predict)
    measure = SensitivityImportance(estimation="sampled", random_state=0)
    _, total = once(measure.fit, timed, X, y)
    return timed.seconds / total.wall, total.wall, np.median(timed.rows[1:])


def extra_memory(X, y):
    """Peak of memory allocated by Python and NumPy beyond X and y, in MB."""
    tracemalloc.start()
    SensitivityImportance(estimation="sampled", random_state=0).fit(first_column, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def first_column(X):
    """A model that costs nothing and allocates nothing."""
    return X[:, 0]


def main():
    """Print the figures."""
    random = np.random.default_rng(0)
    X = random.standard_normal((5000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + random.standard_normal(5000)
    forest = RandomForestRegressor(100, random_state=0).fit(X, y)
    inside, total, rows = share(forest, X, y)
    print(f"forest 100 trees, 5000 x 20, ten sampled repeats: {total:.1f} s, ", end="")
    print(f"{inside:.1%} inside predict, {rows:.0f} rows per call (median)")
    X = random.standard_normal((100_000, 20))
    print(f"100 000 x 20: {extra_memory(X, X[:, 0]):.0f} MB extra at the peak")


if __name__ == "__main__":
    main()
