"""Frames as narwhals gives them: types of columns, nulls, sparse and wide frames."""

import cProfile
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from combinations import each
from messages import says
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    FilterImportance,
    PartialDependenceImportance,
    SensitivityImportance,
)
from skvarimp.feature_functions import Level

N = 60


def numbers(seed=0):
    """Three columns, mostly 0, and a target that is not linear in them."""
    random = np.random.RandomState(seed)
    X = np.round(random.uniform(size=(N, 3)), 1) * (random.uniform(size=(N, 3)) < 0.6)
    return X, X[:, 0] + 2.0 * X[:, 1] * X[:, 2]


def test_sparse_columns_of_pandas_are_numbers():
    """Not categories: standard deviations, as of the array; handed on as they came."""
    X, y = numbers()
    dense = pd.DataFrame(X, columns=["a", "b", "c"])
    sparse = dense.astype(pd.SparseDtype("float64", 0.0))
    seen = set()

    def model(Z):
        seen.update(map(str, getattr(Z, "dtypes", [])))
        Z = np.asarray(Z, dtype=np.float64)
        return Z[:, 0] + Z[:, 1]

    for measure in (
        PartialDependenceImportance(),
        PartialDependenceImportance(grid="deciles"),
        SensitivityImportance(scale=None, features=["a", ["b", "c"]], random_state=0),
    ):
        expected = measure.fit(model, dense, y).importances_
        seen.clear()
        found = measure.fit(model, sparse, y).importances_
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert "Sparse[float64, 0.0]" in seen


def calls_in(function):
    """How many Python and C functions per call enters: a time without a clock."""
    profile = cProfile.Profile()
    profile.runcall(function)
    return sum(feature.callcount for feature in profile.getstats())


def test_sparse_columns_are_not_visited_value_by_value():
    """38 000 rows more take some calls for their blocks, not one for each value."""
    random = np.random.RandomState(0)
    X = random.uniform(size=(40_000, 3)) * (random.uniform(size=(40_000, 3)) < 0.1)
    sparse = pd.DataFrame(X, columns=list("abc")).astype(pd.SparseDtype(float, 0.0))

    def fit(n_samples):
        SensitivityImportance(scale=None, grid=3).fit(
            lambda Z: Z["a"].to_numpy() + Z["b"].to_numpy(), sparse.iloc[:n_samples]
        )

    few, many = (calls_in(partial(fit, n)) for n in (2000, 40_000))
    assert many < few + 3 * 38_000


NULLABLE = {
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "arrow": lambda data: pa.table({k: pa.array(v) for k, v in data.items()}),
    "pandas": lambda data: pd.DataFrame(
        {
            "count": pd.array(data["count"], dtype="Int64"),
            "size": pd.array(data["size"], dtype="Float64"),
            "flag": pd.array(data["flag"], dtype="boolean"),
        }
    ),
}


@pytest.mark.parametrize("library", NULLABLE)
def test_nullable_columns(library):
    """Nulls of integers, floats and booleans are one missing value each."""
    random = np.random.RandomState(0)
    data = {
        "count": random.randint(0, 4, N).tolist(),
        "size": random.uniform(size=N).round(1).tolist(),
        "flag": (random.uniform(size=N) < 0.5).tolist(),
    }
    for column, step in zip(data.values(), (7, 5, 11)):
        column[::step] = [None] * len(column[::step])
    array = np.array(
        [[np.nan if v is None else float(v) for v in c] for c in data.values()]
    ).T
    y = np.nan_to_num(array, nan=0.3) @ [1.0, 2.0, 0.5]
    frame = NULLABLE[library](data)
    fit = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=4).fit
    model = fit(array, y)

    def of_frame(Z):
        columns = [
            Z[name].to_pylist() if library == "arrow" else Z[name].to_list()
            for name in data
        ]
        rows = [
            [np.nan if v is None or v is pd.NA else float(v) for v in c]
            for c in columns
        ]
        return model.predict(np.array(rows).T)

    expected = SensitivityImportance(scale=None, contrast="observed").fit(model, array)
    found = SensitivityImportance(scale=None, contrast="observed").fit(of_frame, frame)
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)


def test_integers_above_two_to_the_53_with_nulls():
    """Neighbours that one float64 stands for are two values, and so are moved to."""
    big = 2**53
    values = [big, big + 1, None, big, big + 1, 7]

    def odd(column):
        return np.array([0.0 if v is None or v is pd.NA else v % 2 for v in column])

    for frame, read in (
        (pl.DataFrame({"id": values}), lambda Z: Z["id"].to_list()),
        (pd.DataFrame({"id": pd.array(values, dtype="Int64")}), lambda Z: Z["id"]),
        (pa.table({"id": values}), lambda Z: Z["id"].to_pylist()),
    ):
        imp = SensitivityImportance(scale=None, estimation="exact")
        imp.fit(lambda Z, read=read: odd(read(Z)), frame)
        # half of the rows are odd: two draws differ with probability 1/2
        assert imp.importances_[0] == pytest.approx(0.5)


