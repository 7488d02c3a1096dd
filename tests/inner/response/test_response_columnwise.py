"""Column-wise pipelines, votes, searches and transformed targets equal the black box.

The inner response is a stand-in that asks the final estimator itself, so that these
tests see the way columns and values are carried over and nothing else.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half
from response_oracle import beside_black_box
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.feature_selection import (
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
    r_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor

from skvarimp import SensitivityImportance
from skvarimp._data.table import resolve_features
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models import registry as _registry
from skvarimp._models.forms import Form
from skvarimp._models.readers import linear as _readers
from skvarimp._models.transformers import NotColumnwise, sources
from skvarimp._response import probe as _probe
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import Observed, Pairs, Range


class StandIn(Form):
    """A form whose response asks the final estimator itself."""


def stand_in(model, form, table):
    """The response of a `StandIn`."""
    response = BlackBoxResponse(model, model(table.native).shape[1])
    response.path = "stand-in"
    return response


@pytest.fixture
def neighbours_read(monkeypatch):
    """Enter nearest neighbours in the registry for the time of a test."""
    monkeypatch.setattr(_readers, "_stand_in", lambda *_: StandIn(), raising=False)
    monkeypatch.setitem(_probe.RESPONSES, StandIn, stand_in)
    names = ("KNeighborsRegressor", "KNeighborsClassifier")
    neighbours = dict.fromkeys(names, "linear._stand_in")
    monkeypatch.setitem(_registry.REGISTRY, "sklearn.neighbors", neighbours)


def frame(n=40):
    """Numbers, missing values, strings, a boolean; and a target."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "a": random.randn(n),
            "b": np.where(random.rand(n) < 0.2, np.nan, random.randint(0, 5, n)),
            "c": random.choice(["u", "v", "w", "z"], n, p=[0.4, 0.4, 0.1, 0.1]),
            "d": random.rand(n) < 0.4,
            "e": random.exponential(size=n),
        }
    )
    y = X["a"] + X["b"].fillna(1) * (X["c"] == "u") + X["e"] * X["d"]
    return X, y.to_numpy()


NUMERIC = ["a", "b", "e"]


def mixed(numeric, categorical, **kwargs):
    """A ColumnTransformer of the two parts."""
    return ColumnTransformer(
        [("num", numeric, NUMERIC), ("cat", categorical, ["c", "d"])], **kwargs
    )


IMPUTED = make_pipeline(SimpleImputer(), StandardScaler())
ONE_HOT = OneHotEncoder(sparse_output=False)

FRAME_STEPS = {
    "one-hot": mixed(IMPUTED, ONE_HOT),
    "one-hot sparse": mixed(IMPUTED, OneHotEncoder(), sparse_threshold=1.0),
    "drop first": mixed(IMPUTED, OneHotEncoder(drop="first", sparse_output=False)),
    "if binary": mixed(IMPUTED, OneHotEncoder(drop="if_binary", sparse_output=False)),
    "infrequent": mixed(
        IMPUTED, OneHotEncoder(min_frequency=0.15, sparse_output=False)
    ),
    "ordinal": mixed(IMPUTED, OrdinalEncoder()),
    "target": mixed(IMPUTED, TargetEncoder()),
    "indicator": mixed(SimpleImputer(add_indicator=True), ONE_HOT),
    "union": mixed(make_union(SimpleImputer(), MissingIndicator()), ONE_HOT),
    "passthrough": ColumnTransformer(
        [("cat", ONE_HOT, [2, 3]), ("num", SimpleImputer(), [1])],
        remainder="passthrough",
    ),
    "dropped": ColumnTransformer([("n", IMPUTED, ["a", "b"]), ("no", "drop", ["e"])]),
    "twice": ColumnTransformer(
        [
            ("one", SimpleImputer(), ["a", "b"]),
            ("two", make_pipeline(SimpleImputer(), Binarizer()), ["b", "e"]),
            ("three", ONE_HOT, slice("c", "d")),
        ]
    ),
    "mask": ColumnTransformer(
        [("m", SimpleImputer(), np.array([True, True, False, False, True]))]
    ),
    "frame out": mixed(IMPUTED, ONE_HOT).set_output(transform="pandas"),
}


