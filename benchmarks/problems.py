"""The benchmark's problems: model family x rows x columns, fitted on simulated data."""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

SHUFFLES = ("sklearn_permutation",)  # what the first table compares with
ALIKE = (
    *SHUFFLES,
    "model_diagnostics",
    "hidimstat_pfi",
    "dalex_parts",
    "sklearn_partial_dependence",
)
CURVES = ("woodelf_partial_dependence",)


@dataclass(frozen=True)
class BenchmarkProblem:
    """A model to fit and the size of its data.

    Attributes
    ----------
    name : str
    model : estimator or str
        Unfitted; or the name of a boosting library, for 100 trees of its defaults.
    n, p : int
        Rows and columns.
    aims : tuple of (float or None, float or None)
        Largest ratios to ten random permutations that we aim at: with compiled kernels,
        where the model is served by them, and in plain NumPy, which is run where
        there is an aim.
    rivals : tuple of str
        Modules of `rivals` that are given the model. Those that would take more than
        half a minute are left out, so that the whole run ends within ten minutes.
    n_classes : int
        Of a classifier's target.
    """

    name: str
    model: object
    n: int
    p: int
    aims: tuple = (None, None)
    rivals: tuple = SHUFFLES
    n_classes: int = 2

    def available(self):
        """Whether the model's library is installed."""
        return not isinstance(self.model, str) or find_spec(self.model) is not None

    def fitted(self):
        """(fitted model, X, y): smooth, with interactions and unused columns."""
        random = np.random.default_rng(0)
        X = random.standard_normal((self.n, self.p))
        y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + np.abs(X[:, 3])
        y = y + 0.5 * random.standard_normal(self.n)
        model = of_library(self.model) if isinstance(self.model, str) else self.model
        if is_classifier(model):
            shares = np.arange(1, self.n_classes) / self.n_classes
            y = np.digitize(y, np.quantile(y, shares))
        # kernel machines and networks are fitted on a part, which sets their size
        n_fit = min(self.n, 20_000)
        return model.fit(X[:n_fit], y[:n_fit]), X, y


def forest():
    """100 trees down to single rows."""
    return RandomForestRegressor(100, random_state=0)


def boosting(max_depth=3):
    """100 small trees."""
    return GradientBoostingRegressor(max_depth=max_depth, random_state=0)


def perceptron():
    """One hidden ReLU layer of 100 units."""
    return MLPRegressor(hidden_layer_sizes=(100,), max_iter=20, random_state=0)


def of_library(name):
    """100 trees of a boosting library's own defaults, on one thread."""
    if name == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=100, n_jobs=1, random_state=0)
    if name == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=100, n_jobs=1, random_state=0, verbose=-1)
    from catboost import CatBoostRegressor

    quiet = {"verbose": 0, "allow_writing_files": False}
    return CatBoostRegressor(iterations=100, thread_count=1, random_seed=0, **quiet)


def components():
    """Logistic regression on ten principal components."""
    return make_pipeline(StandardScaler(), PCA(10), LogisticRegression())


def calibrated():
    """The mean of three forests, each behind a sigmoid."""
    forest = RandomForestClassifier(100, random_state=0)
    return CalibratedClassifierCV(forest, cv=3)


def polynomial():
    """A ridge of products of two columns."""
    return make_pipeline(PolynomialFeatures(2), Ridge())


PROBLEMS = [
    BenchmarkProblem("Ridge", Ridge(), 5000, 20, (0.25, None), ALIKE),
    BenchmarkProblem("Ridge", Ridge(), 100_000, 100),
    BenchmarkProblem(
        "logistic, probability", LogisticRegression(), 5000, 20, (0.5, None), ALIKE
    ),
    BenchmarkProblem("forest, 100 trees", forest(), 1000, 10, (0.15, 0.45), ALIKE),
    BenchmarkProblem("forest, 100 trees", forest(), 5000, 20, (0.19, None)),
    BenchmarkProblem(
        "boosting, 100 trees",
        boosting(),
        1000,
        10,
        (None, 0.4),
        (*ALIKE, *CURVES, "alibi_variance", "shap_tree"),
    ),
    BenchmarkProblem(
        "boosting, 100 trees",
        boosting(),
        20_000,
        20,
        (0.07, 0.4),
        (*SHUFFLES, "model_diagnostics", *CURVES),
    ),
    BenchmarkProblem(
        "boosting, 100 trees", boosting(), 100_000, 20, (0.07, None), SHUFFLES + CURVES
    ),
    BenchmarkProblem(
        "histogram boosting",
        HistGradientBoostingRegressor(random_state=0),
        100_000,
        20,
        (0.05, None),
    ),
    # shallow and deep trees of many rows; the deep ones take woodelf-explainer long
    BenchmarkProblem(
        "stumps, 100 trees", boosting(max_depth=1), 100_000, 20, rivals=CURVES
    ),
    BenchmarkProblem(
        "histogram boosting, depth 10",
        HistGradientBoostingRegressor(
            max_depth=10, max_leaf_nodes=None, max_iter=50, random_state=0
        ),
        100_000,
        20,
        rivals=(),
    ),
    BenchmarkProblem("SVR (RBF)", SVR(C=10.0), 2000, 20, (0.08, None)),
    BenchmarkProblem("perceptron, 100 ReLU", perceptron(), 2000, 20, rivals=ALIKE),
    BenchmarkProblem(
        "logistic, 3 classes", LogisticRegression(), 1000, 10, rivals=ALIKE, n_classes=3
    ),
    BenchmarkProblem(
        "logistic, 3 classes", LogisticRegression(), 5000, 20, n_classes=3
    ),
    *(
        BenchmarkProblem(name, library, 20_000, 20, rivals=SHUFFLES + CURVES)
        for name, library in (
            ("XGBoost, 100 trees", "xgboost"),
            ("LightGBM, 100 trees", "lightgbm"),
            ("CatBoost, 100 trees", "catboost"),
        )
    ),
    *(
        BenchmarkProblem(name, model, 2000, 20)
        for name, model in (
            ("components, logistic", components()),
            ("calibrated forest", calibrated()),
        )
    ),
    *(  # all values of a black box: the cost grows with the square of the rows
        BenchmarkProblem(name, model, 500, 20)
        for name, model in (
            ("Gaussian naive Bayes", GaussianNB()),
            ("quadratic discriminants", QuadraticDiscriminantAnalysis()),
            ("polynomial features, Ridge", polynomial()),
        )
    ),
]
