"""Frames of every library: plain loops, names, rows of weight 0."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from container_rows import N, columns, frame, pipeline, target
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import SensitivityImportance

LIBRARIES = ["pandas", "pandas extension", "polars"]


def rows_of(X):
    """The rows as Python objects, missing values None."""
    names = list(X.columns)
    get = X.get_column if hasattr(X, "get_column") else X.__getitem__
    result = np.empty((N, len(names)), dtype=object)
    for j, name in enumerate(names):
        values = get(name).to_list()
        missing = [v is None or v is pd.NA or v != v for v in values]
        result[:, j] = [None if m else v for v, m in zip(values, missing)]
    return result


FEATURES = {
    "city": "city",
    "size": "size",
    "income": "income",
    "count": "count",
    "member": "member",
    "age": "age",
    "text and number": ["city", "income"],
    "flag and level": ["member", "size"],
}
POSITIONS = [(0,), (1,), (2,), (3,), (4,), (5,), (0, 2), (4, 1)]


def double_loop(predict, X, contrast="pairs"):
    """The importances of `FEATURES`, one moved row after the other."""
    rows = rows_of(X)

    def of_rows(block):
        return predict(rebuilt(X, block)).reshape(len(block), -1)

    return [of_frame(of_rows, rows, p, contrast) for p in POSITIONS]


def of_frame(of_rows, rows, positions, contrast):
    """All donors' values for all rows, asked at once; then the literal sums."""
    values = [tuple(rows[k, j] for j in positions) for k in range(N)]
    moved = np.repeat(rows, N, axis=0)
    for member, j in enumerate(positions):
        moved[:, j] = [values[k][member] for _ in range(N) for k in range(N)]
    ice = of_rows(moved).reshape(N, N, -1)
    if contrast == "pairs":
        return np.mean(
            [np.abs(c[:, None] - c[None]).mean(axis=(0, 1)) for c in ice], axis=0
        )
    return np.abs(ice - of_rows(rows)[:, None]).mean(axis=(0, 1))


def rebuilt(X, rows):
    """A frame of X's own columns and types from rows of objects."""
    names = list(X.columns)
    data = {name: rows[:, j].tolist() for j, name in enumerate(names)}
    if isinstance(X, pl.DataFrame):
        return pl.DataFrame(data, schema=X.schema)
    return pd.DataFrame(data).astype(X.dtypes.to_dict())


@pytest.mark.parametrize(
    ("library", "contrast", "model"),
    each(LIBRARIES, ["pairs", "observed"], [Ridge(), KNeighborsRegressor(4)]),
    ids=str,
)
def test_pipelines_over_frames(library, contrast, model):
    """A column transformer in front of a fast and of a slow model, all donors."""
    X = frame(library)
    fitted = pipeline(model).fit(X, target())
    imp = SensitivityImportance(
        contrast=contrast, scale=None, features=FEATURES, estimation="exact"
    ).fit(fitted, X)
    expected = np.concatenate(double_loop(fitted.predict, X, contrast))
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9)
    assert type(imp.to_frame()).__module__.startswith(library.split()[0])
    assert imp.features_ == list(FEATURES)


