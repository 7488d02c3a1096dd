"""Trees inside models that hold them, and of subclasses."""

import numpy as np
import pytest
from messages import says
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skvarimp import ImpurityImportance
from skvarimp._measures.impurity.readers import as_known
from skvarimp._partitions import partitions

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4))
Y = np.column_stack([2 * X[:, 0] + X[:, 1], X[:, 2]]) + RANDOM.normal(size=(120, 2))
FOREST = RandomForestRegressor(5, random_state=0)
ROWS = ["training", "unseen", "oob"]


def same(found, right):
    """Importances and errors."""
    np.testing.assert_allclose(found.importances_, right.importances_, rtol=1e-12)
    if right.standard_errors_ is None:
        assert found.standard_errors_ is None
    else:
        np.testing.assert_allclose(
            found.standard_errors_, right.standard_errors_, rtol=1e-12
        )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    "inside", [FOREST, make_pipeline(StandardScaler(), FOREST)], ids=["forest", "pipe"]
)
def test_transformed_target(rows, inside):
    """The trees earn in units of the target that they were grown on."""
    y = np.exp(Y[:, 0] / 5)
    logs = TransformedTargetRegressor(inside, func=np.log, inverse_func=np.exp)
    found = ImpurityImportance(rows=rows).fit(logs.fit(X, y), X, y)
    same(found, ImpurityImportance(rows=rows).fit(logs.regressor_, X, np.log(y)))
    scaled = TransformedTargetRegressor(inside, transformer=MinMaxScaler())
    found = ImpurityImportance(rows=rows).fit(scaled.fit(X, y), X, y)
    of_trees = ImpurityImportance(rows=rows).fit(
        scaled.regressor_, X, scaled.transformer_.transform(y[:, np.newaxis])[:, 0]
    )
    same(found, of_trees)


def test_surrogates_of_a_transformed_target():
    """X and y are checked against what the trees were grown on."""
    y = np.exp(Y[:, 0] / 5)
    model = TransformedTargetRegressor(FOREST, func=np.log, inverse_func=np.exp)
    imp = ImpurityImportance(surrogates=True)
    found = imp.fit(model.fit(X, y), X, y).association_
    right = clone(imp).fit(clone(FOREST).fit(X, np.log(y)), X, np.log(y)).association_
    np.testing.assert_array_equal(found, right)


def test_transformed_targets_of_rows_in_partitions(monkeypatch):
    """Those of a sample where memory does not hold them, as behind transformers."""
    array = pytest.importorskip("dask.array")
    y = np.exp(Y[:, 0] / 5)
    model = TransformedTargetRegressor(FOREST, func=np.log, inverse_func=np.exp)
    measure = ImpurityImportance(rows="unseen")
    rows, target = (array.from_array(a, chunks=60) for a in (X, y))
    model.fit(X, y)
    expected = clone(measure).fit(model, X, y).importances_
    found = clone(measure).fit(model, rows, target).importances_
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    monkeypatch.setattr(partitions, "MOST_DONORS", 100)
    donors = partitions.Partitions(rows, target, None, None)
    for estimator in (model, make_pipeline(StandardScaler(), FOREST).fit(X, y)):
        found = clone(measure).fit(estimator, rows, target)
        expected = clone(measure).fit(
            estimator, donors.table.native, donors.y, sample_weight=donors.sample_weight
        )
        same(found, expected)
    with pytest.raises(
        TypeError, match=says("y … got a Dask collection … y.compute()")
    ):
        measure.fit(model, X, target)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MultiOutputRegressor(FOREST), Y),
        (MultiOutputClassifier(RandomForestClassifier(5, random_state=0)), Y > 0),
    ],
    ids=["numbers", "classes"],
)
def test_a_model_of_each_output(model, y, rows):
    """Each output is that of its model; importances are the mean over them."""
    model.fit(X, y)
    measure = ImpurityImportance(rows=rows, keep_rows=rows != "training")
    found = clone(measure).fit(model, X, y)
    of_outputs = [
        clone(measure).fit(member, X, y[:, o])
        for o, member in enumerate(model.estimators_)
    ]
    right = np.column_stack([one.importances_ for one in of_outputs])
    np.testing.assert_allclose(found.importances_per_output_, right, rtol=1e-12)
    np.testing.assert_allclose(found.importances_, right.mean(axis=1), rtol=1e-12)
    assert found.output_names_ == ["y0", "y1"]
    if rows == "training":
        return
    influences = np.mean([one.influences_ for one in of_outputs], axis=0)
    # sums of 120 terms, in an order of their own
    np.testing.assert_allclose(found.influences_, influences, rtol=1e-12, atol=1e-14)
    error = np.sqrt(np.sum((influences / len(X)) ** 2, axis=0) * len(X) / (len(X) - 1))
    np.testing.assert_allclose(found.standard_errors_, error, rtol=1e-10)


