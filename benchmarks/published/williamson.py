"""Leave-out importance as a share of the variance, and how often intervals cover it.

After Williamson, Gilbert, Simon & Carone: y = 1 + x1 / 2 + 3 x2 / 4 + e of two
independent normal columns and noise of variance 1, 10 000 rows. Without a column R^2
falls by 0.138 and 0.310.

``python benchmarks/published/williamson.py FILE --runs 500`` adds the runs that FILE
does not have yet, ``--models boosting`` those of a flexible model, and prints means and
coverage of 95% intervals.
"""

import argparse

import numpy as np
from runs import added, by_case
from simulations import two_columns
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import leave_out_importances

TRUTH = np.array([0.25, 0.5625]) / 1.8125  # 0.138 and 0.310
MODELS = {
    "linear": LinearRegression(),
    "boosting": HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8),
}


def simulate(seed, case):
    """Shares and their standard errors.

    The share m / v has the influence (d_i - m) / v - m ((y_i - mean)^2 - v) / v^2.
    """
    X, y = two_columns(seed)
    model = MODELS[case["model"]]
    found = leave_out_importances(model, X, y, random_state=seed)
    squares = (y - y.mean()) ** 2
    variance, m = squares.mean(), found.importances
    influence = (found.differences - m) / variance
    influence -= m * (squares - variance)[:, np.newaxis] / variance**2
    error = influence.std(axis=0, ddof=1) / np.sqrt(len(y))
    return {"share": list(m / variance), "error": list(error)}


def main():
    """Add runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=["linear"])
    options = parser.parse_args()
    cases = [{"model": model} for model in options.models]
    lines = added(options.file, cases, simulate, options.runs)
    print("model     column  truth   runs  mean share       coverage         CPU s")
    for (model,), of_case in by_case(lines, "model").items():
        share = np.array([line["share"] for line in of_case])
        error, n = np.array([line["error"] for line in of_case]), len(of_case)
        covered = np.mean(np.abs(share - TRUTH) <= 1.96 * error, axis=0)
        seconds = np.mean([line["cpu"] for line in of_case])
        for j, truth in enumerate(TRUTH):
            of_mean = share[:, j].std() / n**0.5
            of_covered = np.sqrt(covered[j] * (1 - covered[j]) / n)
            print(
                f"{model:10s}x{j + 1}      {truth:.3f}  {n:4d}  "
                f"{share[:, j].mean():.4f} ± {of_mean:.4f}  "
                f"{covered[j]:.3f} ± {of_covered:.3f}  {seconds:6.1f}"
            )


if __name__ == "__main__":
    main()
