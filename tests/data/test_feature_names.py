"""Names of columns: scikit-learn's own warnings, and names for arrays and text."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from messages import says
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    CoefficientImportance,
    FIRMImportance,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
)

X = pd.DataFrame(
    np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"]
)
Y = X["a"] + X["b"] * X["c"]
MODELS = {
    "linear": LinearRegression(),
    "pipeline": make_pipeline(StandardScaler(), LinearRegression()),
    "forest": RandomForestRegressor(3, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=3, random_state=0),
}
MEASURES = {
    "sensitivity": SensitivityImportance(),
    "permutation": PermutationImportance(random_state=0),
    "scoring": PermutationImportance(scoring="r2", n_draws=4, random_state=0),
    "firm": FIRMImportance(),
}


def name_warnings(measure, model, data):
    """What is said about feature names, every time it is said."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        measure.fit(model, data, Y)
    return [str(w.message) for w in told if "feature names" in str(w.message)]


@pytest.mark.parametrize(("measure", "model"), each(MEASURES, MODELS))
def test_scikit_learns_warning_reaches_the_user_once(measure, model):
    """An array for a model of a frame, and a frame for a model of an array."""
    measure, model = MEASURES[measure], MODELS[model]
    of_frame = model.fit(X, Y)
    assert name_warnings(measure, of_frame, X) == []
    (told,) = name_warnings(measure, of_frame, X.to_numpy())
    assert "X does not have valid feature names" in told
    of_array = model.fit(X.to_numpy(), Y)
    (told,) = name_warnings(measure, of_array, X)
    assert "X has feature names" in told


def test_impurity_of_an_array_for_a_frame():
    """Measures that read the training data say it as well."""
    forest = RandomForestRegressor(3, random_state=0).fit(X, Y)
    measure = ImpurityImportance(surrogates=True)
    assert name_warnings(measure, forest, X) == []
    assert len(name_warnings(measure, forest, X.to_numpy())) == 1


@pytest.mark.parametrize("measure", MEASURES)
def test_columns_in_another_order_are_refused(measure):
    """By scikit-learn, whose error is passed on."""
    model = LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match=says("names … same order")):
        MEASURES[measure].fit(model, X[["c", "b", "a"]], Y)


TEXTS = ["good day", "bad day", "good night", "bad night", "good good", "bad bad"] * 3
CLASS = [1, 0, 1, 0, 1, 0] * 3
PIPELINE = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, CLASS)


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS),
        pl.Series(TEXTS),
    ],
    ids=["list", "array", "objects", "pandas", "polars"],
)
def test_texts_are_told_to_be_vectorized_first(texts):
    """The message's own way out works."""
    for measure in (SensitivityImportance(), FIRMImportance(), PermutationImportance()):
        with pytest.raises(
            ValueError, match=says("X … got one text per row … pipeline[-1]")
        ):
            measure.fit(PIPELINE, texts, CLASS)
    with pytest.raises(ValueError, match=says("vectorizer … frame … `feature_names`")):
        SensitivityImportance().fit(PIPELINE, pd.DataFrame({"text": TEXTS}), CLASS)


def test_names_for_sparse_matrices_and_arrays():
    """Features, `features` and `feature_names_in_` go by them."""
    words = PIPELINE[:-1].get_feature_names_out()
    counts = PIPELINE[:-1].transform(TEXTS)
    for measure in (
        SensitivityImportance(),
        FIRMImportance(),
        CoefficientImportance(statistic="absolute"),
    ):
        for data in (counts, counts.toarray()):
            imp = measure.fit(PIPELINE[-1], data, CLASS, feature_names=words)
            assert imp.features_ == ["bad", "day", "good", "night"]
            assert list(imp.feature_names_in_) == imp.features_
            assert set(imp.to_frame()["feature"][:2]) == {"bad", "good"}
    imp = SensitivityImportance(features={"judgement": ["bad", "good"], "day": "day"})
    weight = np.arange(len(TEXTS)) % 3
    imp.fit(PIPELINE[-1], counts, CLASS, feature_names=words, sample_weight=weight)
    assert imp.features_ == ["judgement", "day"]
    forest = RandomForestRegressor(3, random_state=0).fit(counts, CLASS)
    imp = ImpurityImportance().fit(forest, counts, feature_names=words)
    assert imp.features_ == words.tolist()


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (X, ["a", "b", "c"], says("`feature_names` … X … Leave `feature_names` out")),
        (
            X.to_numpy(),
            ["a", "b"],
            says("`feature_names` … 3 columns … got ['a', 'b']"),
        ),
        (X.to_numpy(), [1, 2, 3], says("`feature_names` … 3 columns … got [1, 2, 3]")),
        (X.to_numpy(), "abc", says("`feature_names` … 3 columns … got 'abc'")),
        (X.to_numpy(), 3, says("`feature_names` … 3 columns … got 3.")),
        (X.to_numpy(), ["a", "b", "a"], "the name 'a' more than once"),
    ],
)
def test_bad_names(data, names, message):
    """Refused before work starts."""
    model = LinearRegression().fit(data, Y)
    with pytest.raises(ValueError, match=message):
        SensitivityImportance().fit(model, data, Y, feature_names=names)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_first_column_without_a_name(frame):
    """An empty name is one that data frames take."""
    data = frame({"": X["a"].to_numpy(), "b": X["b"].to_numpy()})
    model = RandomForestRegressor(3, random_state=0).fit(X[["a", "b"]].to_numpy(), Y)
    measure = SensitivityImportance(scale=None, random_state=0)

    def f(rows):
        return model.predict(np.asarray(rows))

    named = measure.fit(f, data).importances_
    assert measure.features_ == ["", "b"]
    assert np.array_equal(named, measure.fit(f, X[["a", "b"]]).importances_)


@pytest.mark.parametrize(
    ("features", "right"),
    [
        ([["a", "b"], ...], ["a+b", "c"]),
        ([..., [1, 0]], ["c", "b+a"]),
        (["c", ..., np.array([0, 1])], ["c", "a+b"]),
        ([..., "c"], ["a", "b", "c"]),
        ([...], ["a", "b", "c"]),
        ([["a", "b", "c"], ...], ["a+b+c"]),
    ],
)
def test_all_columns_not_named(features, right):
    """They stand where the ellipsis stands, in the order of X."""
    model = MODELS["linear"].fit(X, Y)
    measure = SensitivityImportance(features=features).fit(model, X, Y)
    assert measure.features_ == right
    single = SensitivityImportance().fit(model, X, Y).result_.to_frame()
    single = single.set_index("feature")["importance"]
    for name, importance in zip(right, measure.importances_):
        if "+" not in name:
            assert importance == pytest.approx(single[name], rel=1e-12)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([..., "a", ...], "has `...` 2 times"),
        ({"rest": ...}, "got Ellipsis"),
        ([["a", ...]], "got Ellipsis"),
    ],
)
def test_columns_not_named_cannot_be(features, message):
    """Twice, under a name, or in a group."""
    with pytest.raises((TypeError, ValueError), match=message):
        SensitivityImportance(features=features).fit(MODELS["linear"].fit(X, Y), X, Y)
