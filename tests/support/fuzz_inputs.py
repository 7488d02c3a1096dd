"""Hypothesis strategies for what goes with X: y, weights, models and parameters."""

import numpy as np
import pandas as pd
import polars as pl
from fuzz_containers import (
    COLUMN_KINDS,
    DTYPES,
    OBJECT_KINDS,
    chance,
    chosen,
    numeric,
    objects,
)
from fuzz_models import CALLABLES, MODELS, NO_MODELS, fitted_on, pooled, unfitted
from hypothesis import strategies as st
from scipy import sparse


@st.composite
def targets(draw, data, plain=False):
    """A y, most often one that belongs to X."""
    n = data.n
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    kinds = [
        lambda: rng.standard_normal(n),
        lambda: np.arange(n) % 2,
        lambda: np.arange(n) % 3,
        lambda: objects(["no", "yes"])[np.arange(n) % 2],
    ]
    odd = [
        lambda: None,
        lambda: COLUMN_KINDS[chosen(draw, list(COLUMN_KINDS))](rng, n),
        lambda: OBJECT_KINDS[chosen(draw, list(OBJECT_KINDS))](rng, n),
        lambda: numeric(rng, ("counts",), n, chosen(draw, DTYPES))[:, 0],
        lambda: numeric(rng, ("extreme",), n, chosen(draw, DTYPES))[:, 0],
        lambda: rng.standard_normal((n, 2)),
        lambda: rng.standard_normal((n, 1)),
        lambda: rng.standard_normal((n, 0)),
        lambda: rng.integers(0, 2, (n, 2)),
        lambda: rng.standard_normal((n, 2, 1)),
        lambda: rng.standard_normal(n + 1),
        lambda: rng.standard_normal(n).tolist(),
        lambda: (np.arange(n) % 2) == 0,
        lambda: pd.Series(rng.standard_normal(n), index=np.arange(n)[::-1]),
        lambda: pd.Series(np.arange(n) % 2, dtype="Int64"),
        lambda: pd.Series([None if i == 1 else i % 2 for i in range(n)], dtype="Int64"),
        lambda: pd.Series(pd.Categorical(np.array(["a", "b"])[np.arange(n) % 2])),
        lambda: pl.Series(rng.standard_normal(n)),
        lambda: pd.DataFrame({"a": np.arange(n), "b": ["x"] * n}),
        lambda: sparse.csr_array(rng.standard_normal((max(n, 1), 1))),
        lambda: 1.0,
        lambda: "y",
        lambda: [[1], [2, 3]],
        lambda: {"a": 1},
        object,
    ]
    if plain or not chance(draw, 3):
        return chosen(draw, kinds)()
    return chosen(draw, odd)()


@st.composite
def weights(draw, data):
    """Sample weights, most often none."""
    n = data.n
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    if not chance(draw, 3):
        return None
    good = [
        lambda: np.ones(n),
        lambda: rng.integers(0, 3, n),
        lambda: rng.random(n),
        lambda: rng.random(n).astype(np.float32),
        lambda: np.arange(n) > 1,
        lambda: pd.Series(rng.random(n), index=np.arange(n) + 5),
        lambda: rng.random(n).tolist(),
    ]
    if draw(st.booleans()):
        return chosen(draw, good)()
    return chosen(
        draw,
        [
            lambda: np.where(np.arange(n) == 0, 1e300, 1e-300),
            lambda: np.full(n, 1e308),
            lambda: np.full(n, 5e-324),
            lambda: np.zeros(n),
            lambda: -np.ones(n),
            lambda: np.full(n, np.nan),
            lambda: np.where(np.arange(n) == 0, np.inf, 1.0),
            lambda: np.ones(n + 1),
            lambda: np.ones((n, 1)),
            lambda: np.array(["a"] * n),
            lambda: np.array([None] * n),
            lambda: np.ones(n) * 1j,
            lambda: 1.0,
            lambda: "weight",
            lambda: (np.arange(n) == 0).astype(float),
            lambda: [1.0, [2.0]],
            lambda: {"a": 1.0},
        ],
    )()


@st.composite
def models(draw, data, y, suited=None):
    """A fitted model, a callable, or something that is neither.

    Of a measure that serves few models, most often one of those (`suited`).
    """
    kind = draw(st.integers(0, 9))
    n_classes = draw(st.integers(2, 3))
    name = chosen(draw, suited or list(MODELS))
    if kind <= 3 or (suited and kind <= 6):
        model = fitted_on(name, data.X, y)
        return CALLABLES[0] if model is None else model
    if kind <= 6:
        return pooled(name, max(data.p, 1), n_classes)
    if kind <= 8:
        return chosen(draw, CALLABLES)
    return chosen(draw, [*NO_MODELS, unfitted(name), pooled(name, 5, 2)])


ODD = [
    None,
    -1,
    0,
    True,
    2.5,
    float("nan"),
    float("inf"),
    "nonsense",
    [],
    {},
    np.int64(3),
    np.array([1, 2]),
    10**30,
    -0.5,
    (),
    b"bytes",
    object(),
    [None],
    np.array(3),
]


@st.composite
def parameters(draw, options, odd_one_in=8):
    """Values for some parameters: their own options, now and then an odd one."""
    given = {}
    for name, values in options.items():
        if draw(st.booleans()):
            continue
        given[name] = chosen(draw, ODD if chance(draw, odd_one_in) else values)
    return given


@st.composite
def features(draw, data):
    """The `features` parameter, most often well-formed."""
    p = max(data.p, 1)
    names = [name for name in data.names if isinstance(name, str)] or ["x0"]
    good = [
        None,
        [0],
        list(range(p)),
        np.arange(p),
        [-1],
        [list(range(p)), 0] if p > 1 else [0],
        [list(range(p))],
        {"first": 0, "all": list(range(p))} if p > 1 else {"a": 0},
        names[:1],
    ]
    if not chance(draw, 3):
        return chosen(draw, good)
    return chosen(
        draw,
        [
            [[0, p - 1]],
            [names],
            [0, 0],
            [[0, 0]],
            [[]],
            [[[0]]],
            [np.array([0])],
            [p + 3],
            [True],
            [0.0],
            ["missing"],
            {"": []},
            {1: 0},
            {None: [0]},
            {"a": {"b": 0}},
            "x0",
            0,
            [None],
            [10**30],
            {0},
            (0,),
            pd.Index(names),
            pl.Series([0]),
            np.array([[0, 1]]),
            np.array(0),
            iter([0]),
        ],
    )
