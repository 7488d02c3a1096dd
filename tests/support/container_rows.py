"""Rows in every container, for the tests of containers."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

N = 60


def columns(seed=0):
    """One column of each kind; missing values in three of them."""
    random = np.random.RandomState(seed)
    city = random.choice(["Bergen", "Oslo", "Bodø"], N).tolist()
    size = random.choice(["S", "M", "L"], N).tolist()
    income = random.lognormal(size=N).tolist()
    count = random.randint(0, 5, N).tolist()
    member = (random.uniform(size=N) < 0.4).tolist()
    for i in (3, 17, 40):
        city[i] = None
        income[i + 1] = None
    return {
        "city": city,
        "size": size,
        "income": income,
        "count": count,
        "member": member,
        "age": random.uniform(20, 70, N).tolist(),
    }


def target(seed=0):
    """Depends on every column, with interactions."""
    data = columns(seed)
    effect = {"Bergen": 1.0, "Oslo": -2.0, "Bodø": 0.5, None: 0.0}
    size = {"S": 0.0, "M": 1.0, "L": 3.0}
    y = [
        effect[c] + size[s] * (1 + m) + (0.5 if x is None else x) * k / 3 + a / 30
        for c, s, x, k, m, a in zip(*data.values())
    ]
    return np.array(y)


def frame(library):
    """The columns in a frame, with the types a user would give them."""
    data = columns()
    if library == "polars":
        types = {"size": pl.Enum(["S", "M", "L"]), "count": pl.Int32}
        return pl.DataFrame(data, schema_overrides=types)
    X = pd.DataFrame(data, index=[f"row {i}" for i in range(N)][::-1])
    X["size"] = X["size"].astype(pd.CategoricalDtype(["S", "M", "L"]))
    if library == "pandas extension":
        types = {"city": "string", "count": "Int64", "member": "boolean"}
        X = X.astype(types | {"income": "Float64"})
    return X


def pipeline(model):
    """Strings and categories encoded, numbers imputed and scaled, the rest passed."""
    text = make_pipeline(
        FunctionTransformer(known_text, feature_names_out="one-to-one"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = make_pipeline(
        FunctionTransformer(as_floats, feature_names_out="one-to-one"),
        SimpleImputer(),
        StandardScaler(),
    )
    encode = ColumnTransformer(
        [
            ("text", text, ["city", "size"]),
            ("numbers", numbers, ["income", "count", "age"]),
            ("flag", FunctionTransformer(as_floats), ["member"]),
        ]
    )
    return make_pipeline(encode, model)


def known_text(X):
    """Strings, missing ones under a name of their own."""
    values = [X[c].to_list() for c in X.columns]
    plain = [
        ["?" if v is None or v is pd.NA or v != v else str(v) for v in column]
        for column in values
    ]
    return np.array(plain, dtype=object).T


def as_floats(X):
    """Numbers, missing ones NaN."""
    values = [X[c].to_list() for c in X.columns]
    plain = [
        [np.nan if v is None or v is pd.NA else float(v) for v in column]
        for column in values
    ]
    return np.array(plain).T
