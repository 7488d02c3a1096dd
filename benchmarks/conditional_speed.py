"""CPU time of conditional importance, the trees of its parts included, and marginal.

    python benchmarks/conditional_speed.py [--rows 5000] [--columns 20] [--repeats 3]

A random forest of 100 trees, fully grown and with leaves of 5 rows; one thread.
"""

import argparse
import time

from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PermutationImportance, SensitivityImportance

MEASURES = [
    SensitivityImportance(estimation="exact"),
    PermutationImportance(estimation="exact"),
]


def seconds(measure, *data):
    """CPU seconds of one fit."""
    start = time.process_time()
    clone(measure).fit(*data)
    return time.process_time() - start


def main():
    """Print one line per forest and measure: the best of a few fits of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    X, y = make_friedman1(options.rows, options.columns, random_state=0)
    for leaf in (1, 5):
        forest = RandomForestRegressor(100, min_samples_leaf=leaf, random_state=0)
        forest.fit(X, y)
        for measure in MEASURES:
            conditional = clone(measure).set_params(conditional="subgroups")
            marginal, within = (
                min(seconds(m, forest, X, y) for _ in range(options.repeats))
                for m in (measure, conditional)
            )
            print(
                f"leaves of {leaf}, {type(measure).__name__:22} marginal "
                f"{marginal:.2f} s, conditional {within:.2f} s, "
                f"ratio {within / marginal:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
