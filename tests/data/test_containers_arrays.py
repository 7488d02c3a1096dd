"""Arrays of every type and order, and sparse formats."""

import numpy as np
import pandas as pd
import pytest
from combinations import each
from literal import sensitivity
from roundoff import roundoff
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    FIRMImportance,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)


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


@pytest.mark.parametrize(("form", "kind"), each(FORMATS, ["matrix", "array"]))
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
        np.testing.assert_allclose(
            ours, dense, rtol=1e-10, atol=roundoff(len(X), model(S))
        )
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
        np.testing.assert_allclose(
            again, expected, rtol=1e-12, atol=roundoff(len(X), model(X))
        )
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


def test_numbers_of_object_type_are_numbers_to_every_measure():
    """In arrays and in frames, also where training data are read."""
    random = np.random.RandomState(0)
    X = random.randn(40, 3)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    for measure in (
        ImpurityImportance(surrogates=True),
        SensitivityImportance(),
        PartialDependenceImportance(),
        FIRMImportance(),
        PermutationImportance(random_state=0),
    ):
        expected = measure.fit(tree, X, y).importances_
        for objects in (X.astype(object), pd.DataFrame(X, dtype=object)):
            found = measure.fit(tree, objects, y).importances_
            np.testing.assert_allclose(found, expected, rtol=1e-12)
