"""Votes, bagging, thresholds, scaled targets and projections equal the black box."""

import warnings
from itertools import cycle

import numpy as np
import pytest
from combinations import each, half, one_per
from response_oracle import check_equal
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

N = 40
RANDOM = np.random.RandomState(0)
X = np.round(RANDOM.normal(size=(N, 4)), 1)
X[:, 2] = RANDOM.randint(0, 3, N)
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * RANDOM.normal(size=N)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
WEIGHTS = RANDOM.uniform(0.2, 2, N)
SMALL = {"max_depth": 3, "random_state": 0}


def vote(kind, *members, **options):
    """A vote of members."""
    named = [(f"m{k}", member) for k, member in enumerate(members)]
    return kind(named, **options)


def bagged(member, kind=BaggingRegressor, **options):
    """Three members, seeded."""
    return kind(member, n_estimators=3, random_state=0, **options)


def exponential(member):
    """The exponential of a model, which is fitted to numbers of any sign."""
    return TransformedTargetRegressor(
        member, func=np.positive, inverse_func=np.exp, check_inverse=False
    )


FOREST = RandomForestRegressor(3, **SMALL)
BOOSTED = GradientBoostingClassifier(n_estimators=3, **SMALL)
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
REGRESSORS = [
    # model, path
    (vote(VotingRegressor, Ridge(), LinearRegression(), weights=[1, 3]), "linear"),
    (vote(VotingRegressor, FOREST, DecisionTreeRegressor(**SMALL)), "trees"),
    (vote(VotingRegressor, FOREST, Ridge()), "vote of"),
    (vote(VotingRegressor, SVR(), SVR(gamma=0.1), Ridge()), "vote of"),
    (bagged(Ridge(), max_features=3), "linear"),
    (bagged(Ridge(), max_features=3, bootstrap_features=True), "linear"),
    (bagged(SVR(), max_features=3), "bagging of column-wise steps, kernel"),
    (bagged(SVR(kernel="poly"), max_features=3), "bagging of kernel"),
    (
        bagged(MLPRegressor(hidden_layer_sizes=[3], max_iter=3), max_features=3),
        "bagging of network",
    ),
    (bagged(GradientBoostingRegressor(n_estimators=3), max_features=2), "trees"),
    (bagged(HistGradientBoostingRegressor(max_iter=3), max_features=2), "trees"),
    (bagged(make_pipeline(MinMaxScaler(), Ridge())), "bagging of column-wise"),
    (TransformedTargetRegressor(Ridge(), transformer=StandardScaler()), "linear"),
    (TransformedTargetRegressor(FOREST, transformer=MinMaxScaler()), "trees"),
    (exponential(Ridge()), "transformed target, linear"),
    (exponential(SVR()), "transformed target, kernel"),
    (exponential(make_pipeline(StandardScaler(), SVR())), "transformed target, col"),
    (exponential(FOREST), "transformed target, trees"),
    (make_pipeline(PCA(3), Ridge()), "linear"),
    (make_pipeline(StandardScaler(), PCA(whiten=True), Ridge()), "column-wise"),
    (make_pipeline(PCA(3), StandardScaler(), SVR(kernel="linear")), "linear"),
    (make_pipeline(PCA(3), SVR(kernel="poly", coef0=1)), "kernel"),
    (make_pipeline(PCA(3), SVR(kernel="sigmoid", gamma=0.1)), "kernel"),
    (
        make_pipeline(
            TruncatedSVD(2), MLPRegressor(hidden_layer_sizes=[4], max_iter=3)
        ),
        "network",
    ),
    (make_pipeline(FactorAnalysis(2), Ridge()), "linear"),
    (make_pipeline(FastICA(3, random_state=0), Ridge()), "linear"),
    (make_pipeline(GaussianRandomProjection(2), Ridge()), "linear"),
    (make_pipeline(PCA(3), SelectKBest(f_regression, k=2), Ridge()), "linear"),
    (make_pipeline(PCA(2), vote(VotingRegressor, Ridge(), Ridge(3))), "linear"),
    (
        make_pipeline(
            SelectKBest(f_regression, k=1), make_pipeline(StandardScaler(), Ridge())
        ),
        "column-wise",
    ),
]
LABELS = [
    (vote(VotingClassifier, SCALED, SVC(), DecisionTreeClassifier(**SMALL)), "predict"),
    (vote(VotingClassifier, SCALED, LinearSVC(), voting="hard"), "predict"),
    (
        vote(
            VotingClassifier,
            SCALED,
            LinearSVC(),
            LogisticRegression(),
            weights=[1, 2, 0.5],
        ),
        "predict",
    ),
    (vote(VotingClassifier, SCALED, BOOSTED, voting="soft"), "predict"),
    (vote(VotingClassifier, SCALED, BOOSTED, voting="soft"), "predict_proba"),
    (bagged(SCALED, BaggingClassifier, max_features=3), "predict_proba"),
    (bagged(SCALED, BaggingClassifier), "predict"),
    (bagged(BOOSTED, BaggingClassifier), "predict_proba"),
    (bagged(BOOSTED, BaggingClassifier, max_features=3), "predict"),
    (bagged(HistGradientBoostingClassifier(max_iter=2), BaggingClassifier), "auto"),
    (bagged(RandomForestClassifier(2), BaggingClassifier), "predict"),
    (bagged(LinearSVC(), BaggingClassifier), "predict_proba"),
    (bagged(LinearSVC(), BaggingClassifier), "predict"),
    (bagged(LinearSVC(), BaggingClassifier), "decision_function"),
    (make_pipeline(PCA(3), LogisticRegression()), "predict_proba"),
    (make_pipeline(LinearDiscriminantAnalysis(), LogisticRegression()), "auto"),
]
TARGETS = [(TWO, WEIGHTS), (THREE, None)]
THRESHOLDS = [
    FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    FixedThresholdClassifier(LogisticRegression(), pos_label="no", threshold=0.6),
    FixedThresholdClassifier(
        LinearSVC(), pos_label="no", threshold=0.1, response_method="decision_function"
    ),
    FixedThresholdClassifier(SCALED),
    FixedThresholdClassifier(RandomForestClassifier(3, **SMALL), threshold=0.4),
    TunedThresholdClassifierCV(LogisticRegression(), cv=2, thresholds=10),
]


