"""Figure 2 of Zien et al.: two Gaussian classes, and conditional expected scores.

Two classes in three dimensions: the second separates them best, the first a little,
the third is noise. A linear support vector machine's score is regressed on each
column; printed are weights, importances by three methods and their standard errors,
drawn the paper's four panels.

    python benchmarks/reproductions/firm_gaussian.py
"""

import numpy as np
from sklearn.svm import SVC

from skvarimp import FIRMImportance

SHIFT = np.array([0.9, 1.5, 0.0])  # of the classes' means, in both directions
CORRELATION = 0.3  # of the first two columns within a class
BLUE, ORANGE, BLACK = "#0072B2", "#E69F00", "#000000"


def simulate(seed, n=200):
    """n rows per class, labels -1 and +1."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((2 * n, 3))
    X[:, 0] = CORRELATION * X[:, 1] + np.sqrt(1 - CORRELATION**2) * X[:, 0]
    y = np.repeat([-1, 1], n)
    return X + y[:, np.newaxis] * SHIFT, y


def draw():
    """The raw data, then score and conditional expected score of each column."""
    import matplotlib.pyplot as plt

    X, y = simulate(0)
    svm = SVC(kernel="linear").fit(X, y)
    line = FIRMImportance(method="linear").fit(svm, X)
    means = FIRMImportance(method="conditional_mean").fit(svm, X)
    _, axes = plt.subplots(2, 2, figsize=(8, 7), layout="constrained")
    axes = axes.ravel()
    for label, color, marker in ((-1, BLUE, "o"), (1, ORANGE, "^")):
        rows = y == label
        axes[0].scatter(*X[rows, :2].T, s=10, color=color, marker=marker, label=label)
    axes[0].set(xlabel="x1", ylabel="x2", title="a) data")
    axes[0].legend(title="class", loc="lower right")
    score = svm.decision_function(X)
    for j, (ax, letter) in enumerate(zip(axes[1:], "bcd")):
        ax.scatter(X[:, j], score, s=8, color=BLUE, alpha=0.4, label="score")
        t, q = line.conditional_scores_[f"x{j}"]
        ax.plot(t, q, color=ORANGE, lw=3, label="q, linear")
        t, q = means.conditional_scores_[f"x{j}"]
        ax.plot(t, q, "D", color=BLACK, ms=4, label="q, conditional means")
        ax.set(xlabel=f"x{j + 1}", ylabel="score", title=f"{letter}) x{j + 1}")
    axes[2].legend(loc="lower right", fontsize=8)


def main():
    """Print the numbers."""
    X, y = simulate(0)
    svm = SVC(kernel="linear").fit(X, y)
    spread = svm.decision_function(X).std()
    print(f"standard deviation of the score: {spread:.3f}")
    print("                        x1               x2               x3")
    weights = "".join(f"{w:+17.3f}" for w in svm.coef_[0])
    print(f"weight      {weights}")
    for method in ("linear", "gaussian", "conditional_mean"):
        imp = FIRMImportance(method=method).fit(svm, X)
        cells = zip(imp.importances_, imp.standard_errors_)
        print(f"{method:16s}" + "".join(f"{q:9.3f} ±{e:6.3f}" for q, e in cells))
    print("conditional means of the labels alone:")
    labels = FIRMImportance(method="conditional_mean").fit(None, X, y)
    cells = zip(labels.importances_, labels.standard_errors_)
    print(f"{'':16s}" + "".join(f"{q:9.3f} ±{e:6.3f}" for q, e in cells))


if __name__ == "__main__":
    main()