def test_what_a_model_of_each_output_has_not():
    """Surrogates, out-of-bag rows of boosting, and another number of outputs."""
    model = MultiOutputRegressor(FOREST).fit(X, Y)
    with pytest.raises(ValueError, match="one of its `estimators_`"):
        ImpurityImportance(surrogates=True).fit(model, X, Y)
    with pytest.raises(ValueError, match="each of the 2 outputs"):
        ImpurityImportance(rows="unseen").fit(model, X, Y[:, :1])
    boosting = MultiOutputRegressor(GradientBoostingRegressor(n_estimators=2))
    with pytest.raises(ValueError, match="got GradientBoostingRegressor"):
        ImpurityImportance(rows="oob").fit(boosting.fit(X, Y), X, Y)


class Logged(RandomForestRegressor):
    """A subclass that answers as its base."""

    def __init__(self, n_estimators=5, random_state=0):
        super().__init__(n_estimators, random_state=random_state)

    def fit(self, X, y):
        """As the base, and remember that."""
        self.fits_ = getattr(self, "fits_", 0) + 1
        return super().fit(X, y)

    def extra(self):
        """A method that the base does not have."""


class Shifted(Logged):
    """A subclass of a subclass, which answers otherwise."""

    def predict(self, X):
        """Of other rows."""
        return super().predict(X + 1)


@pytest.mark.parametrize("rows", ROWS)
def test_subclasses_that_answer_as_their_base(rows):
    """They may be fitted in another way."""
    found = ImpurityImportance(rows=rows).fit(Logged().fit(X, Y[:, 0]), X, Y[:, 0])
    right = ImpurityImportance(rows=rows).fit(clone(FOREST).fit(X, Y[:, 0]), X, Y[:, 0])
    same(found, right)


def test_subclasses_that_answer_otherwise():
    """They are refused, by their own name."""
    model = Shifted().fit(X, Y[:, 0])
    assert as_known(model) is model
    with pytest.raises(TypeError, match=r"got Shifted\. Use SensitivityImportance"):
        ImpurityImportance().fit(model)


class OtherDraws(Logged):
    """A subclass whose trees see other rows than it was given."""

    def fit(self, X, y):
        """Every second row twice."""
        return super().fit(np.repeat(X[::2], 2, axis=0), np.repeat(y[::2], 2))


def test_subclasses_that_grow_on_other_rows():
    """Their trees can be read, and rows that they were not grown on are found out."""
    model = OtherDraws().fit(X, Y[:, 0])
    plain = clone(FOREST).fit(np.repeat(X[::2], 2, axis=0), np.repeat(Y[::2, 0], 2))
    same(ImpurityImportance().fit(model), ImpurityImportance().fit(plain))
    with pytest.raises(
        ValueError, match=says("X … training data … rows of weight 2 … was fitted with")
    ):
        ImpurityImportance(surrogates=True).fit(model, X, Y[:, 0])
