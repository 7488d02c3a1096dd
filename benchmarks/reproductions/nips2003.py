"""NIPS 2003 feature selection: Lemaire & Clérot's Tables II and III, and rivals.

The paper's protocol: columns standardised, 70% of the training set to fit and 30% to
choose, the challenge's validation set as test set, one hidden tanh layer, and the
smallest subset above 95% of the best balanced accuracy. Beside it a tree ensemble
driven by its own impurity importance, and scikit-learn's selectors.

    python benchmarks/reproductions/nips2003.py madelon --seeds 10
    python benchmarks/reproductions/nips2003.py madelon --seeds 1 --rivals
    python benchmarks/reproductions/nips2003.py dexter --seeds 3

Data from --data or $SKVARIMP_DATA, else OpenML.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.metrics import balanced_accuracy_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    BackwardEliminationSelector,
    ForwardSelector,
    ImpurityImportance,
    SensitivityImportance,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import NotAvailable, add_option, nips2003

# Tables II and III: fraction of features (%), balanced error (%) with the subset, and
# of the same network with all features.
PUBLISHED = {
    "arcene": (1.5, 29.65, 20.2),
    "dexter": (0.61, 9.70, 15.1),
    "dorothea": (0.07, 22.24, 30.0),
    "madelon": (1.6, 16.38, 31.5),
    "gisette": (1.8, 3.48, 4.3),
}


def perceptron(seed):
    """One hidden tanh layer on standardised columns."""
    network = MLPClassifier(
        hidden_layer_sizes=(10,),
        activation="tanh",
        alpha=1.0,
        max_iter=60,
        early_stopping=False,
        random_state=seed,
    )
    return make_pipeline(StandardScaler(with_mean=False), network)


def impurity():
    """A forest's own importance, read from the fit."""
    return ImpurityImportance(convention="sklearn")


def rows_of(name, seed):
    """{label: (selector, final model or None)} of our own selectors."""
    observed = SensitivityImportance(contrast="observed", scale=None)
    scored = {"scoring": "balanced_accuracy", "random_state": seed}
    rows = {
        "perceptron, the paper's protocol": BackwardEliminationSelector(
            perceptron(seed), observed, step=0.1, **scored
        )
    }
    if name == "dexter":
        trees = ExtraTreesClassifier(500, random_state=seed)
        rows["extra trees, forward"] = ForwardSelector(
            trees,
            impurity(),
            step=30,
            min_features_to_select=32,
            performance_threshold=0.99,
            **scored,
        )
        rows["extra trees, forward, the first 122"] = _FirstOf(trees, impurity(), 122)
        return rows
    forest = RandomForestClassifier(100, random_state=seed)
    for threshold in (0.95, 0.99):
        rows[f"forest, threshold {threshold:g}"] = BackwardEliminationSelector(
            forest, impurity(), step=0.1, performance_threshold=threshold, **scored
        )
    trees = ExtraTreesClassifier(300, random_state=seed)
    for n in (8, 15):
        rows[f"extra trees, {n} columns"] = BackwardEliminationSelector(
            trees,
            impurity(),
            step=0.1,
            min_features_to_select=n,
            performance_threshold=0.0,
            **scored,
        )
    return rows


class _FirstOf:
    """The columns an importance ranks first, without a path."""

    def __init__(self, estimator, importance, n):
        self.estimator, self.importance, self.n = estimator, importance, n

    def fit(self, X, y):
        """Rank and refit."""
        ranked = self.importance.fit(self.estimator.fit(X, y), X, y).ranking_
        self.columns_ = np.flatnonzero(ranked <= self.n)
        self.n_features_ = self.n
        self.estimator.fit(X[:, self.columns_], y)
        return self

    def predict(self, X):
        """Predict on the chosen columns."""
        return self.estimator.predict(X[:, self.columns_])


def rivals(seed):
    """scikit-learn's selectors with the same forest."""
    forest = RandomForestClassifier(100, random_state=seed)
    return {
        "RFE to 8": RFE(forest, n_features_to_select=8, step=0.1),
        "RFECV": RFECV(forest, step=0.1, cv=3, scoring="balanced_accuracy"),
        "SelectFromModel (mean)": SelectFromModel(forest),
        "Boruta": _boruta(seed),
    }


def _boruta(seed):
    """BorutaPy where it is installed."""
    try:
        from boruta import BorutaPy
    except ImportError:
        return None
    forest = RandomForestClassifier(100, max_depth=7, random_state=seed)
    return BorutaPy(forest, random_state=seed)


def error(model, X, y):
    """Balanced error rate in percent."""
    return 100 * (1 - balanced_accuracy_score(y, model.predict(X)))


def evaluate(selector, data):
    """(number of columns, balanced error %, seconds) on the test set."""
    X, y, X_test, y_test = data
    start = time.perf_counter()
    selector.fit(X, y)
    seconds = time.perf_counter() - start
    if hasattr(selector, "n_features_") and hasattr(selector, "predict"):
        model, test, n = selector, X_test, selector.n_features_
    else:
        forest = RandomForestClassifier(100, random_state=0)
        model = forest.fit(selector.transform(X), y)
        test = selector.transform(X_test)
        n = test.shape[1]
    return n, error(model, test, y_test), seconds


def report(label, figures, n_features):
    """One line: columns, fraction, error and seconds with their spread over seeds."""
    n, errors, seconds = np.array(figures, dtype=float).T
    spread = errors.std(ddof=1) if len(errors) > 1 else 0.0
    print(
        f"{label:38}{n.mean():9.1f} (max {n.max():4.0f}){100 * n.mean() / n_features:8.2f}%"
        f"{errors.mean():9.2f}% ± {spread:4.2f}{seconds.mean():10.1f} s",
        flush=True,
    )


def main():
    """Print the table of one data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(PUBLISHED))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--only", default="", help="rows whose label has this text")
    add_option(parser)
    options = parser.parse_args()
    try:
        data = nips2003(options.name, options.data)
    except NotAvailable as reason:
        print(f"skipped: {reason}")
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    n_features = data[0].shape[1]
    fraction, with_subset, with_all = PUBLISHED[options.name]
    print(
        f"{options.name}: {data[0].shape[0]} x {n_features}, test {len(data[3])} rows"
    )
    print(f"{'':38}{'columns':>9}{'':11}{'fraction':>9}{'BER':>10}{'':7}{'fit':>12}")
    print(
        f"{'published, network, subset':38}{'':20}{fraction:8.2f}%{with_subset:9.2f}%"
    )
    print(f"{'published, network, all columns':38}{'':20}{100:8.2f}%{with_all:9.2f}%")
    everything = [
        (n_features, error(perceptron(seed).fit(*data[:2]), *data[2:]), 0.0)
        for seed in range(options.seeds)
    ]
    report("perceptron, all columns", everything, n_features)
    rows = [rows_of(options.name, seed) for seed in range(options.seeds)]
    if options.rivals:
        for seed, of_seed in enumerate(rows):
            of_seed |= rivals(seed)
    for label in rows[0]:
        if options.only in label and rows[0][label] is not None:
            figures = [evaluate(of_seed[label], data) for of_seed in rows]
            report(label, figures, n_features)


if __name__ == "__main__":
    main()