def both(model, X, y, contrast="pairs", **kwargs):
    """(fast, black box) importances of one model; the fast path must be taken."""
    parameters = {
        "contrast": contrast,
        "estimation": "exact",
        "scale": None,
        "grid": "all",
        **kwargs,
    }
    weights = np.random.RandomState(1).uniform(0.5, 2, len(y))
    fast = SensitivityImportance(**parameters).fit(model, X, sample_weight=weights)
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    slow = SensitivityImportance(**parameters).fit(
        lambda X: (
            np.squeeze(getattr(model, method)(X)[..., 1:])
            if method == "predict_proba"
            else model.predict(X)
        ),
        X,
        sample_weight=weights,
    )
    assert slow.response_path_.startswith("black box")
    assert "stand-in" in fast.response_path_
    np.testing.assert_allclose(
        fast.importances_, slow.importances_, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        fast.standard_errors_, slow.standard_errors_, rtol=1e-7, atol=1e-12
    )
    return fast


@pytest.mark.usefixtures("neighbours_read")
@pytest.mark.parametrize("name", half(FRAME_STEPS))
def test_frames_through_column_transformers(name):
    """Single columns and a group across the two parts."""
    X, y = frame()
    model = make_pipeline(FRAME_STEPS[name], KNeighborsRegressor(3)).fit(X, y)
    features = [*X.columns, ["b", "c"]]
    both(model, X, y, features=features)
    if name == "one-hot":
        for contrast in ("observed", "range"):
            both(model, X, y, contrast, features=features)
        polars = pl.from_pandas(X)
        model = make_pipeline(FRAME_STEPS[name], KNeighborsRegressor(3)).fit(polars, y)
        both(model, polars, y, features=features)


class EverySecond(SelectorMixin, BaseEstimator):
    """A selector that no list names."""

    def fit(self, X, y=None):
        """Count the columns."""
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return np.arange(self.n_features_in_) % 2 == 0


ARRAY_STEPS = {
    "scalers": make_pipeline(
        StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()
    ),
    "transforms": make_pipeline(
        PowerTransformer(), QuantileTransformer(n_quantiles=10)
    ),
    "ufunc": FunctionTransformer(np.arctan, np.tan),
    "splines": SplineTransformer(4),
    "bins": KBinsDiscretizer(3, strategy="uniform"),
    "ordinal bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "degree one": PolynomialFeatures(1),
    "selected": make_pipeline(
        VarianceThreshold(), SelectKBest(r_regression, k=2), StandardScaler()
    ),
    "selected by another": EverySecond(),
    "union": FeatureUnion([("a", StandardScaler()), ("b", Binarizer())]),
    "nothing": "passthrough",
}


@pytest.mark.usefixtures("neighbours_read")
@pytest.mark.parametrize("name", half(ARRAY_STEPS))
def test_array_steps(name):
    """Every column-wise transformer of numbers, all kinds of grid."""
    random = np.random.RandomState(0)
    X = random.randn(30, 4)
    X[:, 2] = random.randint(0, 4, 30)
    y = X[:, 0] * X[:, 2] + X[:, 1]
    model = make_pipeline(ARRAY_STEPS[name], KNeighborsRegressor(3)).fit(X, y)
    both(model, X, y, features=[0, 1, 2, 3, [0, 2]])
    for grid in ("deciles", 5, {"x0": [-1.0, 0.25, 2.0]}):
        both(model, X, y, grid=grid)


@pytest.mark.usefixtures("neighbours_read")
def test_votes_searches_frozen_and_transformed_targets():
    """The estimators around others."""
    random = np.random.RandomState(0)
    X = random.randn(30, 3)
    y = np.exp(X[:, 0] * X[:, 1])
    one, two = (
        KNeighborsRegressor(2),
        make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
    )
    models = [
        VotingRegressor([("a", one), ("b", two)], weights=[1, 3]),
        VotingRegressor([("a", one), ("b", "drop"), ("c", two)], weights=[1, 7, 3]),
        GridSearchCV(two, {"kneighborsregressor__n_neighbors": [2, 3]}),
        TransformedTargetRegressor(one, func=np.log, inverse_func=np.exp),
        TransformedTargetRegressor(two, transformer=PowerTransformer()),
        TransformedTargetRegressor(one, transformer=StandardScaler()),
    ]
    for model in models:
        both(model.fit(X, y), X, y)
    both(FrozenEstimator(one.fit(X, y)), X, y)
    soft = VotingClassifier(
        [
            ("a", KNeighborsClassifier(5)),
            ("b", make_pipeline(StandardScaler(), KNeighborsClassifier(7))),
        ],
        voting="soft",
        weights=[2, 1],
    )
    both(soft.fit(X, y > 1), X, y > 1)


