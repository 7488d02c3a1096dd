"""Figure 5 of Greenwell, McCarthy & Boehmke: what a network's weights say.

Friedman's first problem has ten inputs, of which x6 to x10 are irrelevant. A network of
one hidden layer with eight units and weight decay 0.01 is fitted to many samples.
Printed are the importances of three measures, and how often each calls an irrelevant
input important: it outranks a relevant one, or has a quarter of the largest importance.

    python benchmarks/reproductions/greenwell_figure5.py --seeds 20
"""

import argparse

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor

from skvarimp import ConnectionWeightImportance, PartialDependenceImportance

MEASURES = {
    "partial dependence": PartialDependenceImportance(),
    "Garson": ConnectionWeightImportance(method="garson"),
    "Olden": ConnectionWeightImportance(),
}
N_RELEVANT = 5
N_ROWS, N_DRAWN = 500, 5  # of a sample; samples in the picture


def network(seed):
    """The paper's network: logistic units, linear output, decay on the weights.

    R's nnet minimises SSE + decay sum w²; MLPRegressor the same over 2 n with alpha for
    decay, biases left alone.
    """
    return MLPRegressor(
        hidden_layer_sizes=(8,),
        activation="logistic",
        solver="lbfgs",
        alpha=0.01,
        max_iter=20_000,
        max_fun=100_000,
        tol=1e-6,
        random_state=seed,
    )


def run(n_seeds, n_samples):
    """Shares of the largest importance, {measure: (n_seeds, 10)}; R² on new rows."""
    shares = {name: [] for name in MEASURES}
    quality = []
    for seed in range(n_seeds):
        X, y = make_friedman1(n_samples, n_features=10, noise=1.0, random_state=seed)
        model = network(seed).fit(X, y)
        new_X, new_y = make_friedman1(2000, n_features=10, random_state=10_000 + seed)
        quality.append(r2_score(new_y, model.predict(new_X)))
        for name, measure in MEASURES.items():
            importances = measure.fit(model, X).importances_
            shares[name].append(importances / importances.max())
    return {name: np.array(rows) for name, rows in shares.items()}, np.array(quality)


def outranks(shares):
    """Whether each irrelevant input outranks a relevant one, (n_seeds, 5)."""
    return shares[:, N_RELEVANT:] > shares[:, :N_RELEVANT].min(axis=1, keepdims=True)


def is_large(shares):
    """Whether each irrelevant input has a quarter of the largest importance."""
    return shares[:, N_RELEVANT:] >= 0.25


def print_tables(shares, quality):
    """Mean importances, then the counts of wrong ones."""
    n_seeds = len(quality)
    print(
        f"{n_seeds} samples; R2 on new rows {quality.mean():.3f} ±{quality.std():.3f}"
    )
    print("\nmean importance, largest of a sample = 1")
    print(f"{'':20}" + "".join(f"{f'x{j + 1}':>7}" for j in range(10)))
    for name, rows in shares.items():
        print(f"{name:20}" + "".join(f"{v:7.2f}" for v in rows.mean(axis=0)))
    print(f"\nin how many of {n_seeds} samples an irrelevant input ...")
    for title, rule in [("outranks a relevant one", outranks), ("is large", is_large)]:
        names = [*(f"x{j + 1}" for j in range(5, 10)), "any"]
        print(f"{title:26}" + "".join(f"{name:>7}" for name in names))
        for name, rows in shares.items():
            wrong = rule(rows)
            counts = [*wrong.sum(axis=0), wrong.any(axis=1).sum()]
            print(f"   {name:23}" + "".join(f"{v:7d}" for v in counts))


def draw():
    """Bars of the means and a dot per sample, one panel per measure."""
    import matplotlib.pyplot as plt

    shares, _ = run(N_DRAWN, N_ROWS)
    _, axes = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True, layout="constrained")
    position = np.arange(10)[::-1]
    colours = ["#0072b2"] * N_RELEVANT + ["#e69f00"] * 5
    for ax, (name, rows) in zip(axes, shares.items()):
        ax.barh(position, rows.mean(axis=0), color=colours, alpha=0.6)
        for row in rows:
            ax.plot(row, position, "o", color="black", markersize=2, alpha=0.5)
        ax.set_title(name)
        ax.set_xlim(0, 1.03)
    axes[0].set_yticks(position, [f"x{j + 1}" for j in range(10)])
    axes[1].set_xlabel("importance, largest = 1")
    handles = [plt.Rectangle((0, 0), 1, 1, color=c, alpha=0.6) for c in colours[4:6]]
    axes[0].legend(handles, ["relevant", "irrelevant"], loc="lower right")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=N_ROWS)
    options = parser.parse_args()
    shares, quality = run(options.seeds, options.samples)
    print_tables(shares, quality)


if __name__ == "__main__":
    main()
