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
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SequentialFeatureSelector,
)
from sklearn.metrics import balanced_accuracy_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skvarimp import (
    BackwardEliminationSelector,
    ForwardSelector,
    ImpurityImportance,
    SensitivityImportance,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import NotAvailable, add_option, nips2003
from timer import once

# Tables II and III: fraction of features (%), balanced error (%) with the subset, and
# of the same network with all features.
PUBLISHED = {
    "arcene": (1.5, 29.65, 20.2),
    "dexter": (0.61, 9.70, 15.1),
    "dorothea": (0.07, 22.24, 30.0),
    "madelon": (1.6, 16.38, 31.5),
    "gisette": (1.8, 3.48, 4.3),
}
N_FEATURES = {
    "arcene": 10000,
    "dexter": 20000,
    "dorothea": 100000,
    "madelon": 500,
    "gisette": 5000,
}


# Weight decay of the network, for each column left. With one decay for all steps the
# many columns of the first are learned by heart, or the few of the last too little.
DECAY = {"madelon": 0.006}
OTHER_DECAY = 1e-4
HIDDEN = 60


class _Standardizer(TransformerMixin, BaseEstimator):
    """Unit variance; zero mean too where X is dense."""

    def fit(self, X, y=None):
        """Learn means and spreads."""
        self.scaler_ = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
        return self

    def transform(self, X):
        """Standardise."""
        return self.scaler_.transform(X)


class _Perceptron(ClassifierMixin, BaseEstimator):
    """One hidden tanh layer whose weight decay grows with the number of columns."""

    def __init__(self, decay=0.006, random_state=None):
        self.decay = decay
        self.random_state = random_state

    def fit(self, X, y):
        """Train the network."""
        self.network_ = MLPClassifier(
            hidden_layer_sizes=(HIDDEN,),
            activation="tanh",
            alpha=self.decay * X.shape[1],
            learning_rate_init=0.005,
            max_iter=100,
            random_state=self.random_state,
        ).fit(X, y)
        self.classes_ = self.network_.classes_
        return self

    def predict(self, X):
        """Classes."""
        return self.network_.predict(X)

    def predict_proba(self, X):
        """Probabilities."""
        return self.network_.predict_proba(X)


def perceptron(name, seed):
    """The network on standardised columns."""
    decay = DECAY.get(name, OTHER_DECAY)
    return make_pipeline(_Standardizer(), _Perceptron(decay, seed))


def papers_rule(name, seed):
    """The paper's elimination with the paper's measure."""
    observed = SensitivityImportance(
        contrast="observed", scale=None, estimation="sampled", n_draws=4
    )
    return BackwardEliminationSelector(
        perceptron(name, seed),
        observed,
        step=0.1 if name == "madelon" else 0.2,
        scoring="balanced_accuracy",
        random_state=seed,
    )


class _FirstOf:
    """The columns an importance ranks first, without a path."""

    def __init__(self, estimator, importance, n):
        self.estimator, self.importance, self.n = estimator, importance, n

    def fit(self, X, y):
        """Rank and refit."""
        importances = self.importance.fit(self.estimator.fit(X, y), X, y).importances_
        self.columns_ = np.sort(np.argsort(-importances, kind="stable")[: self.n])
        self.n_features_ = self.n
        self.estimator.fit(X[:, self.columns_], y)
        return self

    def predict(self, X):
        """Predict on the chosen columns."""
        return self.estimator.predict(X[:, self.columns_])


def impurity():
    """A forest's own importance, read from the fit."""
    return ImpurityImportance(convention="sklearn")


def down_to(n, seed):
    """Extra trees on the last `n` columns of the elimination."""
    return BackwardEliminationSelector(
        ExtraTreesClassifier(100, random_state=seed),
        impurity(),
        step=0.1,
        min_features_to_select=n,
        performance_threshold=0.0,
        scoring="balanced_accuracy",
        random_state=seed,
    )


def rows_of(name, seed):
    """{label: selector} of our own selectors."""
    rows = {"network, the paper's rule": papers_rule(name, seed)}
    if name == "madelon":
        forest = RandomForestClassifier(100, random_state=seed)
        rows["forest, the paper's rule"] = BackwardEliminationSelector(
            forest, impurity(), step=0.1, scoring="balanced_accuracy", random_state=seed
        )
        return rows | {f"extra trees, {n} columns": down_to(n, seed) for n in (8, 15)}
    fraction, n_features = PUBLISHED[name][0], N_FEATURES[name]
    n = int(fraction / 100 * n_features)
    trees = ExtraTreesClassifier(500, random_state=seed)
    rows["extra trees, the paper's fraction"] = _FirstOf(trees, impurity(), n)
    rows["extra trees, forward"] = ForwardSelector(
        trees,
        impurity(),
        step=n // 4,
        min_features_to_select=n // 4,
        importance_threshold=0.05,
        scoring="balanced_accuracy",
        random_state=seed,
    )
    return rows


def rivals(name, seed):
    """Other selectors with a forest; where they choose no number, the paper's."""
    n = int(PUBLISHED[name][0] / 100 * N_FEATURES[name])
    forest = RandomForestClassifier(100, random_state=seed)
    rows = {
        f"RFE to {n}": RFE(forest, n_features_to_select=n, step=0.1),
        "RFECV, 3 folds": RFECV(forest, step=0.1, cv=3, scoring="balanced_accuracy"),
        "SelectFromModel, mean": SelectFromModel(forest),
    }
    if name == "madelon":  # a forest would need 12000 fits, and 20000 columns more
        rows[f"SequentialFeatureSelector, tree, {n}"] = SequentialFeatureSelector(
            DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
            n_features_to_select=n,
            scoring="balanced_accuracy",
            cv=3,
        )
    boruta = _boruta(seed)
    return rows | ({"Boruta": boruta} if boruta else {})


def _boruta(seed):
    """BorutaPy where it is installed, else None and a line that says so."""
    try:
        from boruta import BorutaPy
    except ImportError:
        print("Boruta is not installed: pip install Boruta")
        return None

    class Dense(BorutaPy):
        def fit(self, X, y):
            return super().fit(X.toarray() if sparse.issparse(X) else X, y)

        def transform(self, X):
            return X[:, self.support_]

    forest = RandomForestClassifier(100, max_depth=7, random_state=seed)
    return Dense(forest, random_state=seed)


def error(model, X, y):
    """Balanced error rate in percent."""
    return 100 * (1 - balanced_accuracy_score(y, model.predict(X)))


def evaluate(selector, data):
    """(number of columns, balanced error %, CPU seconds) on the test set."""
    X, y, X_test, y_test = data
    _, spent = once(selector.fit, X, y)
    if hasattr(selector, "n_features_") and hasattr(selector, "predict"):
        model, test, n = selector, X_test, selector.n_features_
    else:
        forest = RandomForestClassifier(100, random_state=0)
        model = forest.fit(selector.transform(X), y)
        test = selector.transform(X_test)
        n = test.shape[1]
    return n, error(model, test, y_test), spent.cpu


def report(label, figures, n_features):
    """One line: columns, fraction, error and CPU seconds, means over seeds."""
    n, errors, seconds = np.array(figures, dtype=float).T
    spread = errors.std(ddof=1) if len(errors) > 1 else 0.0
    print(
        f"{label:38}{n.mean():9.1f} (max {n.max():4.0f})"
        f"{100 * n.mean() / n_features:8.2f}%"
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
    if options.only in "network, all columns":
        everything = []
        for seed in range(options.seeds):
            network = perceptron(options.name, seed)
            _, spent = once(network.fit, *data[:2])
            everything.append((n_features, error(network, *data[2:]), spent.cpu))
        report("network, all columns", everything, n_features)
    rows = [rows_of(options.name, seed) for seed in range(options.seeds)]
    if options.rivals:
        for seed, of_seed in enumerate(rows):
            of_seed |= rivals(options.name, seed)
    for label in rows[0]:
        if options.only in label:
            figures = [evaluate(of_seed[label], data) for of_seed in rows]
            report(label, figures, n_features)


if __name__ == "__main__":
    main()
