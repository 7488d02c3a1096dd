"""Every container and every kind of model: the same numbers, handed on as they came."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from literal import sensitivity
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC

from skvarimp import SensitivityImportance, compare_importances

N = 60
LIBRARIES = ["pandas", "pandas extension", "polars"]


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


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("contrast", ["pairs", "observed"])
@pytest.mark.parametrize(
    "model", [Ridge(), KNeighborsRegressor(4)], ids=["linear", "black box"]
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
    assert imp.entry_names_ == list(FEATURES)


@pytest.mark.parametrize("contrast", ["pairs", "range"])
def test_all_frames_give_the_numbers_of_an_array(contrast):
    """pandas, its extension types, polars and an array of codes."""
    reference = None
    for library in LIBRARIES:
        X = frame(library)
        fitted = pipeline(RandomForestRegressor(5, random_state=0)).fit(X, target())
        imp = SensitivityImportance(contrast=contrast, scale=None, features=FEATURES)
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
            estimation=estimation, scale=None, n_repeats=2, features=FEATURES
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
    """Duplicates are refused; names that are no strings are positions."""
    X = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="column name 'a' more than once"):
        SensitivityImportance(scale=None).fit(lambda X: X.iloc[:, 0], X)
    X.columns = [10, 11, 12, 13]
    imp = SensitivityImportance(scale=None, features=[1, [0, 3]])
    imp.fit(lambda X: np.asarray(X[11], dtype=float), X)
    assert imp.entry_names_ == ["x1", "x0+x3"]
    assert not hasattr(imp, "feature_names_in_")
    assert imp.importances_[0] > 0
    assert imp.importances_[1] == 0


# --- arrays --------------------------------------------------------------------


def test_arrays_of_every_type_and_order():
    """Types, memory orders, lists and read-only views change nothing."""
    random = np.random.RandomState(0)
    X = np.round(random.randn(40, 3) * 4)
    model = KNeighborsRegressor(3).fit(X, X[:, 0] * X[:, 1])
    reference = SensitivityImportance(scale=None).fit(model, X).importances_
    read_only = X.copy()
    read_only.setflags(write=False)
    for other in (
        np.asfortranarray(X),
        X.astype(int),
        X.astype(np.int8),
        X.astype(np.float32),
        X.astype(object),
        X[::-1][::-1],
        X.tolist(),
        read_only,
    ):
        again = SensitivityImportance(scale=None).fit(model, other).importances_
        np.testing.assert_allclose(again, reference, rtol=1e-7)


def test_boolean_and_object_arrays():
    """Levels of an object array are objects of its rows; booleans have two."""
    random = np.random.RandomState(0)
    X = np.empty((30, 3), dtype=object)
    X[:, 0] = random.choice(["a", "bb", "cccc"], 30)
    X[:, 1] = random.randint(0, 2, 30).astype(bool)
    X[:, 2] = random.randn(30)

    def model(Z):
        assert Z.dtype == object
        return np.array([len(t) * (1 + b) + x for t, b, x in Z])

    imp = SensitivityImportance(scale=None, features=[0, 1, 2, [0, 1]]).fit(model, X)
    for e, positions in enumerate([(0,), (1,), (2,), (0, 1)]):
        expected = sensitivity(lambda Z: model(Z)[:, None], X, positions, "pairs")
        np.testing.assert_allclose(imp.importances_[e], expected[0], rtol=1e-10)
    flags = random.randint(0, 2, (30, 2)).astype(bool)

    def both(Z):
        assert Z.dtype == bool
        return np.logical_and(Z[:, 0], Z[:, 1]).astype(float)

    imp = SensitivityImportance(contrast="range", scale=None).fit(both, flags)
    np.testing.assert_allclose(imp.importances_, flags.mean(axis=0)[::-1])


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def sparse_rows():
    """Counts, mostly 0; a column of zeros; repeated coordinates in the COO form."""
    random = np.random.RandomState(0)
    X = random.poisson(0.4, (30, 5)).astype(float)
    X[:, 3] = 0
    return X


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats(form, kind):
    """Handed on in the format given (diagonals as CSR), groups and own values too."""
    X = sparse_rows()
    make = sparse.csr_array if kind == "array" else sparse.csr_matrix
    S = make(X).asformat(form)
    seen = set()

    def model(Z):
        seen.add(type(Z))
        D = Z.toarray()
        return D[:, 0] * (1 + D[:, 1]) + np.sqrt(D[:, 2]) + D[:, 3]

    features = [0, 1, 2, 3, 4, [0, 2], [1, 3]]
    for parameters in (
        dict(contrast="pairs"),
        dict(contrast="observed"),
        dict(contrast="range", features=[0, 2, 3]),  # five values not in X
        dict(estimation="rows", random_state=0),
        dict(estimation="sampled", random_state=0),
    ):
        imp = SensitivityImportance(
            **({"features": features, "scale": None} | parameters)
        )
        ours = imp.fit(model, S).importances_
        dense = imp.fit(lambda X: model(sparse.csr_array(X)), X).importances_
        np.testing.assert_allclose(ours, dense, rtol=1e-10, atol=1e-13)
    assert seen == {type(S), sparse.csr_array} | ({make} if form == "dia" else set())
    assert np.array_equal(S.toarray(), X)


def test_sparse_duplicates_and_explicit_zeros():
    """Repeated coordinates add up, stored zeros are zeros."""
    X = sparse_rows()
    rows, cols = np.nonzero(X)
    half = X[rows, cols] / 2
    S = sparse.coo_array(
        (
            np.r_[half, half, np.zeros(3)],
            (np.r_[rows, rows, [0, 1, 2]], np.r_[cols, cols, [3, 3, 4]]),
        ),
        shape=X.shape,
    )

    def model(Z):
        D = Z.toarray() if sparse.issparse(Z) else Z
        return D @ np.arange(1.0, 6.0) + D[:, 0] * D[:, 4]

    imp = SensitivityImportance(scale=None, features=[0, 3, 4, [0, 4]])
    expected = imp.fit(model, X).importances_
    for form in ("coo", "csr"):
        again = imp.fit(model, S.asformat(form)).importances_
        np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-13)
    assert expected[1] == 0


def test_models_that_need_their_own_sparse_format():
    """An SVC is fitted and asked in CSR, a forest in CSC."""
    X = sparse_rows()
    y = X[:, 0] > X[:, 1]
    for model, form in ((SVC(), "csr"), (RandomForestClassifier(5), "csc")):
        S = sparse.csr_matrix(X).asformat(form)
        model.set_params(random_state=0).fit(S, y)
        dense = type(model)(**model.get_params()).fit(X, y)
        imp = SensitivityImportance(features=[0, [1, 2]])
        expected = imp.fit(dense, X, y).importances_
        np.testing.assert_allclose(
            imp.fit(model, S, y).importances_, expected, rtol=1e-6
        )


# --- models --------------------------------------------------------------------


def test_multi_output_models():
    """Regressors, lists of probabilities, label columns; the mean over outputs."""
    random = np.random.RandomState(0)
    X = random.randn(40, 3)
    Y = np.column_stack([X[:, 0] * X[:, 1], 10 * X[:, 2], X[:, 0]])
    forest = RandomForestRegressor(4, random_state=0).fit(X, Y)
    imp = SensitivityImportance().fit(forest, X, Y)
    assert imp.importances_per_output_.shape == (3, 3)
    assert imp.output_names_ == ["y0", "y1", "y2"]
    assert imp.scale_.shape == (3,)
    for o in range(3):
        one = SensitivityImportance().fit(
            lambda X, o=o: forest.predict(X)[:, o], X, Y[:, o]
        )
        np.testing.assert_allclose(
            imp.importances_per_output_[:, o], one.importances_, rtol=1e-9
        )

    labels = np.column_stack(
        [np.where(X[:, 0] > 0, "a", "b"), random.choice(list("xyz"), 40)]
    )
    for model in (
        RandomForestClassifier(5, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
    ):
        model.fit(X, labels)
        for method in ("predict_proba", "predict"):
            imp = SensitivityImportance(response_method=method).fit(model, X, labels)
            assert imp.output_names_ == ["y0: b", "y1: x", "y1: y", "y1: z"]
            assert imp.importances_per_output_.shape == (3, 4)
    indicators = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3]).astype(int)
    model = RandomForestClassifier(5, random_state=0).fit(X, indicators)
    imp = SensitivityImportance().fit(model, X, indicators)
    assert imp.importances_per_output_.shape == (3, 2)
    assert imp.importances_per_output_[0, 0] > imp.importances_per_output_[2, 0]


class Predictor:
    """No scikit-learn object: `predict` only; `__call__` must not be used."""

    def __call__(self, X):
        """Never used."""
        raise AssertionError("predict wins over a call")

    def predict(self, X):
        """A list of numbers, not an array."""
        return [float(row[0] * row[1]) for row in np.asarray(X)]


class Classifier:
    """`classes_` makes it a classifier; it has no tags and no fit."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        """Logistic in the first column."""
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])


class Untagged:
    """Has a `fit` that was never called; nothing of it is checked."""

    def fit(self, X, y):
        """Not needed."""

    def decision_function(self, X):
        """A score without classes: taken by name only."""
        return np.asarray(X)[:, 1] ** 2


def test_models_that_are_no_scikit_learn_objects():
    """Objects, callables, bound methods; a classifier is one that has classes."""
    X = np.random.RandomState(0).randn(30, 2)
    y = X[:, 0] * X[:, 1]
    imp = SensitivityImportance().fit(Predictor(), X, y)
    expected = sensitivity(lambda X: X[:, :1] * X[:, 1:], X, (0,), "pairs")
    np.testing.assert_allclose(
        imp.importances_[0] * imp.scale_, expected[0], rtol=1e-10
    )
    assert "black box" in imp.response_path_

    imp = SensitivityImportance().fit(Classifier(), X, np.where(y > 0, "yes", "no"))
    assert imp.output_names_ == ["yes"]
    assert imp.importances_[1] == 0

    imp = SensitivityImportance(response_method="decision_function")
    imp.fit(Untagged(), X)
    assert imp.importances_[0] == 0
    assert imp.importances_[1] > 0
    with pytest.raises(TypeError, match="or be a callable"):
        SensitivityImportance().fit(Untagged(), X, y)

    for call in (Predictor().predict, lambda X: np.asarray(X)[:, [0, 1]] ** 2):
        SensitivityImportance(scale=None).fit(call, X)
    with pytest.raises(ValueError, match="20 values for 30 rows"):
        SensitivityImportance(scale=None).fit(lambda X: np.ones(20), X)
    with pytest.raises(ValueError, match=r"\(n_samples,\) or"):
        SensitivityImportance(scale=None).fit(lambda X: np.ones((30, 2, 2)), X)


def test_missing_columns_of_frames_are_the_models_business():
    """Another width than the model was fitted with is an error before any work."""
    X = frame("pandas")
    fitted = pipeline(Ridge()).fit(X, target())
    with pytest.raises(ValueError, match="X has 5 columns, but Pipeline was"):
        SensitivityImportance(scale=None).fit(fitted, X.iloc[:, :5])


# --- one scale for models of different kinds -------------------------------------


def test_models_of_three_kinds_are_on_one_scale():
    """Score of an SVC, probability of a forest, of a logistic regression.

    All are divided by the spread of what they predict, so the strongest input has
    about the same importance; the raw scores differ by a factor of more than five.
    """
    random = np.random.RandomState(0)
    X = random.randn(150, 3)
    y = (2 * X[:, 0] + X[:, 1] + 0.1 * random.randn(150) > 0).astype(int)
    models = {
        "svc": SVC(C=100).fit(X, y),
        "forest": RandomForestClassifier(30, random_state=0).fit(X, y),
        "logistic": LogisticRegression(C=100).fit(X, y),
    }
    table = compare_importances(models, X, y)
    strongest = table.loc["x0", [f"{m}/SensitivityImportance" for m in models]]
    assert strongest.max() < 1.5 * strongest.min()
    assert all(table[f"{m}/SensitivityImportance rank"].iloc[0] == 1 for m in models)
    raw = [
        SensitivityImportance(scale=None).fit(model, X, y).importances_[0]
        for model in models.values()
    ]
    assert max(raw) > 5 * min(raw)
