"""Both examples of MATLAB's `predictorImportance`: AdaBoost.M2 on Fisher's irises.

scikit-learn has no AdaBoost.M2 (Y. Freund and R. E. Schapire, A decision-theoretic
generalization of on-line learning and an application to boosting, Journal of Computer
and System Sciences 55, 1997, section 5.2), so it is written out here. Printed: the 24
published figures beside the ones computed by `ImpurityImportance`.

    python benchmarks/reproductions/matlab_fisheriris.py
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skvarimp import ImpurityImportance

N_LEARNERS = 100
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]

# predictorImportance, both examples
PUBLISHED_PLAIN = [0.0004, 0.0016, 0.1266, 0.0324]
PUBLISHED_SURROGATES = [0.0674, 0.0417, 0.1582, 0.1537]
PUBLISHED_ASSOCIATION = [
    [1.0000, 0, 0, 0],
    [0.0115, 1.0000, 0.0022, 0.0054],
    [0.3186, 0.2137, 1.0000, 0.6391],
    [0.0392, 0.0073, 0.1137, 1.0000],
]


@dataclass
class Learner:
    """One boosting round: a stump, the row weights it was grown with, its weight."""

    stump: DecisionTreeClassifier
    row_weight: np.ndarray
    weight: float


def grow_stump(X, y, row_weight):
    """The stump of the largest Gini decrease; equal splits to the lowest column.

    scikit-learn tries columns in random order, so a stump is grown on every column by
    itself (the others held constant) and the first of the best is taken.
    """
    best, largest = None, -np.inf
    for j in range(X.shape[1]):
        alone = np.zeros_like(X)
        alone[:, j] = X[:, j]
        stump = DecisionTreeClassifier(max_depth=1).fit(alone, y, row_weight)
        tree = stump.tree_
        risk = tree.weighted_n_node_samples * tree.impurity
        decrease = risk[0] - risk[1:].sum()
        if decrease > largest + 1e-10:
            best, largest = stump, decrease
    return best


def adaboost_m2(X, y, n_learners=N_LEARNERS):
    """Boosting with pseudo-loss (Freund & Schapire 1997, figure 6).

    The mislabel distribution d(i, k) is over rows and wrong classes. A stump is grown
    on its row sums; its hypothesis h(x, k) is the weighted share of class k in the leaf
    of x.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Classes 0, 1, ...

    Returns
    -------
    list of Learner
    """
    rows = np.arange(len(y))
    wrong = np.ones((len(y), y.max() + 1))
    wrong[rows, y] = 0.0
    mislabel = wrong / wrong.sum()
    learners = []
    for _ in range(n_learners):
        row_weight = mislabel.sum(axis=1)
        stump = grow_stump(X, y, row_weight)
        h = stump.predict_proba(X)
        h_true = h[rows, y][:, np.newaxis]
        loss = 0.5 * np.sum(mislabel * (1.0 - h_true + h))  # pseudo-loss
        learners.append(Learner(stump, row_weight, np.log((1.0 - loss) / loss)))
        beta = loss / (1.0 - loss)
        mislabel = wrong * mislabel * beta ** (0.5 * (1.0 + h_true - h))
        mislabel /= mislabel.sum()
    return learners


def predictor_importance(learners, X, y, surrogates):
    """Importances and associations averaged by the learners' weights.

    Returns
    -------
    importances : ndarray of shape (n_features,)
    association : ndarray of shape (n_features, n_features) or None
    """
    measure = ImpurityImportance(surrogates=surrogates, surrogate_cuts="class_boundary")
    importances, associations = [], []
    for learner in learners:
        measure.fit(learner.stump, X, y, sample_weight=learner.row_weight)
        importances.append(measure.importances_)
        associations.append(measure.association_)
    weights = [learner.weight for learner in learners]
    mean = np.average(importances, axis=0, weights=weights)
    if not surrogates:
        return mean, None
    return mean, np.average(associations, axis=0, weights=weights)


def reproduce():
    """Both examples.

    Returns
    -------
    plain, with_surrogates : ndarray of shape (4,)
    association : ndarray of shape (4, 4)
    """
    X, y = load_iris(return_X_y=True)
    learners = adaboost_m2(X, y)
    plain, _ = predictor_importance(learners, X, y, surrogates=False)
    with_surrogates, association = predictor_importance(learners, X, y, surrogates=True)
    return plain, with_surrogates, association


def main():
    """Print published and computed figures."""
    plain, with_surrogates, association = reproduce()
    tables = [
        ("importance, stumps", [PUBLISHED_PLAIN], [plain]),
        (
            "importance, stumps with surrogates",
            [PUBLISHED_SURROGATES],
            [with_surrogates],
        ),
        ("predictive measure of association", PUBLISHED_ASSOCIATION, association),
    ]
    for title, published, computed in tables:
        print(f"\n{title}\n" + "".join(f"{name:>14}" for name in NAMES))
        for rows, kind in ((published, "published"), (computed, "computed")):
            for row in rows:
                print("".join(f"{value:14.4f}" for value in row), f"  {kind}")
        gap = np.max(np.abs(np.subtract(published, computed)))
        print(f"largest difference {gap:.1e}; half a printed digit is 5e-05")


def draw():
    """Heat map of the associations."""
    from skvarimp._display.matrix import AssociationDisplay

    *_, association = reproduce()
    AssociationDisplay(association, NAMES).plot()


if __name__ == "__main__":
    main()
