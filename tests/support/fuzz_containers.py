"""Hypothesis strategy for X: any shape, content and container.

Hypothesis chooses kinds and sizes, the plainest first, so that a finding shrinks to
few odd things; the numbers themselves come from a generator with a drawn seed.
"""

import datetime as dt
import warnings
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from scipy import sparse

ROWS = [12, 5, 2, 30, 3, 1, 0]
COLUMNS = [2, 3, 1, 4, 0]

# Fill of one column: rng, n -> array. The plain ones first.
COLUMN_KINDS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "gridded": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "counts": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda rng, n: np.full(n, 1.0),
    "zeros": lambda rng, n: np.zeros(n),
    "ramp": lambda rng, n: np.arange(float(n)),
    "offset": lambda rng, n: 1e15 + rng.integers(0, 5, n),
    "huge": lambda rng, n: 1e300 * rng.standard_normal(n),
    "extreme": lambda rng, n: rng.choice([-1.0, 1.0], n) * np.finfo(float).max,
    "tiny": lambda rng, n: 1e-300 * rng.standard_normal(n),
    "subnormal": lambda rng, n: 5e-324 * rng.integers(-3, 4, n),
    "mixed": lambda rng, n: 10.0 ** rng.integers(-300, 300, n),
    "signed_zero": lambda rng, n: rng.choice([0.0, -0.0], n),
    "missing": lambda rng, n: np.where(
        rng.random(n) < 0.3, np.nan, rng.standard_normal(n)
    ),
    "all_missing": lambda rng, n: np.full(n, np.nan),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, -1.0),
    "minus_infinite": lambda rng, n: np.where(rng.random(n) < 0.2, -np.inf, 2.0),
    "single_range": lambda rng, n: 1e39 * rng.standard_normal(n),
}
PLAIN = list(COLUMN_KINDS)[:5]


def objects(values):
    """An object array with these members, one-dimensional."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _cycled(members):
    return lambda rng, n: objects(
        [members[i] for i in rng.integers(len(members), size=n)]
    )


OBJECT_KINDS = {
    "words": _cycled(["red", "green", "blue"]),
    "words_missing": _cycled(["red", None, "blue"]),
    "numbers": _cycled([1, 2.5, 3]),
    "numbers_missing": _cycled([1, None, 2.5]),
    "numbers_as_text": _cycled(["1", "2.5", "nan"]),
    "truths": _cycled([True, False]),
    "truths_and_numbers": _cycled([True, 1, 0]),
    "text_and_numbers": _cycled(["a", 1, 2.0, None]),
    "long_integers": _cycled([10**30, -(10**30), 3]),
    "dates": _cycled([dt.date(2020, 1, 1), dt.date(1999, 5, 5)]),
    "decimals": _cycled([Decimal("1.5"), Decimal("NaN"), Decimal(3)]),
    "bytes": _cycled([b"a", b"b"]),
    "lists": _cycled([[1], [2, 3]]),
    "tuples": _cycled([(1,), (2, 3)]),
    "complex": _cycled([1j, 2.0]),
    "pandas_na": _cycled([pd.NA, 1, "x"]),
    "not_a_time": _cycled([pd.NaT, 1.0]),
    "anything": _cycled([object(), 1]),
    "unprintable": _cycled(["", "\x00", "é\n$"]),
}

DTYPES = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int8",
    "uint8",
    "uint64",
    "bool",
    ">f8",
    "longdouble",
    "complex128",
    "datetime64[ns]",
    "timedelta64[s]",
    "U5",
    "S3",
]


def numeric(rng, kinds, n, dtype):
    """Columns of the kinds side by side in one dtype."""
    columns = [COLUMN_KINDS[kind](rng, n) for kind in kinds]
    values = np.column_stack(columns) if columns else np.empty((n, 0))
    if dtype == "float64":
        return values
    info = np.iinfo(dtype) if dtype in {"int64", "int8", "uint8", "uint64"} else None
    if info is not None:
        values = np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300)
        extreme = [info.min, info.max, info.max - 1]
        result = np.empty(values.shape, dtype=dtype)
        for index in np.ndindex(values.shape):
            if abs(values[index]) > 1e10:
                result[index] = extreme[rng.integers(3)]
            else:
                result[index] = int(values[index]) % (int(info.max) + 1)
        return result
    with np.errstate(all="ignore"):
        if dtype.startswith(("datetime", "timedelta")):
            small = np.nan_to_num(values, nan=0.0, posinf=5.0, neginf=5.0) % 1000
            return small.astype("int64").astype(dtype)
        return values.astype(dtype)


@dataclass
class Data:
    """X in some container, with what the other inputs need to fit it."""

    X: object
    n: int
    p: int
    names: list
    kinds: tuple
    container: str

    def __repr__(self):
        shown = repr(self.X)
        return f"{self.container} {self.n}x{self.p} {self.kinds} {shown:.400}"


def chosen(draw, options):
    """One of the options; the first, with Hypothesis' preference for simple things."""
    return options[draw(st.integers(0, len(options) - 1))]


