"""Greenwell et al., figures 1 and 3: the Boston housing data under a random forest.

A forest of 1000 trees with mtry = 6 on the corrected prices: out-of-bag permutation
importance, impurity importance and partial dependence importance side by side.

    python benchmarks/reproductions/greenwell_boston.py --data DIR
"""

import argparse
import sys
from pathlib import Path

from sklearn.ensemble import RandomForestRegressor

from skvarimp import (
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    compare_importances,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import NotAvailable, add_option, boston

MEASURES = {
    "out-of-bag": PermutationImportance(rows="oob"),
    "impurity": ImpurityImportance(convention="sklearn"),
    "partial dependence": PartialDependenceImportance(),
}


def forest(n_trees, seed):
    """R's randomForest with mtry = 6; its nodes of five rows or fewer stay whole."""
    return RandomForestRegressor(
        n_trees,
        max_features=6,
        min_samples_split=6,
        oob_score=True,
        random_state=seed,
        n_jobs=1,
    )


def print_table(fitted):
    """Importance and rank of every column, in the order of the first measure."""
    first = next(iter(fitted))
    print(f"{'':10}" + "".join(f"{name:>24}" for name in fitted))
    for name in fitted[first].to_frame()["feature"]:
        cells = []
        for measure in fitted.values():
            e = measure.features_.index(name)
            value, rank = measure.importances_[e], measure.ranking_[e]
            cells.append(f"{value:14.3f} ({rank:2d})")
        print(f"{name:10}" + "".join(f"{cell:>24}" for cell in cells))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_option(parser)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        X, y = boston(options.data)
    except NotAvailable as missing:
        print(f"skipped: {missing}")
        return
    model = forest(options.trees, options.seed).fit(X, y)
    print(f"out-of-bag R2 {model.oob_score_:.3f} (published 0.89)")
    compared = compare_importances({"forest": model}, X, y, MEASURES)
    print_table({name: compared.fitted["forest", name] for name in MEASURES})


if __name__ == "__main__":
    main()
