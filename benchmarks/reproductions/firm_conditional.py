"""Conditional expected score against partial dependence, on correlated columns.

The score is sin(x0); x1 has correlation 0.9 with x0 and does not enter the score; x2 is
independent of both. Printed: FIRM, the spread of the partial dependence, and the
sensitivity of each column; drawn: both curves.

    python benchmarks/reproductions/firm_conditional.py
"""

import numpy as np

from skvarimp import (
    FIRMImportance,
    PartialDependenceImportance,
    SensitivityImportance,
)


def simulate(seed=0, n=2000, correlation=0.9):
    """Standard normal columns."""
    X = np.random.default_rng(seed).standard_normal((n, 3))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X


def score(X):
    """Only the first column enters."""
    return np.sin(X[:, 0])


def draw():
    """The conditional expected scores over the partial dependence of each column."""
    import matplotlib.pyplot as plt

    X = simulate()
    firm = FIRMImportance().fit(score, X)
    marginal = PartialDependenceImportance().fit(score, X)
    _, axes = plt.subplots(
        1, 3, figsize=(11, 3.6), layout="constrained", sharex=True, sharey=True
    )
    for name, ax in zip(firm.features_, axes):
        t, q = firm.conditional_scores_[name]
        values, averages = marginal.curves_[name]
        ax.plot(values, averages, color="#0072B2", lw=2, label="partial dependence")
        ax.plot(t, q, "o-", color="#E69F00", ms=5, label="conditional expected score")
        ax.set(xlabel=name, title=name, xlim=(-3, 3))
    axes[0].set_ylabel("score")
    axes[2].legend(loc="upper left", fontsize=9)


def main():
    """Print the table."""
    X = simulate()
    firm = FIRMImportance().fit(score, X)
    marginal = PartialDependenceImportance().fit(score, X)
    rows = {
        "FIRM (conditional)": firm.importances_,
        "± standard error": firm.standard_errors_,
        "partial dependence, std": marginal.importances_,
        "sensitivity, observed": SensitivityImportance(contrast="observed")
        .fit(score, X)
        .importances_,
    }
    print(f"standard deviation of the score: {score(X).std():.3f}")
    print(f"{'':26s}" + "".join(f"{name:>8s}" for name in firm.features_))
    for label, values in rows.items():
        print(f"{label:26s}" + "".join(f"{value:8.3f}" for value in values))


if __name__ == "__main__":
    main()
