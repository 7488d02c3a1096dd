"""Does drawing until `tol` overlook an input that acts on few rows?

x1 acts on the 0.5% of the rows whose x2 is 1, and x2 itself is 1 there only. Counted
over random seeds: how often each is declared to be 0, and how many draws were made.

    python benchmarks/rare_inputs.py --seeds 100
"""

import argparse
import warnings

import numpy as np

from skvarimp import SensitivityImportance
from skvarimp.exceptions import ImportanceWarning

CASES = [
    ("sampled", "pairs", "all"),
    ("sampled", "observed", "all"),
    ("rows", "pairs", 20),
    ("rows", "observed", 20),
    ("rows", "range", 20),
]


def data(n):
    """x2 is 1 in n / 200 rows."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.standard_normal((n, 2)), np.arange(n) < n // 200])
    return X[random.permutation(n)]


def model(X):
    """x1 acts where x2 is 1."""
    return X[:, 0] + (X[:, 2] == 1) * X[:, 1]


def main():
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", ImportanceWarning)  # the cap, where it is reached
    print(f"{'rows':>6} {'estimation':12}{'contrast':10}{'tol':>6}", end="")
    print(f"{'x1 is 0':>10}{'x2 is 0':>10}   mean draws of x0, x1, x2")
    for n in (400, 2000, 20_000):
        X = data(n)
        for estimation, contrast, grid in CASES:
            for tol in (0.2, 0.05, 0.01):
                zeros, draws = np.zeros(3, int), np.zeros(3)
                for seed in range(n_seeds):
                    imp = SensitivityImportance(
                        contrast=contrast,
                        estimation=estimation,
                        grid=grid,
                        tol=tol,
                        scale=None,
                        random_state=seed,
                    ).fit(model, X)
                    zeros += imp.importances_ == 0
                    draws += imp.n_draws_ / n_seeds
                print(f"{n:6} {estimation:12}{contrast:10}{tol:6}", end="")
                print(f"{zeros[1]:10}{zeros[2]:10}   {draws.round().astype(int)}")


if __name__ == "__main__":
    main()
