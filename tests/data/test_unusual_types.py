"""Types that NumPy or Arrow's functions do not know give the numbers of plain ones."""

import narwhals as nw
import numpy as np
import pytest

from skvarimp import (
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
)

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

random = np.random.default_rng(0)
A, Y = random.normal(size=60), random.normal(size=60)
LEVELS = ["u", "v", None, "v", "w", "u"] * 10
INTEGERS = [1, 2, None, 2, 5, 1] * 10
SCORES = {"u": 1.0, "v": 2.0, "w": 4.0, 1: 1.0, 2: 2.0, 5: 4.0}


def model(X):
    """A product; missing values count for nothing."""
    frame = nw.from_native(X)
    levels = [
        0.0
        if value is pd.NA or value is None or value != value
        else SCORES.get(value, value)
        for value in frame["s"].to_list()
    ]
    return np.asarray(frame["a"].to_numpy()) * np.array(levels)


def arrow_series(values):
    """A pandas column that holds an Arrow array."""
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([values]))


VIEWS = pa.array(LEVELS).cast(pa.string_view())
CODES = pa.array(LEVELS).dictionary_encode()
LARGE = 2**70
FRAMES = {
    "string": lambda: pd.DataFrame({"a": A, "s": pd.array(LEVELS, "string")}),
    "pandas dictionary": lambda: pd.DataFrame({"a": A, "s": arrow_series(CODES)}),
    "pandas view": lambda: pd.DataFrame({"a": A, "s": arrow_series(VIEWS)}),
    "dictionary": lambda: pa.table({"a": A, "s": CODES}),
    "view": lambda: pa.table({"a": A, "s": VIEWS}),
    "wide integers": lambda: pl.DataFrame(
        {"a": A, "s": INTEGERS}, schema={"a": pl.Float64, "s": pl.Int128}
    ),
}
EXACT = {"estimation": "exact"}
MEASURES = {
    "pairs": SensitivityImportance(**EXACT),
    "range": SensitivityImportance(contrast="range", **EXACT),
    "permutation": PermutationImportance(**EXACT),
    "rows": SensitivityImportance(estimation="rows", random_state=0, keep_rows=True),
    "shapley": ShapleyImportance(random_state=0, keep_rows=True),
    "firm": FIRMImportance(),
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("frame", FRAMES)
def test_same_numbers_as_plain_objects(measure, frame):
    """Of strings as objects, or of floats with NaN."""
    if frame == "wide integers":
        values = [np.nan if value is None else value for value in INTEGERS]
        plain = pd.DataFrame({"a": A, "s": np.array(values, dtype=float)})
    else:
        plain = pd.DataFrame({"a": A, "s": pd.Series(LEVELS, dtype=object)})
    expected = MEASURES[measure].fit(model, plain, Y).importances_
    found = MEASURES[measure].fit(model, FRAMES[frame](), Y).importances_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("frame", FRAMES)
def test_values_reach_the_model_as_they_are(frame):
    """Each moved row holds a value of the column, and each value is met."""
    seen = set()

    def recording(X):
        values = nw.from_native(X)["s"].to_list()
        seen.update(None if v is pd.NA or v != v else v for v in values)
        return np.zeros(len(values))

    PermutationImportance(loss="squared_error", **EXACT).fit(
        recording, FRAMES[frame](), Y
    )
    assert seen == set(INTEGERS if frame == "wide integers" else LEVELS)


def test_integers_beyond_64_bits():
    """Neighbours stay two values when moved, of which a model sees each."""
    column = pl.Series("s", [LARGE, LARGE + 1, 0, 0] * 5, dtype=pl.Int128)
    frame = pl.DataFrame([column])
    found = SensitivityImportance(scale=None, estimation="rows", grid=3)
    assert found.fit(lambda X: (X["s"] > 0).to_numpy() * 1.0, frame).importances_[0] > 0


def test_curves_of_wide_integers():
    """A grid holds numbers of the column's own type."""
    plain = pl.DataFrame({"s": [1, 2, 2, 5] * 5})
    wide = plain.cast(pl.Int128)
    measure = PartialDependenceImportance(grid="all")
    curve = measure.fit(lambda X: X["s"].to_numpy() ** 2.0, plain).curves_["s"]
    assert wide["s"].dtype == pl.Int128
    squares = measure.fit(
        lambda X: X["s"].cast(pl.Int64).to_numpy() ** 2.0, wide
    ).curves_["s"]
    np.testing.assert_allclose(squares[0], curve[0])
    np.testing.assert_allclose(squares[1], curve[1])