def chance(draw, one_in):
    """True about once in so many draws; shrinks to False."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


@st.composite
def datasets(draw, plain=False):
    """An X of any shape, content and container."""
    n, p = chosen(draw, ROWS), chosen(draw, COLUMNS)
    if plain or draw(st.booleans()):
        n, p = max(n, 5), max(p, 1)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    pool = PLAIN if plain or draw(st.booleans()) else list(COLUMN_KINDS)
    if chance(draw, 4):  # distances and sums of all columns are tied
        pool = ["gridded"]
    kinds = tuple(chosen(draw, pool) for _ in range(p))
    containers = list(CONTAINERS)
    container = chosen(draw, containers[:4] if plain else containers)
    names = chosen(draw, NAMES)(p)
    X = CONTAINERS[container](draw, rng, kinds, n, names)
    return Data(X, n, p, names, kinds, container)


NAMES = [
    lambda p: [f"x{j}" for j in range(p)],
    lambda p: [f"col {j} $ü\n" for j in range(p)],
    lambda p: list(range(p)),
    lambda p: ["same"] * p,
    lambda p: ["", "x0", "x0+x1", "1"][:p],
    lambda p: [("a", j) for j in range(p)],
    lambda p: [None, "a", 1.5, np.nan][:p],
    lambda p: [1, "1", "a", 2][:p],
]


def _array(draw, rng, kinds, n, names):
    return numeric(rng, kinds, n, chosen(draw, DTYPES))


def _fortran(draw, rng, kinds, n, names):
    return np.asfortranarray(numeric(rng, kinds, n, "float64"))


def _read_only(draw, rng, kinds, n, names):
    X = numeric(rng, kinds, n, chosen(draw, DTYPES[:6]))
    X.setflags(write=False)
    return X


def _strided(draw, rng, kinds, n, names):
    wide = np.repeat(numeric(rng, kinds, n, "float64"), 2, axis=1)
    return np.repeat(wide, 2, axis=0)[::-2, ::2]


def _lists(draw, rng, kinds, n, names):
    return numeric(rng, kinds, n, "float64").tolist()


def _object_columns(draw, rng, kinds, n):
    columns = []
    for kind in kinds:
        if draw(st.booleans()):
            columns.append(COLUMN_KINDS[kind](rng, n))
        else:
            columns.append(OBJECT_KINDS[chosen(draw, list(OBJECT_KINDS))](rng, n))
    return columns


def _object_array(draw, rng, kinds, n, names):
    X = np.empty((n, len(kinds)), dtype=object)
    for j, column in enumerate(_object_columns(draw, rng, kinds, n)):
        for i, value in enumerate(column):
            X[i, j] = value
    return X


def _sparse(draw, rng, kinds, n, names):
    X = numeric(rng, kinds, n, "float64")
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    form = chosen(draw, ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
    kind = chosen(draw, ["array", "matrix"])
    if not X.size:
        form = "csr"
    X = getattr(sparse, f"{form}_{kind}")(X)
    if form in {"csr", "csc", "bsr"} and chance(draw, 3) and X.nnz:
        X.data[0] = 0.0  # an explicit zero
    if form == "coo" and chance(draw, 2) and X.nnz:
        twice = (np.r_[X.row, X.row[:1]], np.r_[X.col, X.col[:1]])
        X = type(X)((np.r_[X.data, X.data[:1]], twice), shape=X.shape)
    if form in {"csr", "csc"} and chance(draw, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what does not fit is made up
            X = X.astype(chosen(draw, ["float32", "int64", "bool"]))
    if form == "csr" and chance(draw, 3):
        X.indices, X.indptr = X.indices.astype("int64"), X.indptr.astype("int64")
    return X


_PANDAS_KINDS = ["Int64", "Float64", "boolean", "category", "string", "datetime"]


def _pandas(draw, rng, kinds, n, names):
    columns = []
    for kind in kinds:
        values = COLUMN_KINDS[kind](rng, n)
        special = chosen(draw, [None, None, *_PANDAS_KINDS, "object", "float16", "ns"])
        columns.append(_pandas_column(draw, rng, special, values, n))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    frame.columns = names
    if chance(draw, 4) and n:
        frame.index = [0] * n
    if chance(draw, 8):
        frame.index = pd.date_range("2020", periods=n)
    if chance(draw, 8) and all(isinstance(name, tuple) for name in names) and names:
        frame.columns = pd.MultiIndex.from_tuples(names)
    return frame


def _pandas_column(draw, rng, special, values, n):
    few = rng.integers(0, 3, n)
    gaps = rng.random(n) < 0.2 if draw(st.booleans()) else np.zeros(n, dtype=bool)
    if special in {"Int64", "boolean"}:
        members = pd.array(few % 2 if special == "boolean" else few, dtype="Int64")
        series = pd.Series(members).astype(special)
        series[gaps] = pd.NA
        return series
    if special == "Float64":
        return pd.Series(pd.array(np.where(gaps, 0, values), dtype="Float64"))
    if special == "category":
        words = np.array(["low", "mid", "high"], dtype=object)[few]
        words[gaps] = None
        return pd.Series(pd.Categorical(words, ["low", "mid", "high", "never"]))
    if special == "string":
        words = np.array(["low", "mid", "high"], dtype=object)[few]
        words[gaps] = None
        return pd.Series(words, dtype="string")
    if special == "datetime":
        return pd.Series(pd.to_datetime(few, unit="D"))
    if special == "ns":
        return pd.Series(pd.to_timedelta(few, unit="D"))
    if special == "object":
        return pd.Series(OBJECT_KINDS[chosen(draw, list(OBJECT_KINDS))](rng, n))
    if special == "float16":
        with np.errstate(all="ignore"):
            return pd.Series(values.astype("float16"))
    return pd.Series(values)


def _polars(draw, rng, kinds, n, names):
    columns = {}
    for j, kind in enumerate(kinds):
        columns[str(names[j]) + ("" if names[0] != "same" else str(j))] = (
            _polars_column(draw, rng, COLUMN_KINDS[kind](rng, n), n)
        )
    return pl.DataFrame(columns)


def _polars_column(draw, rng, values, n):
    few = rng.integers(0, 3, n)
    words = [["low", "mid", None][i] for i in few]
    special = draw(st.integers(0, 12))
    if special <= 2:
        return pl.Series(values)
    if special == 3:
        return pl.Series(words, dtype=pl.String)
    if special == 4:
        return pl.Series(words, dtype=pl.Categorical)
    if special == 5:
        return pl.Series(words, dtype=pl.Enum(["low", "mid", "never"]))
    if special == 6:
        return pl.Series([[True, False, None][i] for i in few], dtype=pl.Boolean)
    if special == 7:
        return pl.Series([[1, 2, None][i] for i in few], dtype=pl.Int8)
    if special == 8:
        return pl.Series([None] * n, dtype=pl.Null)
    if special == 9:
        return pl.Series([dt.date(2020, 1, 1 + int(i)) for i in few], dtype=pl.Date)
    if special == 10:
        return pl.Series([[1.0] * int(i) for i in few], dtype=pl.List(pl.Float64))
    if special == 11:
        return pl.Series([Decimal(int(i)) for i in few], dtype=pl.Decimal(10, 2))
    return pl.Series([2**63 + int(i) for i in few], dtype=pl.UInt64)


def _no_table(draw, rng, kinds, n, names):
    return chosen(
        draw,
        [
            rng.standard_normal(n),
            rng.standard_normal((n, 2, 2)),
            None,
            "X",
            {"a": [1.0, 2.0]},
            5.0,
            [],
            [[]],
            [[1.0, 2.0], [3.0]],
            pd.Series(np.arange(float(n))),
            pl.DataFrame({"a": [1.0, 2.0]}).lazy(),
            object(),
            np.zeros((3,), dtype=[("a", float)]),
            np.ma.masked_array(np.ones((4, 2)), np.eye(4, 2)),
            sparse.coo_array(np.arange(4.0)),
            (row for row in [[1.0], [2.0]]),
        ],
    )


def _memmap(draw, rng, kinds, n, names):
    return np.asarray(numeric(rng, kinds, n, "float64")).view(np.matrix)


CONTAINERS = {
    "array": _array,
    "fortran": _fortran,
    "read_only": _read_only,
    "pandas": _pandas,
    "strided": _strided,
    "lists": _lists,
    "objects": _object_array,
    "sparse": _sparse,
    "polars": _polars,
    "matrix": _memmap,
    "no table": _no_table,
}
