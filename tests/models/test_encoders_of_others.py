"""category_encoders and skrub in front of a model: read, or the reason why not."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from response_oracle import check_equal
from roundoff import roundoff
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import ImpurityImportance, SensitivityImportance

# category_encoders calls pandas in ways that pandas is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")
THOROUGH = pytest.mark.thorough

TREE = DecisionTreeRegressor(max_depth=4, random_state=0)


@cache
def data(n=50):
    """Numbers, gaps, categories of strings and of a declared type, and a target."""
    random = np.random.default_rng(0)
    a, c = random.normal(size=n).round(2), random.choice(list("uvwx"), n)
    X = pd.DataFrame(
        {
            "a": a,
            "b": np.where(random.random(n) < 0.2, np.nan, random.integers(0, 5, n)),
            "c": np.where(random.random(n) < 0.1, None, c),
            "d": pd.Categorical(random.choice(list("pqr"), n)),
        }
    )
    return X, a + 2.0 * (c == "u") + (X["d"] == "p").to_numpy()


def reason(model, X, y):
    """Why a model is asked itself."""
    measure = SensitivityImportance(scale=None, estimation="exact", features=["a"])
    measure.fit(model.fit(X, y), X)
    assert measure.response_path_.startswith("black box")
    return measure.response_path_


def check_read(model, X, y):
    """A model is read behind its encoder and equals its own predictions."""
    fast = check_equal(model.fit(X, y), X, features=["a", "c", "d", ["b", "c"]])
    assert fast.path.startswith("column-wise steps")


ENCODERS = (
    "BackwardDifferenceEncoder BaseNEncoder BinaryEncoder CatBoostEncoder CountEncoder "
    "CountTargetEncoder GrayEncoder HelmertEncoder JamesSteinEncoder "
    "LeaveOneOutEncoder MEstimateEncoder MultiHotEncoder OneHotEncoder OrdinalEncoder "
    "PolynomialEncoder QuantileEncoder RankHotEncoder SumEncoder TargetEncoder "
    "WOEEncoder"
)


LIGHT = ("CatBoostEncoder", "CountEncoder", "OneHotEncoder")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in LIGHT else THOROUGH)
        for name in ENCODERS.split()
    ],
)
def test_category_encoders(name):
    """Every encoder that encodes column by column."""
    encoders = pytest.importorskip("category_encoders")
    X, y = data()
    y = (y > 1).astype(int) if name in ("WOEEncoder", "CountTargetEncoder") else y
    check_read(make_pipeline(getattr(encoders, name)(), clone(TREE)), X, y)


@THOROUGH
def test_options_of_category_encoders():
    """Columns that are dropped, named, several for each class, or only some."""
    encoders = pytest.importorskip("category_encoders")
    X, y = data()
    labels = pd.Series(np.digitize(y, [0.0, 1.5])).map({0: "k", 1: "l", 2: "m"})
    for encoder, target in (
        (encoders.OneHotEncoder(use_cat_names=True, drop_invariant=True), y),
        (encoders.TargetEncoder(cols=["c", "d"]), y),
        (encoders.CountTargetEncoder(), labels),
    ):
        target = np.asarray(target if target is y else labels.factorize()[0])
        check_read(make_pipeline(encoder, clone(TREE)), X, target)
    part = make_column_transformer(
        (encoders.BinaryEncoder(), ["d", "c"]), remainder="passthrough"
    )
    check_read(make_pipeline(part, clone(TREE)), X, y)
    behind = make_pipeline(encoders.HelmertEncoder(), clone(TREE)).fit(X, y)
    imp = ImpurityImportance().fit(behind, X)
    assert imp.features_ == list("abcd")
    shares = behind[-1].feature_importances_
    first = [name[0] for name in behind[:-1].get_feature_names_out()]
    of_input = [shares[np.array(first) == name].sum() for name in "abcd"]
    own = imp.importances_ / imp.importances_.sum()
    np.testing.assert_allclose(own, of_input, rtol=0, atol=roundoff(100, 1.0))


def test_category_encoders_that_mix_columns():
    """The reason names the step."""
    encoders = pytest.importorskip("category_encoders")
    X, y = data()
    for encoder, why in (
        (encoders.HashingEncoder(max_process=1), "HashingEncoder is not a column-wise"),
        (encoders.SummaryEncoder(), "SummaryEncoder is not a column-wise"),
        (
            encoders.TargetEncoder(composite_cols=[("c", "d")]),
            "TargetEncoder encodes columns together",
        ),
    ):
        assert why in reason(make_pipeline(encoder, clone(TREE)), X, y)


def test_a_table_in_another_order_is_the_black_box():
    """category_encoders takes it, and then puts its columns elsewhere."""
    encoders = pytest.importorskip("category_encoders")
    X, y = data()
    model = make_pipeline(encoders.TargetEncoder(), clone(TREE)).fit(X, y)
    measure = SensitivityImportance(scale=None, estimation="exact", features=["a"])
    with pytest.raises(ValueError, match="feature names"):
        measure.fit(model, X[["b", "a", "c", "d"]])


def frame(n=40):
    """What skrub is for: dates and texts beside the others."""
    X = data()[0][:n].copy()
    X["date"] = pd.date_range("2020", periods=n, freq="13h")
    X["text"] = [f"text {i % 7} {i % 3}" for i in range(n)]
    X["empty"], X["number"] = None, [str(i % 9) for i in range(n)]
    return X, data()[1][:n]


def vectorizers(skrub):
    """`TableVectorizer` with encoders of several kinds."""
    return {
        "default": skrub.TableVectorizer(),
        "texts": skrub.TableVectorizer(
            cardinality_threshold=5, high_cardinality=skrub.StringEncoder(3)
        ),
        "hashes": skrub.TableVectorizer(
            cardinality_threshold=5,
            high_cardinality=skrub.MinHashEncoder(n_components=3),
        ),
        "ordinal": skrub.TableVectorizer(
            low_cardinality=OrdinalEncoder(), datetime="drop"
        ),
        "specific": skrub.TableVectorizer(
            specific_transformers=[(StandardScaler(), ["a"])]
        ),
    }


@pytest.mark.parametrize("name", ["default", "texts", "hashes", "ordinal", "specific"])
@pytest.mark.parametrize("library", [pytest.param("pandas", marks=THOROUGH), "polars"])
def test_table_vectorizer(name, library):
    """Each input column's outputs move with it."""
    skrub = pytest.importorskip("skrub")
    X, y = frame()
    X = X if library == "pandas" else pl.from_pandas(X)
    model = make_pipeline(vectorizers(skrub)[name], clone(TREE)).fit(X, y)
    features = ["a", "b", "c", "d", "date", "text", "empty", "number", ["c", "date"]]
    fast = check_equal(model, X, features=features, grids=["all"], n_full=0)
    assert fast.path.startswith("column-wise steps, trees")


@THOROUGH
def test_tabular_pipelines():
    """What skrub recommends: categories for boosting, squashed numbers for others."""
    skrub = pytest.importorskip("skrub")
    X, y = frame()
    boosting = skrub.tabular_pipeline("regressor")
    boosting[-1].set_params(max_iter=3, min_samples_leaf=3)
    linear = skrub.tabular_pipeline(Ridge())
    for model, path in ((boosting, "trees"), (linear, "linear")):
        table = X if path == "trees" else pl.from_pandas(X)  # there in double precision
        fast = check_equal(model.fit(table, y), table, grids=["all"], n_full=0)
        assert fast.path.startswith(f"column-wise steps, {path}")


def test_encoders_of_several_rows_decline():
    """`GapEncoder` goes on until all rows of a call have settled."""
    skrub = pytest.importorskip("skrub")
    X, y = frame(30)
    vectorizer = skrub.TableVectorizer(
        cardinality_threshold=5, high_cardinality=skrub.GapEncoder(n_components=2)
    )
    found = reason(make_pipeline(vectorizer, clone(TREE)), X, y)
    assert "TableVectorizer encodes 'text': GapEncoder is not a column-wise" in found
