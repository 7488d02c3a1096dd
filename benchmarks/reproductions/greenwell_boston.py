"""Greenwell et al., figures 1 to 3: the Boston housing data under a random forest.

A forest of 1000 trees with mtry = 6 on the corrected prices: out-of-bag permutation
importance, impurity importance and partial dependence importance side by side, and the
curves of lstat, rm and zn.

    python benchmarks/reproductions/greenwell_boston.py --data DIR [--figure NAME]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from skvarimp import (
    CurvesDisplay,
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
UNITS = {
    "out-of-bag": "gain in squared error",
    "impurity": "share of the decrease",
    "partial dependence": "sd of the curve, 1000 dollars",
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


def print_table(table, fitted):
    """Importance and rank of every column, in the order of the first measure."""
    first = next(iter(fitted))
    print(f"{'':10}" + "".join(f"{name:>24}" for name in fitted))
    for name in table.sort_values(f"forest/{first}/rank").index:
        cells = []
        for label in fitted:
            value = table.loc[name, f"forest/{label}"]
            rank = int(table.loc[name, f"forest/{label}/rank"])
            cells.append(f"{value:14.3f} ({rank:2d})")
        print(f"{name:10}" + "".join(f"{cell:>24}" for cell in cells))


def draw(fitted, path):
    """Figures 1 and 3: the three measures side by side."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
    for ax, (label, imp) in zip(axes, fitted.items()):
        order = np.argsort(-imp.ranking_)
        ax.barh(
            [imp.entry_names_[e] for e in order],
            imp.importances_[order],
            color="#0072B2",
        )
        ax.set_title(label)
        ax.set_xlabel(UNITS[label])
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=90)


def draw_curves(curves, mean, path):
    """Figure 2: lstat, rm and zn with the mean of the prices."""
    shown = ["lstat", "rm", "zn"]
    panels = [
        (name, grid, averages[:, np.newaxis])
        for name in shown
        for grid, averages in [curves.curves_[name]]
    ]
    display = CurvesDisplay(panels, curves.output_names_, curves.deciles_)
    display.plot(ylabel="cmedv, 1000 dollars")
    for ax in display.axes_:
        ax.axhline(mean, color="#D55E00", linestyle="--")
    display.figure_.savefig(path, dpi=90)


def main():
    """Print the table and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_option(parser)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="beginning of the pictures' names")
    options = parser.parse_args()
    try:
        X, y = boston(options.data)
    except NotAvailable as missing:
        print(f"skipped: {missing}")
        return
    model = forest(options.trees, options.seed).fit(X, y)
    print(f"out-of-bag R2 {model.oob_score_:.3f} (published 0.89)")
    table = compare_importances({"forest": model}, X, y, MEASURES)
    fitted = {name: table.fitted[f"forest/{name}"] for name in MEASURES}
    print_table(table, fitted)
    if options.figure:
        draw(fitted, f"{options.figure}_importances.png")
        curves = fitted["partial dependence"]
        draw_curves(curves, y.mean(), f"{options.figure}_curves.png")


if __name__ == "__main__":
    main()
