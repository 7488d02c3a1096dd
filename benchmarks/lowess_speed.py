"""Time `lowess_r2` against one smoother call per column, and say how exact it is.

    python benchmarks/lowess_speed.py [--rows 10000] [--columns 100]

statsmodels' `lowess` (compiled, one column per call) takes part where it is installed:
with `delta` at a hundredth of the column's range, as its manual advises for many rows,
and exactly, on as many columns as `--exact-columns` says.
"""

import argparse
import platform

import numpy as np
from timer import once

import skvarimp
from skvarimp._lowess import lowess_fit
from skvarimp.filters import lowess_r2

FRAC = 0.6667  # 6667 of 10 000 rows, whether a fraction is rounded or cut off


def columns_of_data(n_samples, n_features):
    """Columns, half of them with a heavy tail, and a target with outliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n_samples)
    y[::97] += 8
    X[:, 1::2] = np.exp(2 * X[:, 1::2])
    X[:, 1] = np.exp(2 * X[:, 0])
    return X, y


def statsmodels_fits(X, y, delta):
    """Fitted values of statsmodels' lowess, column by column."""
    from statsmodels.nonparametric.smoothers_lowess import lowess

    widths = delta * np.ptp(X, axis=0)
    return np.column_stack(
        [
            lowess(y, x, frac=FRAC, it=3, delta=width, return_sorted=False)
            for x, width in zip(X.T, widths)
        ]
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--exact-columns", type=int, default=2)
    options = parser.parse_args()
    X, y = columns_of_data(options.rows, options.columns)
    few = X[:, : options.exact_columns]
    n_few = few.shape[1]

    # Equality first: the interpolated curve and score against the exact ones.
    exact, exact_time = once(lambda: lowess_fit(few, y, FRAC, 3, None))
    print(
        f"skvarimp {skvarimp.__version__}, NumPy {np.__version__}, "
        f"{platform.machine()}, {options.rows} rows, frac {FRAC}, 3 iterations"
    )
    print(f"{'':38s} columns   wall s    CPU s   s/column  max error of the curve")

    def row(name, n_columns, spent, error):
        print(
            f"{name:38s} {n_columns:7d} {spent.wall:8.2f} {spent.cpu:8.2f} "
            f"{spent.wall / n_columns:10.4f}"
            f"  {error}"
        )

    row("skvarimp, n_fits=None (exact)", n_few, exact_time, "")
    for n_fits in (50, 100, 200, 400):
        fits, spent = once(lambda n=n_fits: lowess_fit(X, y, FRAC, 3, n))
        error = np.abs(fits[:, :n_few] - exact).max()
        row(f"skvarimp, n_fits={n_fits}", X.shape[1], spent, f"{error:.1e}")
    try:
        for name, delta, some in [("delta=0 (exact)", 0.0, few), ("delta=1%", 0.01, X)]:
            fits, spent = once(lambda d=delta, s=some: statsmodels_fits(s, y, d))
            error = np.abs(fits[:, :n_few] - exact).max()
            row(f"statsmodels, {name}", some.shape[1], spent, f"{error:.1e}")
    except ImportError:
        print("statsmodels is not installed: not compared")
    scores = lowess_r2(few, y), lowess_r2(few, y, n_fits=None)
    print(f"R2 interpolated {scores[0].round(6)}, exact {scores[1].round(6)}")


if __name__ == "__main__":
    main()