def fitted(model, y):
    """The model, its warnings about short fits aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def short(value):
    """A readable parameter name."""
    return "" if isinstance(value, np.ndarray) else f"{value!r:.60}"


def checked(model, method, weights):
    """The response, equal to the black box for columns and a group."""
    return check_equal(model, X, weights, method, [0, 1, 2, 3, [0, 2]], ["all", 3])


@pytest.mark.parametrize(
    ("model", "path", "weights"),
    half(
        one_per(
            lambda model, path, weights: path,
            [(*case, w) for case, w in zip(REGRESSORS, cycle([None, WEIGHTS]))],
        )
    ),
    ids=short,
)
def test_regressors(model, path, weights):
    """Sums of one kind of form are that form; others are combined."""
    assert checked(fitted(model, Y), "auto", weights).path.startswith(path)


@pytest.mark.parametrize(
    ("model", "method", "target"),
    one_per(
        lambda model, method, target: (type(model), method),
        [
            (*case, TARGETS[(i + k) % 2])
            for k in (0, 1)
            for i, case in enumerate(LABELS)
        ],
    ),
    ids=short,
)
def test_classifiers(model, method, target):
    """Probabilities, scores and labels of several members."""
    y, weights = target
    checked(fitted(model, y), method, weights)


@pytest.mark.parametrize(
    ("model", "method"), each(THRESHOLDS, ["predict", "auto"]), ids=short
)
def test_thresholds(model, method):
    """Of either class, on probabilities and decisions, also in a pipeline."""
    if method == "predict":
        checked(fitted(model, TWO), method, WEIGHTS)
    else:
        checked(fitted(make_pipeline(StandardScaler(), model), TWO), method, None)


def test_hard_votes_of_forests_that_are_undecided():
    """Where two trees of a member disagree, the member itself is asked."""
    member, other = (RandomForestClassifier(2, random_state=r) for r in (0, 1))
    model = fitted(vote(VotingClassifier, member, other, voting="hard"), TWO)
    fast = check_equal(model, X, None, "predict", [0, 2], ["all", 3])
    assert fast.path.startswith("vote of trees")
