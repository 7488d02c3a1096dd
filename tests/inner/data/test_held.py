"""`Table.held`: columns at one value each, in every container and type."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from skvarimp._data.table import as_table

FRAME = pd.DataFrame(
    {
        "number": [0.5, 1.5, 2.5, 3.5],
        "category": pd.Categorical(["x", "y", "z", "x"]),
        "integer": pd.array([1, 2, 3, 4], dtype="Int64"),
        "flag": [True, False, True, True],
        "date": pd.date_range("2020-01-01", periods=4),
        "text": ["u", "v", "w", "u"],
    },
    index=[7, 7, 1, 2],  # rows meet by position
)
FRAMES = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME.reset_index(drop=True)),
    "pyarrow": pa.Table.from_pandas(FRAME, preserve_index=False),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_keep_the_types_of_their_columns(library):
    """Some rows, some columns or all of them, from another row of the source."""
    table = as_table(FRAMES[library])
    for columns in ([0, 2, 4], list(range(6))):
        donors = {j: 1 + j % 3 for j in columns}
        held = table.take(np.array([3, 0])).held(donors, table)
        assert list(map(str, held.types())) == list(map(str, table.types()))
        for j in range(6):
            rows = [donors[j]] * 2 if j in donors else [3, 0]
            assert list(held.column(j)) == list(table.column(j)[rows])


def test_numbered_columns():
    """They keep their numbers."""
    table = as_table(pd.DataFrame(np.arange(6.0).reshape(2, 3)))
    held = table.held({1: 1}, table).native
    assert held.columns.tolist() == [0, 1, 2]
    assert held.to_numpy().tolist() == [[0.0, 4.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, bool])
@pytest.mark.parametrize("form", ["array", "csr", "csc", "coo", "bsr"])
def test_arrays_and_sparse_rows_keep_their_type(form, dtype):
    """Zeros and other constants alike."""
    dense = (np.arange(20).reshape(5, 4) % 3).astype(dtype)
    X = dense if form == "array" else sparse.csr_array(dense).asformat(form)
    table = as_table(X)
    held = table.held({0: 0, 1: 0, 3: 3}, table).native
    expected = dense.copy()
    expected[:, [0, 1, 3]] = dense[0, 0], dense[0, 1], dense[3, 3]
    assert held.dtype == dtype
    found = held if form == "array" else held.toarray()
    assert np.array_equal(found, expected)
    assert form == "array" or held.format == form
    halves = as_table(dense / 2).held({0: 1}, as_table(dense + 0.25))
    assert halves.native[:, 0].tolist() == [dense[1, 0] + 0.25] * 5