def minus_mean(X):
    """Not element-wise: depends on the other rows."""
    return X - X.mean(axis=0)


@pytest.mark.usefixtures("neighbours_read")
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (make_pipeline(Normalizer(), KNeighborsRegressor()), "Normalizer is not a col"),
        (make_pipeline(PolynomialFeatures(2), KNeighborsRegressor()), "multiplies"),
        (
            make_pipeline(FunctionTransformer(minus_mean), KNeighborsRegressor()),
            "no NumPy ufunc",
        ),
        (
            TransformedTargetRegressor(
                KNeighborsRegressor(),
                func=lambda y: 2 * y,
                inverse_func=lambda y: y / 2,
            ),
            "not element-wise",
        ),
    ],
)
def test_declines_with_a_reason(model, reason):
    """Anything that may mix columns or rows goes to the black box, with the reason."""
    random = np.random.RandomState(0)
    X = random.randn(30, 3)
    imp = SensitivityImportance(scale=None).fit(model.fit(X, X[:, 0] + 2), X)
    assert imp.response_path_.startswith("black box")
    assert reason in imp.response_path_


def test_sources():
    """The input column of each output, by hand."""
    X, _ = frame()
    encoder = OneHotEncoder().fit(X[["c", "d"]])
    assert sources(encoder, 2).tolist() == [0, 0, 0, 0, 1, 1]
    assert sources(PolynomialFeatures(1).fit(X[["a", "e"]]), 2).tolist() == [-1, 0, 1]
    with pytest.raises(NotColumnwise, match="Normalizer"):
        sources(Normalizer(), 2)


@pytest.mark.parametrize(
    ("target", "outputs"),
    [
        (np.linspace(0, 1, 40), 1),
        (np.arange(40) % 2, 1),
        (np.arange(40) % 3, 3),
    ],
)
def test_sources_of_a_target_encoder(target, outputs):
    """One column per class of more than two classes, else one."""
    X, _ = frame()
    encoder = TargetEncoder(random_state=0).fit(X[["c", "d"]].astype(str), target)
    moved = encoder.transform(X[["c", "d"]].astype(str))
    expected = np.repeat([0, 1], moved.shape[1] // 2)
    assert sources(encoder, 2).tolist() == expected.tolist()
    assert len(expected) == 2 * outputs


def test_imputers_drop_empty_columns_only():
    """A column whose most frequent value is None stays, as in scikit-learn."""
    X = np.array([[None, np.nan, 1.0], [None, np.nan, 2.0], ["u", np.nan, 2.0]], object)
    imputer = SimpleImputer(strategy="most_frequent").fit(X[:, [0, 2]])
    assert sources(imputer, 2).tolist() == [0, 1]
    assert imputer.transform(X[:, [0, 2]]).shape[1] == 2
    numbers = X[:, 1:].astype(float)
    assert sources(SimpleImputer().fit(numbers), 2).tolist() == [1]
    kept = SimpleImputer(keep_empty_features=True).fit(numbers)
    assert sources(kept, 2).tolist() == [0, 1]


def test_probabilities_behind_a_threshold_are_those_inside():
    """A threshold moves labels only."""
    X = np.random.RandomState(0).randn(40, 2)
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.2)
    model.fit(X, X[:, 0] > 0)
    inside = SensitivityImportance(scale=None).fit(model.estimator_, X)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert imp.response_path_ == inside.response_path_ == "linear"
    np.testing.assert_allclose(imp.importances_, inside.importances_)


def test_votes_give_unused_inputs_exactly_zero():
    """The mean of the members' outputs is not the vote's own to the last digit."""
    random = np.random.RandomState(0)
    X = random.randn(37, 4)
    X[:, 3] = 2.7
    y = 3 * X[:, 0] + X[:, 1]
    members = [("a", Lasso(0.3)), ("b", Lasso(0.35)), ("c", Lasso(0.5))]
    stump = DecisionTreeRegressor(max_depth=1, random_state=0)
    linear = VotingRegressor(members, weights=[0.3, 0.55, 0.7]).fit(X, y)
    mixed = VotingRegressor([*members[:2], ("d", stump)]).fit(X, y)
    assert not any(member.coef_[2] for member in linear.estimators_)
    scaled = make_pipeline(StandardScaler(), mixed).fit(X, y)
    for model, path in ((linear, "linear"), (mixed, "vote of"), (scaled, "vote of")):
        imp = SensitivityImportance(contrast="observed", estimation="exact")
        imp.fit(model, X)
        assert path in imp.response_path_
        assert imp.importances_[2:].tolist() == [0, 0]
        assert imp.standard_errors_[2:].tolist() == [0, 0]


