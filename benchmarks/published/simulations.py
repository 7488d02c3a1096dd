"""The simulated data of publications, and how a model is chosen for some of them.

Needs scikit-learn only, so that rivals may run in an environment of their own.
"""

import numpy as np
from scipy.linalg import toeplitz
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

TARGETS = ("linear", "products", "both", "relu", "classes")
UPPER_QUARTILE = 0.674490  # of the standard normal distribution
EFFECTS = np.array([-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0])


def chamma(seed, target, n=1000, p=50, n_signals=20):
    """X, y and which columns are signals (Chamma, Engemann & Thirion 2023).

    As their published generator does: the signals are 20 random columns of the ten
    blocks, and "relu" is max(0, linear part + noise).
    """
    random = np.random.default_rng(seed)
    block = np.full((p // 10, p // 10), 0.8) + 0.2 * np.eye(p // 10)
    root = np.linalg.cholesky(np.kron(np.eye(10), block))
    X = random.standard_normal((n, p)) @ root.T
    signals = random.choice(p, n_signals, replace=False)
    first, second = np.triu_indices(n_signals, 1)
    Z = X[:, signals]
    linear = Z @ random.choice(EFFECTS, n_signals)
    products = (Z[:, first] * Z[:, second]) @ random.choice(EFFECTS, len(first))
    is_signal = np.isin(np.arange(p), signals)
    if target == "classes":
        chance = 1.0 / (1.0 + np.exp(-linear))
        y = (random.random(n) < chance).astype(int)
        while min(y.mean(), 1.0 - y.mean()) < 0.1:
            y = (random.random(n) < chance).astype(int)
        return X, y, is_signal
    mean = {"products": products, "both": linear + products}.get(target, linear)
    sigma = np.linalg.norm(mean) / (4.0 * np.sqrt(n))
    y = mean + sigma * random.standard_normal(n)
    return X, np.maximum(y, 0.0) if target == "relu" else y, is_signal


def watson_wright(seed, version, n=1000, p=10):
    """X and y (Watson & Wright 2021): coefficients 0, 0.1, ..., 0.9, noise 1.

    "linear", or "step": each column counts as 1 between its quartiles and else as -1.
    """
    random = np.random.default_rng(seed)
    root = np.linalg.cholesky(toeplitz(0.5 ** np.arange(p)))
    X = random.standard_normal((n, p)) @ root.T
    Z = X if version == "linear" else np.where(np.abs(X) <= UPPER_QUARTILE, 1.0, -1.0)
    return X, Z @ (np.arange(p) / p) + random.standard_normal(n)


def candidates(classes):
    """Name -> unfitted model: the same four families for every target."""
    products = PolynomialFeatures(2, include_bias=False)
    hidden = {"hidden_layer_sizes": (20,), "solver": "lbfgs", "alpha": 10.0}
    hidden |= {"max_iter": 200, "random_state": 0}
    boosting = {"max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
    if classes:
        lasso = {"solver": "liblinear"}
        few = {"Cs": np.logspace(-2, 1, 6), "cv": 3, "l1_ratios": (1.0,)}
        few |= {"scoring": "neg_log_loss", "use_legacy_attributes": False}
        return {
            "lasso": make_pipeline(
                StandardScaler(), LogisticRegressionCV(**lasso, **few)
            ),
            "lasso on products": make_pipeline(
                products,
                StandardScaler(),
                LogisticRegression(C=0.03, l1_ratio=1.0, **lasso),
            ),
            "boosting": HistGradientBoostingClassifier(**boosting),
            "perceptron": make_pipeline(StandardScaler(), MLPClassifier(**hidden)),
        }
    few = {"cv": 3, "alphas": 20, "eps": 1e-2, "max_iter": 200, "tol": 1e-3}
    perceptron = make_pipeline(StandardScaler(), MLPRegressor(**hidden))
    return {
        "lasso": make_pipeline(StandardScaler(), LassoCV(cv=3, alphas=50)),
        "lasso on products": make_pipeline(products, StandardScaler(), LassoCV(**few)),
        "boosting": HistGradientBoostingRegressor(**boosting),
        "perceptron": TransformedTargetRegressor(
            perceptron, transformer=StandardScaler()
        ),
    }


def chosen(X, y):
    """(name, unfitted model) of the best mean score over three folds of all rows."""
    classes = y.dtype.kind == "i"
    models = candidates(classes)
    how = {"cv": 3, "scoring": "neg_log_loss" if classes else "r2"}
    scores = {n: cross_val_score(m, X, y, **how).mean() for n, m in models.items()}
    name = max(scores, key=scores.get)
    return name, models[name]


class _Chosen(BaseEstimator):
    """Chooses among the families on the rows that it is fitted on, and fits one.

    Refitted in folds, it never sees the held-out rows, for the choice neither.
    """

    def fit(self, X, y):
        """Choose by `chosen`, then fit on all of these rows."""
        self.name_, model = chosen(X, y)
        self.model_ = model.fit(X, y)
        return self

    def predict(self, X):
        """Of the model chosen."""
        return self.model_.predict(X)


class ChosenRegressor(RegressorMixin, _Chosen):
    """Of regressors."""


class ChosenClassifier(ClassifierMixin, _Chosen):
    """Of classifiers."""

    @property
    def classes_(self):
        """Of the model chosen."""
        return self.model_.classes_

    def predict_proba(self, X):
        """Of the model chosen."""
        return self.model_.predict_proba(X)


def chooser(y):
    """An unfitted model that chooses for itself wherever it is fitted."""
    return ChosenClassifier() if y.dtype.kind == "i" else ChosenRegressor()


def autoregressive(seed, p, size, n=400, share=0.1):
    """X, y and which columns are signals: the set-up of knockpy's first example.

    Correlations 0.5^|i - j|, a share of the coefficients plus or minus `size`, noise 1.
    """
    random = np.random.default_rng(seed)
    root = np.linalg.cholesky(toeplitz(0.5 ** np.arange(p)))
    X = random.standard_normal((n, p)) @ root.T
    slopes = np.zeros(p)
    signals = random.choice(p, int(share * p), replace=False)
    slopes[signals] = size * random.choice([-1.0, 1.0], len(signals))
    return X, X @ slopes + random.standard_normal(n), slopes != 0


BLANKET = ("parent a", "parent b", "child", "spouse")


def gaussian_graph(seed, n):
    """Columns by name, and y: a linear Gaussian graph.

    grandparents -> parents -> y -> child -> grandchild, spouse -> child, parent a ->
    sibling, spouse -> stepchild, and a column of noise. Slopes 1, noise of variance 1.
    Given its Markov blanket, y is independent of all other columns.
    """
    random = np.random.default_rng(seed)
    names = ("grandparent a", "grandparent b", "spouse", "noise")
    X = {name: random.standard_normal(n) for name in names}

    def effect(*causes):
        return sum(causes) + random.standard_normal(n)

    X["parent a"] = effect(X["grandparent a"])
    X["parent b"] = effect(X["grandparent b"])
    y = effect(X["parent a"], X["parent b"])
    X["child"] = effect(y, X["spouse"])
    X["grandchild"] = effect(X["child"])
    X["sibling"] = effect(X["parent a"])
    X["stepchild"] = effect(X["spouse"])
    return X, y


LEVELS = (2, 4, 10, 20)


def columns_of_many_levels(seed, strength, kind, n=1000):
    """X and y of Zhou & Hooker (2021), section 3.3.

    One normal column, and columns with 2, 4, 10 and 20 equally likely values. y depends
    on the second column, if on any: "classes" have P(y = 1) = 1/2 plus or minus half
    the strength, "regression" has the strength as slope and noise of variance 1.
    """
    random = np.random.default_rng(seed)
    codes = [random.integers(0, k, n) for k in LEVELS]
    X = np.column_stack([random.standard_normal(n), *codes])
    if kind == "classes":
        chance = 0.5 + strength * (X[:, 1] - 0.5)
        return X, (random.random(n) < chance).astype(int)
    return X, strength * X[:, 1] + random.standard_normal(n)


def two_columns(seed, n=10_000):
    """X and y of the example of Williamson et al.: y = 1 + x1 / 2 + 3 x2 / 4 + e."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    return X, 1 + X @ [0.5, 0.75] + random.standard_normal(n)
