"""Sums over the columns that are no lines equal the black box."""

import numpy as np
import pytest
from combinations import each, half
from response_oracle import check_equal
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.naive_bayes import BernoulliNB, CategoricalNB

from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._models.registry import read

N = 50
RANDOM = np.random.RandomState(0)
X = np.round(RANDOM.normal(size=(N, 4)), 1) * [1.0, 30.0, 1.0, 0.1]
X[:, 2] = RANDOM.randint(0, 4, N)
COUNTS = RANDOM.randint(0, 3, (N, 4))
Y = X[:, 0] + X[:, 2] * (X[:, 1] > 0) + 0.1 * RANDOM.normal(size=N)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
WEIGHTS = RANDOM.uniform(0.2, 2, N)

CASES = [
    # model, X, methods
    (BernoulliNB(binarize=0.05), X, ["predict_proba", "predict"]),
    (BernoulliNB(binarize=None), (X > 0) * 1.0, ["predict_proba"]),
    (CategoricalNB(min_categories=4), COUNTS, ["predict_proba", "predict"]),
    (DummyClassifier(), X, ["predict_proba", "predict"]),
    (DummyClassifier(strategy="uniform"), X, ["predict_proba"]),
]
EACH = [(model, X, method) for model, X, methods in CASES for method in methods]


@pytest.mark.parametrize(
    ("case", "y"),
    half(each(EACH, [TWO, THREE])),
    ids=lambda c: f"{c[0]!r:.40}-{c[2]}" if isinstance(c, tuple) else f"{len(set(c))}",
)
def test_equal_to_the_black_box(case, y):
    """Every reduction, grid, group and weight."""
    model, X, method = case
    model.fit(X, y)
    grids = ["all"] if X is COUNTS else ["all", 3]
    check_equal(model, X, None, method, [0, 1, 2, 3, [0, 2]], grids)
    check_equal(model, X, WEIGHTS, method, [[0], [1, 3]], ["all"])
    table = as_table(X)
    form = read(Model(model, method), table)
    own = Model(model, method)(X)
    np.testing.assert_allclose(form.outputs(X).T, own, rtol=1e-9, atol=1e-12)


def test_sparse_rows():
    """Of zeros and ones, as text makes them."""
    Z = sparse.csr_array((X > 0.5) * 1.0)
    for y in (TWO, THREE):
        check_equal(BernoulliNB().fit(Z, y), Z, WEIGHTS, "predict_proba")


def test_dummies_of_several_targets():
    """Constants, whatever the targets."""
    both = np.column_stack([Y, Y**2])
    check_equal(DummyRegressor().fit(X, both), X)
    labels = np.column_stack([THREE, THREE > 1])
    check_equal(DummyClassifier().fit(X, labels), X, None, "predict_proba")
