"""Greenwell et al., section 4: importances and interactions of Friedman's problem.

A network of one hidden layer with eight units and weight decay 0.01: partial dependence
importances, and the ten largest of the 45 pair interactions of section 3.2 (figure 6 of
the paper is missing). Beside them Friedman's H of a gradient boosting model, which the
paper announces, and H of the network. Means over simulated samples.

    python benchmarks/reproductions/greenwell_friedman.py --seeds 20
"""

import argparse

import numpy as np
from greenwell_figure5 import N_DRAWN, N_ROWS, network
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import InteractionImportance, PartialDependenceImportance

NAMES = [f"x{j}" for j in range(1, 11)]
FEATURES = {name: j for j, name in enumerate(NAMES)}
TITLES = {
    ("network", "conditional_std"): "network, conditional sd",
    ("network", "h"): "network, Friedman's H",
    ("boosting", "conditional_std"): "boosting, conditional sd",
    ("boosting", "h"): "boosting, Friedman's H",
}


def models(seed):
    """The paper's network, and a gradient boosting model as in R's gbm."""
    boosting = GradientBoostingRegressor(
        n_estimators=300, learning_rate=0.05, max_depth=3, random_state=seed
    )
    return {"network": network(seed), "boosting": boosting}


def run(n_seeds, n_samples):
    """(importances (n_seeds, 10), {(model, statistic): (n_seeds, 45)}, pairs)."""
    importances, strengths = [], {key: [] for key in TITLES}
    for seed in range(n_seeds):
        X, y = make_friedman1(n_samples, noise=1.0, random_state=seed)
        for name, model in models(seed).items():
            model.fit(X, y)
            if name == "network":
                flat = PartialDependenceImportance(features=FEATURES).fit(model, X)
                importances.append(flat.importances_)
            for statistic in ("conditional_std", "h"):
                imp = InteractionImportance(statistic=statistic, features=FEATURES)
                strengths[name, statistic].append(imp.fit(model, X).importances_)
    strengths = {key: np.array(rows) for key, rows in strengths.items()}
    return np.array(importances), strengths, imp


def print_tables(importances, strengths, pairs):
    """Importances, then the ten largest interactions of each kind."""
    n_seeds = len(importances)
    print(f"partial dependence importance of the network, {n_seeds} samples")
    print("".join(f"{name:>13}" for name in NAMES[:5]))
    columns = list(zip(importances.mean(axis=0), importances.std(axis=0)))
    print("".join(f"{f'{m:.2f} ±{s:.2f}':>13}" for m, s in columns[:5]))
    print("".join(f"{name:>13}" for name in NAMES[5:]))
    print("".join(f"{f'{m:.2f} ±{s:.2f}':>13}" for m, s in columns[5:]))
    print("\nthe ten largest interactions, mean (samples in which the pair is first)")
    print("".join(f"{title:>28}" for title in TITLES.values()))
    tables = []
    for key in TITLES:
        mean = strengths[key].mean(axis=0)
        first = np.bincount(strengths[key].argmax(axis=1), minlength=len(mean))
        tables.append(
            [
                f"{pairs.features_[p]:>8} {mean[p]:7.3f} ({first[p]})"
                for p in np.argsort(-mean)[:10]
            ]
        )
    for lines in zip(*tables):
        print("".join(f"{line:>28}" for line in lines))


def draw():
    """The ten largest of the two statistics the paper speaks of."""
    import matplotlib.pyplot as plt

    _, strengths, pairs = run(N_DRAWN, N_ROWS)
    _, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), layout="constrained")
    for ax, key in zip(axes, [("network", "conditional_std"), ("boosting", "h")]):
        mean, spread = strengths[key].mean(axis=0), strengths[key].std(axis=0)
        top = np.argsort(-mean)[:10][::-1]
        names = [pairs.features_[p] for p in top]
        ax.barh(names, mean[top], xerr=spread[top], color="#0072B2", ecolor="0.3")
        ax.set_xlabel(TITLES[key])
        ax.set_xlim(0)
        ax.spines[["top", "right"]].set_visible(False)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=N_ROWS)
    options = parser.parse_args()
    importances, strengths, pairs = run(options.seeds, options.samples)
    print_tables(importances, strengths, pairs)


if __name__ == "__main__":
    main()
