"""Features that are in no column, found through FIRM (Zien et al., sections 1 and 2.1).

First: the score is a product of two columns, neither of which says anything alone; all
pairwise products are ranked. Second: a linear classifier learns from binary rows in
none of which the conjunction of all three informative columns occurs; over all rows
that could occur, that conjunction is the most important of all conjunctions of three
literals nevertheless. Printed, and drawn as two bar charts.

    python benchmarks/reproductions/firm_unobserved.py
"""

import itertools

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Not, Product

N_COLUMNS = 5
MOTIF = (0, 1, 2)


def products(seed=0, n=1000):
    """A kernel machine that learned x0 x1; columns and products ranked."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((2 * n, N_COLUMNS))
    y = X[:, 0] * X[:, 1] + 0.2 * random.standard_normal(2 * n)
    model = SVR(C=10.0).fit(X[:n], y[:n])
    pairs = itertools.combinations_with_replacement(range(N_COLUMNS), 2)
    functions = [Product(j, k) for j, k in pairs]
    imp = FIRMImportance(
        features=range(N_COLUMNS), feature_functions=functions, standardize=True
    )
    return imp.fit(model, X[n:])


def training_rows(seed=0, n=600):
    """Binary rows of y = "at least two of the motif", all three never together."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, size=(2 * n, N_COLUMNS)).astype(float)
    X = X[X[:, MOTIF].sum(axis=1) < 3][:n]
    y = X[:, MOTIF].sum(axis=1) >= 2
    return X, y


def conjunctions(seed=0):
    """All conjunctions of three literals, and their number of training rows."""
    X, y = training_rows(seed)
    model = LogisticRegression().fit(X, y)
    functions = []
    for columns in itertools.combinations(range(N_COLUMNS), 3):
        for plain in itertools.product((True, False), repeat=3):
            literals = [j if p else Not(j) for j, p in zip(columns, plain)]
            functions.append(Conjunction(*literals))
    possible = np.array(list(itertools.product([0.0, 1.0], repeat=N_COLUMNS)))
    imp = FIRMImportance(feature_functions=functions, standardize=True)
    imp.fit(model, possible)
    return imp, [int(function(X).sum()) for function in functions]


def draw(n_shown=10):
    """The most important features of both, as bars."""
    import matplotlib.pyplot as plt

    first, (second, counts) = products(), conjunctions()
    _, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, imp in zip(axes, (first, second)):
        order = np.argsort(imp.ranking_)[:n_shown][::-1]
        labels = [imp.features_[e] for e in order]
        if imp is second:
            labels = [f"{imp.features_[e]}   ({counts[e]} rows)" for e in order]
        errors = 1.96 * imp.standard_errors_[order] if imp is first else None
        ax.barh(labels, imp.importances_[order], xerr=errors, color="#0072B2")
        ax.set_xlabel("FIRM, standardised")
    axes[0].set_title("score learned from x0 x1: columns and products")
    axes[1].set_title("conjunctions (training rows that hold them)")


def main():
    """Print both tables."""
    first = products()
    print(first.to_frame().head(8).round(3).to_string(index=False))
    second, counts = conjunctions()
    print("\nconjunction      importance   training rows")
    for e in np.argsort(second.ranking_)[:8]:
        name, value = second.features_[e], second.signed_importances_[e, 0]
        print(f"{name:16s} {value:+10.3f} {counts[e]:15d}")


if __name__ == "__main__":
    main()
