"""Figure 1 of Zien et al.: a Boolean formula, from weights, from FIRM, from labels.

A support vector machine with a quadratic kernel learns x1 or (not x1 and not x2) from
the 8 rows of the truth table of three variables. Printed, and drawn as heat maps: its
weights of the monomials, and the signed importances of all variables, conjunctions and
disjunctions of two literals, from the machine's score and from the labels.

    python benchmarks/reproductions/firm_boolean.py
"""

import itertools

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Disjunction, Not

NAMES = ["x1", "x2", "x3"]
TABLE = pd.DataFrame(itertools.product([0.0, 1.0], repeat=3), columns=NAMES)
LABELS = np.where((TABLE["x1"] == 1) | (TABLE["x2"] == 0), 1, -1)
LITERALS = [literal for name in NAMES for literal in (name, Not(name))]
SHOWN = [
    literal if isinstance(literal, str) else literal.label() for literal in LITERALS
]


def machine():
    """The machine whose scores are those the paper prints."""
    return SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=10).fit(TABLE, LABELS)


def weights(svm):
    """Coefficients of x_j and of x_j x_k in the score, (3,) and {(j, k): weight}.

    The kernel (x'z)^2 is sum_j x_j^2 z_j^2 + 2 sum_(j < k) x_j x_k z_j z_k, and
    x_j^2 = x_j.
    """
    dual, Z = svm.dual_coef_[0], svm.support_vectors_
    pairs = itertools.combinations(range(3), 2)
    return dual @ Z**2, {(j, k): 2 * dual @ (Z[:, j] * Z[:, k]) for j, k in pairs}


def literal_pairs():
    """Pairs of literals of two different variables: positions in LITERALS."""
    for a, b in itertools.combinations(range(6), 2):
        if a // 2 != b // 2:
            yield a, b


def importances(estimator, y=None):
    """Signed importances: of literals (6,); of pairs (6, 6).

    Conjunctions stand above the diagonal of pairs, disjunctions below it.
    """
    functions = {}
    for a, b in literal_pairs():
        functions[a, b] = Conjunction(LITERALS[a], LITERALS[b])
        functions[b, a] = Disjunction(LITERALS[a], LITERALS[b])
    singles = FIRMImportance(features=NAMES).fit(estimator, TABLE, y)
    imp = FIRMImportance(feature_functions=list(functions.values()))
    imp.fit(estimator, TABLE, y)
    pairs = np.full((6, 6), np.nan)
    for place, value in zip(functions, imp.signed_importances_[:, 0]):
        pairs[place] = value
    signed = singles.signed_importances_[:, 0]
    everything = dict(zip(imp.features_, imp.signed_importances_[:, 0]))
    everything.update(zip(NAMES, signed))
    return np.column_stack([signed, -signed]).ravel(), pairs, everything


def of_weights(svm):
    """The weights in the same places; literals that are no monomial have none."""
    single, double = weights(svm)
    pairs = np.full((6, 6), np.nan)
    for a, b in literal_pairs():
        both_plain = a % 2 == b % 2 == 0
        pairs[a, b] = double[a // 2, b // 2] if both_plain else 0.0
        pairs[b, a] = 0.0
    return np.column_stack([single, np.zeros(3)]).ravel(), pairs


def _write(axes, values, limit):
    """The numbers on a heat map, white on dark squares."""
    for (i, k), value in np.ndenumerate(values):
        if not np.isnan(value):
            color = "white" if abs(value) > 0.6 * limit else "black"
            text = f"{value:.2f}".replace("-0.00", "0.00")
            axes.text(k, i, text, ha="center", va="center", fontsize=8, color=color)


def draw():
    """Three columns of heat maps; red positive, blue negative."""
    import matplotlib.pyplot as plt

    svm = machine()
    *of_machine, _ = importances(svm)
    *of_labels, _ = importances(None, LABELS)
    columns = {
        "weights of the machine": of_weights(svm),
        "FIRM of the machine": of_machine,
        "FIRM of the labels": of_labels,
    }
    figure, axes = plt.subplots(
        2, 3, figsize=(11, 5.4), layout="constrained", height_ratios=[1, 6]
    )
    for (title, (single, pairs)), (top, bottom) in zip(columns.items(), axes.T):
        limit = max(np.abs(single).max(), np.nanmax(np.abs(pairs)))
        style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        top.imshow(single[np.newaxis], **style)
        top.set_title(title)
        top.set_yticks([])
        top.set_xticks([])
        bottom.imshow(pairs, **style)
        bottom.set_xticks(range(6), SHOWN)
        bottom.set_yticks(range(6), SHOWN)
        _write(bottom, pairs, limit)
        _write(top, single[np.newaxis], limit)
    figure.supxlabel("above the diagonal: conjunctions; below: disjunctions")


def main():
    """Print the numbers."""
    svm = machine()
    print("x1 x2 x3  label  score")
    for row, label, score in zip(
        TABLE.to_numpy(), LABELS, svm.decision_function(TABLE)
    ):
        print("  ".join(f"{v:.0f}" for v in row) + f"   {label:+d}     {score:+.3f}")
    single, double = weights(svm)
    print("\nweights:", ", ".join(f"{n} {w:+.3f}" for n, w in zip(NAMES, single)))
    print(
        "        ",
        ", ".join(f"{NAMES[j]} {NAMES[k]} {w:+.3f}" for (j, k), w in double.items()),
    )
    *_, from_score = importances(svm)
    *_, from_labels = importances(None, LABELS)
    print("\nfeature           FIRM of the machine   FIRM of the labels")
    order = sorted(from_score, key=lambda name: -abs(from_score[name]))
    for name in order:
        print(f"{name:12s}   {from_score[name]:+18.3f} {from_labels[name]:+20.3f}")


if __name__ == "__main__":
    main()
