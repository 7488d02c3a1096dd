"""Moved columns keep their type, and grids hold no value that a column cannot have."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from skvarimp import (
    FilterImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    SensitivityImportance,
)
from skvarimp.filters import lowess_r2

RANDOM = np.random.RandomState(0)
WHOLE = RANDOM.randint(0, 50, 40)
REAL = RANDOM.normal(size=40)
FEW = WHOLE < 4
BOOLEANS = np.array([[True, False, None][k % 3] for k in WHOLE], dtype=object)


def pandas_frame():
    """Columns of every type of pandas that a model may insist on."""
    arrow = pytest.importorskip("pyarrow")
    quarters = [Decimal(int(k)) / 4 for k in WHOLE]
    hundredths = pd.ArrowDtype(arrow.decimal128(9, 2))
    columns = {
        "whole": WHOLE,
        "nullable": pd.Series(WHOLE, dtype="Int64").mask(FEW),
        "single": REAL.astype(np.float32),
        "nullable real": pd.Series(REAL, dtype="Float64").mask(FEW),
        "arrow": pd.Series(WHOLE, dtype="int64[pyarrow]").mask(FEW),
        "arrow real": pd.Series(REAL, dtype="double[pyarrow]"),
        "sparse": pd.arrays.SparseArray(np.where(WHOLE > 25, REAL, 0.0)),
        "sparse whole": pd.arrays.SparseArray(np.where(WHOLE > 25, WHOLE, 0)),
        "decimals": quarters,
        "arrow decimals": pd.Series(quarters, dtype=hundredths),
        "booleans": BOOLEANS,
        "objects": WHOLE.astype(object),
    }
    return pd.DataFrame(columns)


def polars_frame():
    """The same in polars."""
    pl = pytest.importorskip("polars")
    some = pl.Series([None if few else int(k) for k, few in zip(WHOLE, FEW)])
    reals = pl.Series([None if few else float(k) for k, few in zip(REAL, FEW)])
    quarters = [Decimal(int(k)) / 4 for k in WHOLE]
    columns = {
        "whole": WHOLE,
        "small": pl.Series(WHOLE, dtype=pl.Int8),
        "nullable": some,
        "real": REAL,
        "nullable real": reals,
        "single": pl.Series(REAL, dtype=pl.Float32),
        "decimals": pl.Series(quarters, dtype=pl.Decimal(9, 2)),
    }
    return pl.DataFrame(columns)


def arrow_table():
    """The same in Arrow."""
    return polars_frame().to_arrow()


def numbers_in(frame):
    """The sum of a row, 0.5 for what is missing."""
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    total = np.zeros(len(frame))
    for label in frame.columns:
        values = frame[label].tolist()
        total += [0.5 if pd.isna(v) else float(v) for v in values]
    return total


MEASURES = {
    "range": SensitivityImportance(contrast="range", scale=None),
    "bins": PartialDependenceImportance(statistic="std", grid=5),
    "pairs": InteractionImportance(pairs=[(0, 1), (2, 3), (3, 4)]),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table])
def test_the_model_sees_the_types_of_X(make, measure):
    """Whatever moves: models may convert, refuse or hash other types."""
    X = make()

    def types(frame):
        return list(frame.dtypes if hasattr(frame, "dtypes") else frame.schema.types)

    def model(frame):
        assert types(frame) == types(X)
        if "booleans" in X.columns:
            assert {*map(type, frame["objects"])} == {int}
            assert {*map(type, frame["decimals"])} == {Decimal}
            assert {*map(type, frame["booleans"])} <= {bool, type(None)}
        elif hasattr(frame, "get_column"):  # nulls of polars do not become NaN
            assert not frame["nullable real"].is_nan().any()
        return numbers_in(frame)

    measure.fit(model, X)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
@pytest.mark.parametrize("sparsely", [True, False])
def test_arrays_keep_their_type(dtype, sparsely):
    """Values of a grid are whole where the column is."""
    X = (9 * sparse.random(40, 3, 0.5, format="csr", random_state=0)).astype(dtype)
    X = X if sparsely else X.toarray()

    def model(Z):
        assert Z.dtype == dtype
        return np.asarray(Z.sum(axis=1)).ravel()

    MEASURES["range"].fit(model, X)


def test_objects_of_true_false_and_none_have_three_levels():
    """Over the levels |f(True) - f(False)| is 2, over 0, 0.25, ... it would be less."""
    X = pd.DataFrame({"b": BOOLEANS, "z": REAL})

    def model(frame):
        return np.array([{True: 2.0, False: 0.0, None: 1.0}[v] for v in frame["b"]])

    found = MEASURES["range"].fit(model, X)
    assert found.importances_[0] == pytest.approx(2.0, rel=1e-12)


def test_nan_beside_null_is_another_value_in_polars():
    """With a half each of NaN and null, |f(NaN) - f(null)| = 8 has the chance 1 / 2."""
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"a": [None, float("nan")] * 10})

    def model(frame):
        return np.where(frame["a"].is_null(), 8.0, 0.0)

    found = SensitivityImportance(scale=None).fit(model, X)
    rounding = 20 * np.finfo(float).eps  # of a mean over 20 rows
    assert found.importances_[0] == pytest.approx(4.0, rel=rounding)
    assert MEASURES["range"].fit(model, X).importances_[0] == pytest.approx(
        8.0, rel=1e-12
    )


def test_whole_numbers_beyond_double_precision_stay_apart():
    """The score is the parity of the id: so is its conditional mean at each id."""
    ids = 2**60 + np.arange(8)
    found = FIRMImportance(method="conditional_mean", n_bins=8).fit(
        lambda Z: (np.asarray(Z, dtype=object)[:, 0] % 2).astype(float),
        np.tile(ids, 5)[:, np.newaxis],
    )
    assert found.importances_[0] == pytest.approx(0.5)


def labelled_categories():
    """A category of six numbers that say nothing about the effects."""
    random = np.random.RandomState(1)
    codes = random.randint(0, 6, 400)
    y = np.array([0.0, 5.0, -3.0, 4.0, -2.0, 1.0])[codes] + random.normal(size=400)
    X = pd.DataFrame({"c": pd.Categorical(codes), "z": random.normal(size=400)})
    return X, codes, y


def test_numbers_that_label_categories_are_names_in_firm():
    """A conditional mean for each category, as for the same column of texts."""
    X, codes, y = labelled_categories()
    texts = X.assign(c=pd.Categorical([f"level {k}" for k in codes]))
    named, numbered = (FIRMImportance().fit(None, frame, y) for frame in (texts, X))
    assert numbered.method_[0] == "conditional_mean"
    np.testing.assert_allclose(numbered.importances_, named.importances_, rtol=1e-12)


def test_numbers_that_label_categories_are_names_in_filters():
    """The one-way analysis of variance, by SciPy."""
    X, codes, y = labelled_categories()
    found = FilterImportance().fit(None, X, y)
    expected = stats.f_oneway(*(y[codes == k] for k in range(6)))
    assert found.scores_[0] == pytest.approx(expected.statistic, rel=1e-10)
    assert found.pvalues_[0] == pytest.approx(expected.pvalue, rel=1e-6)
    with pytest.raises(ValueError, match="'c'] are categories"):
        FilterImportance().fit(None, X, codes > 2)
    with pytest.raises(ValueError, match="'c'] are categories"):
        FilterImportance(score_func=lowess_r2).fit(None, X, y)