WIDE = {
    "pandas": lambda X, names: pd.DataFrame(X, columns=names),
    "polars": lambda X, names: pl.DataFrame(X, schema=names),
    "two types": lambda X, names: pd.DataFrame(X, columns=names).astype(
        dict.fromkeys(names[::2], "float32")
    ),
}


@pytest.mark.parametrize(("kind", "steps"), each(WIDE, [[], [StandardScaler()]]))
def test_wide_frames_cost_little_more_than_arrays(kind, steps):
    """One conversion, and one frame per call of the model, however many columns."""
    random = np.random.RandomState(0)
    X = random.standard_normal((60, 600)).astype(np.float32).astype(np.float64)
    names = [f"c{j}" for j in range(600)]
    y = X[:, :3].sum(axis=1)
    frame = WIDE[kind](X, names)
    calls, importances = [], []
    for data in (X, frame):
        fitted = make_pipeline(*steps, LinearRegression()).fit(data, y)
        imp = SensitivityImportance().fit(fitted, data, y)
        calls.append(calls_in(partial(imp.fit, fitted, data, y)))
        importances.append(imp.importances_)
    np.testing.assert_allclose(*importances, atol=1e-6 if kind == "two types" else 0)
    assert calls[1] - calls[0] < 650 * len(names)


def test_types_of_columns_are_kept_among_moved_ones():
    """A frame of two types is put together again column by column."""
    X = pd.DataFrame({"i": [1, 2, 3, 4], "f": [0.5, 1.5, 2.5, 3.5], "s": list("abca")})
    kinds = set()

    def model(Z):
        kinds.add(tuple(map(str, Z.dtypes)))
        assert list(Z.columns) == ["i", "f", "s"]
        return Z["i"] + Z["f"] + (Z["s"] == "a")

    SensitivityImportance(scale=None, features=["f", ["i", "s"]]).fit(model, X)
    assert kinds == {tuple(map(str, X.dtypes))}


def test_frames_out_of_memory_are_told_the_way_out():
    """Lazy frames, Arrow record batches, and Dask frames where one is needed whole."""
    table = pa.table({"a": [1.0, 2.0, 3.0]})
    cases = [
        (pl.LazyFrame({"a": [1.0]}), r"LazyFrame of polars\. Pass X\.collect\(\)"),
        (table.to_batches()[0], r"RecordBatch of pyarrow\. Pass pyarrow\.Table"),
    ]
    for X, message in cases:
        with pytest.raises(TypeError, match=message):
            SensitivityImportance(scale=None).fit(lambda X: X["a"], X)
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(table.to_pandas(), npartitions=1)
    with pytest.raises(
        TypeError,
        match=says("FilterImportance … got X in the partitions … X.compute()"),
    ):
        FilterImportance().fit(None, frame, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("library", NULLABLE)
def test_levels_of_nullable_columns(library):
    """A feature function reads them as everything else does; a null is a level."""
    data = {"count": [1, None, 2, 1], "size": [0.5, 1.5, None, 0.5], "flag": [True] * 4}
    frame = NULLABLE[library](data)
    assert Level("count", 1)(frame).tolist() == [1, 0, 0, 1]
    assert Level("count", None)(frame).tolist() == [0, 1, 0, 0]
    assert Level("size", np.nan)(frame).tolist() == [0, 0, 1, 0]
    assert Level("size", "0.5")(frame).tolist() == [0, 0, 0, 0]
    assert Level("flag", True)(frame).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_first_column_without_a_name(library, dtype):
    """As R writes row names, and as an index is read back."""
    counts = np.random.default_rng(0).integers(0, 9, (20, 2)).astype(dtype)
    frame = library({"": counts[:, 0], "age": counts[:, 1]})

    def product(X):
        return np.prod([np.asarray(X[name], dtype=float) for name in ("", "age")], 0)

    measure = SensitivityImportance(scale=None, estimation="exact")
    expected = measure.fit(lambda X: X[:, 0] * X[:, 1], counts.astype(float))
    expected = expected.importances_.copy()
    np.testing.assert_allclose(measure.fit(product, frame).importances_, expected)
    assert measure.features_ == ["", "age"]