def compared(model, X, features=None):
    """All reductions of a model's fast response against the black box; the path."""
    problem = make_problem(model, X, None, None, "auto")
    features = features or resolve_features(None, None, X.shape[1])
    fast, ones = problem.response(features), np.ones(len(problem.base))
    spread = PartialDependence.over("auto", X.shape[0], 500)
    requests = [
        Request("all", [Pairs(), Observed(), spread], [ones] * 3),
        Request("equidistant", [Range()], [ones]),
        Request("all", [spread], [ones], frozenset({0})),
    ]
    scale = np.abs(problem.base).max()
    for one, other in beside_black_box(problem, fast, features, requests):
        np.testing.assert_allclose(
            one.importances, other.importances, rtol=1e-9, atol=1e-12 * scale
        )
        np.testing.assert_array_equal(one.importances[other.importances == 0], 0)
    return fast.path


LINEAR_STEPS = {
    "standard": StandardScaler(),
    "two scalers": make_pipeline(MinMaxScaler(), RobustScaler()),
    "clipped": MinMaxScaler((0.2, 0.7), clip=True),
    "power": PowerTransformer(),
    "quantiles": QuantileTransformer(n_quantiles=7),
    "merges": Binarizer(threshold=0.5),
    "some merged": QuantileTransformer(subsample=20, n_quantiles=20, random_state=0),
    "not ascending": FunctionTransformer(np.square),
    "selected": SelectKBest(r_regression, k=2),
    "imputed": SimpleImputer(),
}


@pytest.mark.parametrize("name", half(LINEAR_STEPS))
def test_many_columns_at_once_behind_steps(name):
    """Linear models take columns together only where no step merges values."""
    random = np.random.RandomState(0)
    X = random.randn(40, 5)
    X[:, 1] = random.randint(0, 3, 40)
    X[:, 2] = 1.5
    X[::2, 3] = X[1::2, 3]
    y = X @ np.arange(1, 6) + random.randn(40)
    model = make_pipeline(clone(LINEAR_STEPS[name]), Ridge()).fit(X, y)
    assert compared(model, X).endswith("linear")
    features = resolve_features([4, [0, 1], 3], None, 5)
    assert compared(model, 2 * X - 1, features).endswith("linear")


def test_values_merged_by_rounding_and_missing_ones():
    """They count as before the steps, like every value there."""
    X = np.array([1e-20, 2e-20, 3e-20, 1.0, 2.0, 4.0, 8.0, 9.0])[:, np.newaxis]
    X = np.hstack([X, X[::-1] + 1, np.arange(8.0)[:, np.newaxis], X < 1])
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X.sum(axis=1))
    compared(model, X)
    X[2, 1] = X[3:6, 2] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge())
    compared(model.fit(X, X[:, 0]), X)


def test_boolean_columns_stay_categorical_behind_steps():
    """The flatness of a categorical feature is half its range."""
    X = pd.DataFrame({"a": np.arange(9) % 2 == 0, "b": np.arange(9.0) ** 2})
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, X["a"] + X["b"])
    compared(model, X)


@pytest.mark.parametrize("form", half(["csr", "csc"]))
def test_many_sparse_columns(form, monkeypatch):
    """The steps transform a few times, however many columns there are."""
    X = sparse.random_array((30, 60), density=0.1, format=form, rng=0)
    model = make_pipeline(MaxAbsScaler(), Ridge()).fit(X, X.sum(axis=1))
    compared(model, X)
    calls, transform = [], MaxAbsScaler.transform
    monkeypatch.setattr(
        MaxAbsScaler,
        "transform",
        lambda self, X, **kwargs: calls.append(1) or transform(self, X, **kwargs),
    )
    SensitivityImportance(scale=None, contrast="range").fit(model, X)
    assert len(calls) < 30
