"""FIRM of frames, categories, missing values and sparse rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from firm_rows import X, literal_conditional_mean, score
from messages import says
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Level, Product


def frame(library):
    """Numbers, booleans, strings and categories."""
    columns = {
        "age": X[:, 0].tolist(),
        "member": [bool(v) for v in X[:, 2]],
        "colour": [["red", "green", "blue"][int(v) % 3] for v in X[:, 1]],
        "shop": [["north", "south"][int(v > 1)] for v in X[:, 1]],
    }
    data = library(columns)
    if library is pd.DataFrame:
        data["shop"] = data["shop"].astype("category")
    else:
        data = data.with_columns(pl.col("shop").cast(pl.Categorical))
    return data


def test_numbers_that_name_categories():
    """40 codes of which the model says what they are get a mean each, as words do."""
    random = np.random.default_rng(0)
    codes, effects = random.integers(0, 40, 300), random.normal(size=40)
    rows = pd.DataFrame({"code": codes, "x": random.normal(size=300)})
    model = HistGradientBoostingRegressor(categorical_features=["code"], max_iter=5)
    model.fit(rows, effects[codes] + rows["x"])
    words = rows.assign(code=[f"{code:02}" for code in codes])

    def of_words(rows):
        return model.predict(rows.assign(code=rows["code"].astype(int)))

    imp = FIRMImportance(n_bins=8).fit(model, rows)
    same = FIRMImportance(n_bins=8).fit(of_words, words)
    t, q = imp.conditional_scores_["code"]
    assert t.tolist() == list(range(40))
    np.testing.assert_array_equal(q, same.conditional_scores_["code"][1])
    np.testing.assert_array_equal(imp.importances_, same.importances_)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_with_categories(library):
    """Strings get conditional means; two of them are binary, in alphabetical order."""
    data = frame(library)

    def colours(data):
        return np.array([len(c) for c in data["colour"]], dtype=float) + X[:, 0]

    imp = FIRMImportance().fit(colours, data)
    assert imp.method_ == ["conditional_mean", "binary", "conditional_mean", "binary"]
    assert type(imp.to_frame()) is library
    s = colours(data)
    t, q = imp.conditional_scores_["colour"]
    assert t.tolist() == ["blue", "green", "red"]
    groups = np.array(list(data["colour"]))
    np.testing.assert_allclose(q, [s[groups == c].mean() for c in t])
    assert imp.importances_[2] == pytest.approx(
        literal_conditional_mean(groups.tolist(), s), rel=1e-10
    )
    t, q = imp.conditional_scores_["shop"]
    assert t.tolist() == ["north", "south"]
    shops = np.array([str(v) for v in data["shop"]])
    np.testing.assert_allclose(q, [s[shops == c].mean() for c in t])
    assert np.sign(imp.signed_importances_[3, 0]) == np.sign(q[1] - q[0])
    both = FIRMImportance(features=[["colour", "shop"], ["member", "age"]])
    both.fit(colours, data)
    joint = [f"{a} {b}" for a, b in zip(groups, shops)]
    assert both.importances_[0] == pytest.approx(
        literal_conditional_mean(joint, s), rel=1e-10
    )
    assert both.features_ == ["colour+shop", "member+age"]
    level = FIRMImportance(feature_functions=[Level("colour", "red")])
    assert level.fit(colours, data).features_ == ["colour == 'red'"]
    with pytest.raises(ValueError, match="'colour' has other values"):
        FIRMImportance(method="linear").fit(colours, data)
    with pytest.raises(ValueError, match="'colour' has 3 values"):
        FIRMImportance(method="binary", features=["colour"]).fit(colours, data)


def test_models_of_frames():
    """A pipeline that encodes strings is called with the frame."""
    data = frame(pd.DataFrame)
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(
        data[["colour", "shop"]], X[:, 0]
    )
    imp = FIRMImportance().fit(model, data[["colour", "shop"]])
    assert imp.feature_names_in_.tolist() == ["colour", "shop"]
    assert imp.method_ == ["conditional_mean", "binary"]


def test_missing_values_are_a_value():
    """NaN is a group of its own, beside means per value or bins."""
    Z = X.copy()
    Z[::7, 0], Z[::5, 1], Z[::4, 2] = np.nan, np.nan, np.nan
    s = np.nan_to_num(score(X)[:, 0]) + np.isnan(Z[:, 1])
    imp = FIRMImportance().fit(None, Z, s)
    assert imp.method_[:3] == ["conditional_mean"] * 3
    groups = ["none" if np.isnan(v) else v for v in Z[:, 1]]
    by_text = [str(g) for g in groups]
    assert imp.importances_[1] == pytest.approx(
        literal_conditional_mean(by_text, s), rel=1e-10
    )
    for name in ("x0", "x1", "x2"):
        t, _ = imp.conditional_scores_[name]
        assert np.isnan(t[-1])
        assert np.isfinite(t[:-1]).all()
    with pytest.raises(ValueError, match="'x0' has other values"):
        FIRMImportance(method="linear").fit(None, Z, s)
    with pytest.raises(
        ValueError, match=says("method='binary' … 'x2' … method='conditional_mean'")
    ):
        FIRMImportance(method="binary", features=[2]).fit(None, Z, s)


def sparse_rows():
    """Columns: 0/1, 0/3, -2/0, several values, empty, full of two values, full."""
    random = np.random.default_rng(2)
    bits = (random.random((80, 7)) < 0.3).astype(float)
    dense = bits * [1.0, 3.0, -2.0, 1.0, 0.0, 1.0, 1.0]
    dense[:, 3] *= random.integers(1, 4, size=80)
    dense[:, 5] = np.where(bits[:, 5], 5.0, 2.0)
    dense[:, 6] = random.normal(size=80)
    return dense


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("method", ["auto", "linear", "conditional_mean"])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_equals_dense(container, method, standardize):
    """Every kind of column, two outputs, weights and a selection of columns."""
    dense = sparse_rows()
    s = np.column_stack([dense @ np.arange(7.0), np.sin(dense).sum(axis=1)])
    weights = np.random.default_rng(0).integers(0, 3, size=80)
    for features in (None, [6, 2, 0, 4, [1, 3]]):
        imp = FIRMImportance(method=method, standardize=standardize, features=features)
        imp.fit(None, dense, s, sample_weight=weights)
        again = FIRMImportance(**imp.get_params())
        again.fit(None, container(dense), s, sample_weight=weights)
        assert again.method_ == imp.method_
        for name in ("importances_", "standard_errors_", "signed_importances_"):
            np.testing.assert_allclose(
                getattr(again, name), getattr(imp, name), rtol=1e-9, atol=1e-12
            )
        for name, (t, q) in imp.conditional_scores_.items():
            np.testing.assert_allclose(again.conditional_scores_[name][0], t)
            np.testing.assert_allclose(again.conditional_scores_[name][1], q)
    if method == "auto":
        assert imp.method_ == [
            *("conditional_mean", "binary", "binary", "binary", "conditional_mean")
        ]


def test_sparse_functions_and_explicit_zeros():
    """Stored zeros are zeros; functions read the columns they name."""
    dense = sparse_rows()
    stored = sparse.csr_array(dense)
    stored.data[::3] = 0.0
    dense = stored.toarray()
    s = dense[:, 0] - dense[:, 1]
    functions = [Conjunction(0, 1), Product(1, 3), lambda Z: Z[:, [0]].toarray()[:, 0]]
    imp = FIRMImportance(features=[0, 1, 2], feature_functions=functions)
    imp.fit(None, stored, s)
    functions[2] = lambda Z: Z[:, 0]
    same = FIRMImportance(features=[0, 1, 2], feature_functions=functions)
    np.testing.assert_allclose(
        imp.importances_, same.fit(None, dense, s).importances_, rtol=1e-10
    )


def test_blocks_change_nothing():
    """One column at a time gives the same numbers."""
    whole = FIRMImportance().fit(score, X)
    with config_context(working_memory=1e-4):
        single = FIRMImportance().fit(score, X)
    np.testing.assert_allclose(single.importances_, whole.importances_, rtol=1e-12)
    np.testing.assert_allclose(
        single.standard_errors_, whole.standard_errors_, rtol=1e-12
    )