@pytest.mark.parametrize(
    "contrast", ["pairs", pytest.param("range", marks=pytest.mark.thorough)]
)
def test_all_frames_give_the_numbers_of_an_array(contrast):
    """pandas, its extension types, polars and an array of codes."""
    reference = None
    for library in LIBRARIES:
        X = frame(library)
        fitted = pipeline(RandomForestRegressor(5, random_state=0)).fit(X, target())
        imp = SensitivityImportance(
            contrast=contrast, scale=None, features=FEATURES, random_state=0
        )
        numbers = imp.fit(fitted, X).importances_
        reference = numbers if reference is None else reference
        np.testing.assert_allclose(numbers, reference, rtol=1e-10)

    data = {name: column for name, column in columns().items()}
    orders = [sorted({v for v in data[c] if v is not None}) for c in ("city", "size")]
    for name, order in zip(("city", "size"), orders):
        data[name] = [np.nan if v is None else order.index(v) for v in data[name]]
    codes = np.array([[np.nan if v is None else v for v in c] for c in data.values()])

    def on_codes(A):
        decoded = {name: A[:, j].tolist() for j, name in enumerate(columns())}
        for name, order in zip(("city", "size"), orders):
            decoded[name] = [None if v != v else order[int(v)] for v in decoded[name]]
        return fitted.predict(pl.DataFrame(decoded))

    imp = SensitivityImportance(
        contrast=contrast,
        scale=None,
        random_state=0,
        features={
            n: list(p) if len(p) > 1 else p[0] for n, p in zip(FEATURES, POSITIONS)
        },
        categorical_features=[0, 1, 4],
    ).fit(on_codes, codes.T)
    np.testing.assert_allclose(imp.importances_, reference, rtol=1e-10)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frame_is_handed_to_the_model_as_it_came(library):
    """Same library, column order and types; strings are those of other rows."""
    X = frame(library)
    before = rows_of(X)
    kinds = [str(t) for t in X.dtypes]
    texts = set()

    def model(Z):
        assert type(Z) is type(X)
        assert list(Z.columns) == list(X.columns)
        assert [str(t) for t in Z.dtypes] == kinds
        texts.update(v for v in Z["city"].to_list() if isinstance(v, str))
        return np.array([len(str(v)) for v in Z["city"].to_list()], dtype=float)

    for estimation in ("exact", "sampled", "rows"):
        imp = SensitivityImportance(
            estimation=estimation, scale=None, n_draws=4, features=FEATURES
        ).fit(model, X)
        assert imp.importances_[0] > 0
        assert np.all(imp.importances_[[1, 2, 3, 4, 5]] == 0)
    assert texts == {"Bergen", "Oslo", "Bodø"}
    assert np.array_equal(rows_of(X), before)  # nothing was written to


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_boosting_with_categorical_columns(library):
    """Native categories and missing values, without any encoder."""
    X = frame("pandas")[["size", "income", "count", "age"]]
    if library == "polars":
        X = frame("polars").select("size", "income", "count", "age")
    model = HistGradientBoostingRegressor(
        max_iter=8, min_samples_leaf=3, categorical_features=["size"]
    ).fit(X, target())
    features = ["size", "income", ["size", "count"]]
    imp = SensitivityImportance(scale=None, features=features).fit(model, X)
    rows = rows_of(X)

    def of_rows(block):
        return model.predict(rebuilt(X, block))[:, None]

    for e, positions in enumerate([(0,), (1,), (0, 2)]):
        expected = of_frame(of_rows, rows, positions, "pairs")
        np.testing.assert_allclose(imp.importances_[e], expected[0], rtol=1e-9)


def test_rows_of_weight_zero_and_row_labels():
    """pandas' row labels are not looked at, nor are rows without weight."""
    X = frame("pandas")
    fitted = pipeline(Ridge()).fit(X, target())
    weights = np.arange(N) % 3.0
    kept = weights > 0
    imp = SensitivityImportance().fit(fitted, X, target(), sample_weight=weights)
    alone = SensitivityImportance().fit(
        fitted, X[kept], target()[kept], sample_weight=weights[kept]
    )
    np.testing.assert_allclose(imp.importances_, alone.importances_, rtol=1e-12)
    shuffled = X.set_axis([7] * N, axis=0)  # labels that repeat
    again = SensitivityImportance().fit(
        fitted, shuffled, pd.Series(target(), index=X.index), sample_weight=weights
    )
    np.testing.assert_allclose(again.importances_, imp.importances_, rtol=1e-12)


def test_names_of_columns():
    """Duplicates are refused; labels that are no strings keep their text."""
    X = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match=r"(?s)share a name.*'a' 2 times"):
        SensitivityImportance(scale=None).fit(lambda X: X.iloc[:, 0], X)
    X.columns = [10, 11, 12, 13]
    imp = SensitivityImportance(scale=None, features=["11", ["10", "13"]])
    imp.fit(lambda X: np.asarray(X[11], dtype=float), X)
    assert imp.features_ == ["11", "10+13"]
    assert imp.feature_names_in_.tolist() == ["10", "11", "12", "13"]
    assert imp.importances_[0] > 0
    assert imp.importances_[1] == 0
