"""Level of the conditional test, and what the smallest part of the rows decides.

y depends on x1 only, x2 goes along with x1 (correlation 0.9) and three columns are
noise. A forest is fitted on one half of the rows; on the other half the importance of
x2 (squared error) has a 95% interval. How often is all of it above 0? An honest
conditional measure says so rarely: given x1, nothing is left to learn from x2.

``python benchmarks/conditional_level.py --draws 500 --smallest 15``
"""

import argparse
import time

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PermutationImportance
from skvarimp._data import subgroup_trees


def one_draw(random, options):
    """Rows of x1, x2 and columns of noise, and y."""
    X = random.normal(size=(options.rows, options.columns))
    X[:, 1] = 0.9 * X[:, 0] + 0.19**0.5 * X[:, 1]
    signal = X[:, 0] if options.shape == "line" else np.sin(2 * X[:, 0])
    return X, options.slope * signal + random.normal(size=options.rows)


def intervals(random, options, measures):
    """Importance and interval of x1 and x2 by each measure, (n_measures, 2, 3)."""
    X, y = one_draw(random, options)
    half = options.rows // 2
    forest = RandomForestRegressor(
        options.trees,
        max_features=options.max_features,
        random_state=int(random.integers(2**31)),
    ).fit(X[:half], y[:half])
    found = []
    for measure in measures:
        measure.fit(forest, X[half:], y[half:])
        table = measure.interval().sort_values("entry")
        found.append(table[["importance", "lower", "upper"]].to_numpy())
    return np.array(found)


def main():
    """Print the shares of intervals above 0, marginal and conditional."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--rows", type=int, default=500, help="half of them held out")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--columns", type=int, default=2, help="from the third: noise")
    parser.add_argument("--slope", type=float, default=1.0, help="of y in x1")
    parser.add_argument("--max-features", type=float, default=1.0, help="of the forest")
    parser.add_argument("--smallest", type=int, nargs="*", default=[])
    parser.add_argument("--shape", choices=("line", "wave"), default="line")
    options = parser.parse_args()
    common = {
        "loss": "squared_error",
        "estimation": "exact",
        "features": [0, 1],
        "keep_rows": True,
    }
    marginal = PermutationImportance(**common)
    conditional = PermutationImportance(**common, conditional="subgroups")
    print(", ".join(f"{name} {value}" for name, value in vars(options).items()))
    print("part  measure      x1     x2     x2 above 0   x1 above 0   s per draw")
    for smallest in options.smallest or [subgroup_trees.SMALLEST_PART]:
        subgroup_trees.SMALLEST_PART = smallest
        start = time.process_time()
        found = np.array(
            [
                intervals(np.random.default_rng(draw), options, [marginal, conditional])
                for draw in range(options.draws)
            ]
        )
        seconds = (time.process_time() - start) / options.draws
        for m, name in enumerate(("marginal", "conditional")):
            mean = found[:, m, :, 0].mean(axis=0)
            above = (found[:, m, :, 1] > 0).mean(axis=0)
            print(
                f"{smallest:4d}  {name:11s}  {mean[0]:.3f}  {mean[1]:.4f}  "
                f"{above[1]:10.1%}  {above[0]:10.1%}  {seconds:10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
