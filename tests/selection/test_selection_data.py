"""Selectors hand on frames and sparse rows as they came, in bounded memory."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import one_per
from scipy import sparse
from selection_data import X, Y, assert_rule
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skvarimp import BackwardEliminationSelector, SensitivityImportance
from skvarimp._response.drawing import DONOR_BINS
from skvarimp._response.rounds import BLOCK_ROWS


def frame(n=120):
    """Strings, missing values, numbers; the target needs two columns."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "noise": random.randn(n),
            "city": random.choice(["Oslo", "Rome"], n),
            "size": np.where(random.rand(n) < 0.1, np.nan, random.rand(n)),
            "more": random.randn(n),
        }
    )
    y = 5 * (frame["city"] == "Oslo") + 8 * frame["size"].fillna(0.5)
    return frame, y.to_numpy()


def test_frames_reach_the_estimator_as_they_came():
    """A pipeline that encodes strings by type, over pandas and polars."""
    Z, y = frame()
    encoded = ColumnTransformer(
        [
            ("text", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
            ("rest", "passthrough", make_column_selector(dtype_include="number")),
        ]
    )
    model = make_pipeline(
        encoded, HistGradientBoostingRegressor(max_iter=30, random_state=0)
    )
    selector = BackwardEliminationSelector(model, random_state=0).fit(Z, y)
    assert selector.get_feature_names_out().tolist() == ["city", "size"]
    assert selector.score(Z, y) > 0.8
    out = selector.set_output(transform="pandas").transform(Z)
    assert list(out.columns) == ["city", "size"]
    assert clone(selector).fit(Z, y).transform(Z).shape == (len(Z), 2)

    direct = HistGradientBoostingRegressor(
        max_iter=30, categorical_features="from_dtype", random_state=0
    )
    polars = pl.from_pandas(Z).with_columns(pl.col("city").cast(pl.Categorical))
    selector = BackwardEliminationSelector(direct, random_state=0).fit(polars, y)
    assert selector.get_feature_names_out().tolist() == ["city", "size"]


def test_sparse_missing_values_and_inverse():
    """Sparse X stays sparse, NaN where the estimator takes it."""
    Z = sparse.random_array((150, 6), density=0.4, rng=np.random.default_rng(0))
    y = (Z @ np.array([3.0, 0, 0, 2, 0, 0])) > 1
    selector = BackwardEliminationSelector(LogisticRegression(C=100.0), cv=3)
    out = selector.fit(Z.tocsr(), y).transform(Z.tocsr())
    assert sparse.issparse(out)
    assert set(selector.get_support(indices=True)) <= {0, 3}
    dense = Z.toarray()
    back = selector.inverse_transform(selector.transform(dense))
    assert np.array_equal(back[:, selector.support_], dense[:, selector.support_])
    missing = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, X)
    boosting = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    assert_rule(BackwardEliminationSelector(boosting, cv=2, step=3).fit(missing, Y))


class FirstColumn(RegressorMixin, BaseEstimator):
    """A model that needs no memory of its own."""

    def fit(self, X, y):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """The first column."""
        return X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0]


DRAWS = SensitivityImportance(
    contrast="observed", scale=None, estimation="sampled", n_draws=4
)
STEEP = SGDRegressor(max_iter=1, tol=None, learning_rate="constant", eta0=1e-6)
BY_CALLABLE = (FirstColumn(), lambda model, X, y: np.arange(X.shape[1])[::-1])


@pytest.mark.parametrize(
    ("form", "model", "importance"),
    one_per(
        lambda form, *_: form in ("csr", "csc"),
        [
            *((form, *BY_CALLABLE) for form in ("C", "csr")),
            *((form, STEEP, None) for form in ("F", "csc", "C", "csr")),
            *((form, *BY_CALLABLE) for form in ("F", "csc")),
            ("C", FirstColumn(), DRAWS),
        ],
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_memory_of_narrowing_data(form, model, importance):
    """At most two copies of X beside it while columns go, the measure included.

    Draws keep three numbers of each row of a block, and five of each bin of donors.
    """
    import tracemalloc

    shape = (60_000, 50) if importance is DRAWS else (6000, 500)
    Z = np.random.default_rng(0).standard_normal(shape)
    y = Z[:, 0].copy()
    size = Z.nbytes
    if form == "F":
        Z = np.asfortranarray(Z)
    elif form != "C":
        Z = sparse.random_array(shape, density=0.5, rng=0).asformat(form)
        size = Z.data.nbytes + Z.indices.nbytes
    n = Z.shape[1]
    selector = BackwardEliminationSelector(
        model,
        importance,
        importance_threshold=0.0,
        min_features_to_select=n - 2,
        random_state=0,
    )
    tracemalloc.start()
    selector.fit(Z, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert selector.path_["n_features"] == [n, n - 1, n - 2]
    own = size if model is STEEP and form in {"F", "csc"} else 0  # it wants rows
    if importance is DRAWS:
        own = 8 * n * (3 * BLOCK_ROWS + 5 * DONOR_BINS)
    assert peak <= 2.0 * size + own


def test_a_column_of_numbers_is_taken_for_numbers():
    """As scikit-learn does, which says so."""
    random = np.random.RandomState(0)
    X = random.randn(40, 3)
    y = X[:, 0] + 0.1 * random.randn(40)
    expected = BackwardEliminationSelector(LinearRegression()).fit(X, y)
    selector = BackwardEliminationSelector(LinearRegression())
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        selector.fit(X, y[:, np.newaxis])
    assert selector.estimator_.coef_.shape == expected.estimator_.coef_.shape
    np.testing.assert_array_equal(selector.support_, expected.support_)
