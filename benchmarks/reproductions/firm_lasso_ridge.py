"""Section 2.4.3 of Zien et al.: lasso against ridge on two correlated columns.

Both columns matter equally, and their correlation is 0.99: the lasso tends to keep one
of them by chance, ridge regression shares the weight. Printed over samples: weights
and importances of both, as mean and standard deviation; drawn: each sample.

    python benchmarks/reproductions/firm_lasso_ridge.py --samples 200
"""

import argparse

import numpy as np
from sklearn.linear_model import Lasso, Ridge

from skvarimp import FIRMImportance

CORRELATION = 0.99
N_SAMPLES = 200
MODELS = {"lasso": Lasso(0.5), "ridge": Ridge(10.0)}
COLORS = {"lasso": "#E69F00", "ridge": "#0072B2"}
MARKERS = {"lasso": "^", "ridge": "o"}


def simulate(seed, n=50):
    """y = x1 + x2 + noise, and a third column that is noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    X[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
    return X, X[:, 0] + X[:, 1] + random.standard_normal(n)


def sampled(n_samples):
    """Weights, importances, standardised ones: name -> (n_samples, 3) each."""
    weights, firm, standard = ({name: [] for name in MODELS} for _ in range(3))
    for seed in range(n_samples):
        X, y = simulate(seed)
        for name, model in MODELS.items():
            weights[name].append(model.fit(X, y).coef_.copy())
            imp = FIRMImportance(method="gaussian").fit(model, X)
            firm[name].append(imp.signed_importances_[:, 0])
            standard[name].append(firm[name][-1] / np.std(model.predict(X)))
    parts = weights, firm, standard
    return [{k: np.array(v) for k, v in part.items()} for part in parts]


def draw():
    """One dot per sample and model: the first column against the second."""
    import matplotlib.pyplot as plt

    weights, firm, _ = sampled(N_SAMPLES)
    _, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for ax, part, title in zip(axes, (weights, firm), ("weights", "FIRM")):
        for name, values in part.items():
            style = {"color": COLORS[name], "marker": MARKERS[name], "alpha": 0.5}
            ax.scatter(values[:, 0], values[:, 1], s=16, label=name, **style)
        ax.axline((1, 1), slope=1, color="0.7", lw=1, zorder=0)
        ax.set(xlabel="x1", ylabel="x2", title=title, aspect="equal")
        ax.set(xlim=(-0.2, 2.6), ylim=(-0.2, 2.6))
    axes[0].legend(loc="center right")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=N_SAMPLES)
    options = parser.parse_args()
    weights, firm, standard = sampled(options.samples)
    print("mean ± standard deviation over samples; |1 - 2|: mean difference of the two")
    print("                       x1             x2             x3        |1 - 2|")
    for name in MODELS:
        for what, part in (
            ("weights", weights),
            ("FIRM", firm),
            ("FIRM / sd", standard),
        ):
            values = part[name]
            cells = "".join(
                f"{m:+7.3f} ±{s:6.3f}" for m, s in zip(values.mean(0), values.std(0))
            )
            gap = np.abs(values[:, 0] - values[:, 1]).mean()
            print(f"{name:6s} {what:10s}{cells} {gap:9.3f}")
    one = np.mean((weights["lasso"][:, :2] == 0).any(axis=1))
    print(f"the lasso dropped one of x1, x2 in {one:.0%} of the samples")
    for what, part in (("weights", weights), ("FIRM / sd", standard)):
        gap = np.abs(part["lasso"] - part["ridge"])[:, :2].mean()
        print(f"mean difference between lasso and ridge, {what}: {gap:.3f}")


if __name__ == "__main__":
    main()
