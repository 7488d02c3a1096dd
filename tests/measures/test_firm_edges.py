"""FIRM of labels, constants and classes; bad input is refused; callbacks."""

import pickle

import numpy as np
import pytest
from callback_recorder import Recorder
from firm_rows import N, X, score
from messages import says
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from skvarimp import FIRMImportance
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import Level, Product


def test_labels_as_scores():
    """Numbers as they are; of two classes the second; of three all."""
    names = np.array(["no", "yes"])[X[:, 2].astype(int)]
    by_name = FIRMImportance().fit(None, X, names)
    by_number = FIRMImportance().fit(None, X, X[:, 2])
    np.testing.assert_allclose(by_name.importances_, by_number.importances_)
    assert by_name.output_names_ == ["yes"]
    assert by_number.output_names_ == ["y"]
    iris = load_iris(as_frame=True)
    species = iris.target_names[iris.target]
    three = FIRMImportance().fit(None, iris.data, species)
    assert three.output_names_ == ["setosa", "versicolor", "virginica"]
    for o, name in enumerate(three.output_names_):
        one = FIRMImportance().fit(None, iris.data, (species == name).astype(int))
        np.testing.assert_allclose(
            three.importances_per_output_[:, o], one.importances_, rtol=1e-12
        )
    numbers = FIRMImportance().fit(None, X, score(X))
    assert numbers.output_names_ == ["y0", "y1"]
    objects = FIRMImportance().fit(None, X, X[:, 2].astype(int).astype(object))
    np.testing.assert_allclose(objects.importances_, by_number.importances_)
    pairs = np.column_stack([names, names[::-1]])
    assert FIRMImportance().fit(None, X, pairs).output_names_ == ["y0: yes", "y1: yes"]
    with pytest.raises(ValueError, match=says("fit(None, X, y) … Pass y")):
        FIRMImportance().fit(None, X)
    labels = np.array([*names[:-1], None], dtype=object)
    with pytest.raises(ValueError, match=says("y … missing … Leave those rows out")):
        FIRMImportance().fit(None, X, labels)


def test_constants_are_0():
    """A constant column, function or score has no importance, and no NaN."""
    for standardize in (False, True):
        imp = FIRMImportance(
            features=[4],
            feature_functions=[lambda Z: np.ones(len(Z)), Level(1, 99)],
            standardize=standardize,
        )
        imp.feature_functions[0].__name__ = "one"
        imp.fit(score, X)
        assert imp.importances_.tolist() == [0.0] * 3
        assert imp.standard_errors_.tolist() == [0.0] * 3
        for method in ("auto", "binary", "linear", "conditional_mean"):
            features = [2, 4] if method == "binary" else None
            imp = FIRMImportance(
                method=method, standardize=standardize, features=features
            ).fit(lambda Z: np.full(len(Z), 0.3), X)
            assert np.all(imp.importances_ == 0.0)
            assert np.all(imp.standard_errors_ == 0.0)
    means = FIRMImportance(method="conditional_mean", features=[4])
    for k in range(1, 9):  # centred scores have a mean of either sign, by rounding
        means.fit(lambda Z, k=k: np.outer(np.sin(k * Z[:, 0]), [1, -1]), X)
        assert not np.signbit(means.importances_per_output_).any()
    dense = np.zeros((6, 3))
    empty = FIRMImportance().fit(None, sparse.csr_array(dense), np.arange(6.0))
    assert empty.importances_.tolist() == [0.0] * 3


def test_a_column_whose_variance_vanishes_is_constant():
    """The squares of differences of 1e-200 are below the smallest number."""
    X = np.column_stack([np.arange(6.0), np.arange(6) * 1e-200])
    imp = FIRMImportance(method="linear").fit(lambda X: X[:, 0], X)
    assert imp.importances_[0] > 0
    assert imp.importances_[1] == imp.standard_errors_[1] == 0.0


def test_one_constant_output_among_others():
    """Standardising leaves it 0 and does not disturb the rest."""
    s = np.column_stack([score(X)[:, 0], np.ones(N)])
    imp = FIRMImportance(standardize=True).fit(None, X, s)
    alone = FIRMImportance(standardize=True).fit(None, X, s[:, 0])
    np.testing.assert_allclose(imp.importances_per_output_[:, 0], alone.importances_)
    assert np.all(imp.importances_per_output_[:, 1] == 0)
    np.testing.assert_allclose(imp.standard_errors_, alone.standard_errors_ / 2)


def test_bad_feature_functions_are_refused():
    """Another length, non-finite values, no numbers, no function."""

    def fit(function, **parameters):
        return FIRMImportance(feature_functions=[function], **parameters).fit(score, X)

    def short(Z):
        return Z[:-1, 0]

    def infinite(Z):
        return np.log(
            np.zeros(len(Z)) + (Z[:, 2] > 0) * 1.0,
            where=Z[:, 2] > 0,
            out=np.full(len(Z), np.nan),
        )

    def words(Z):
        return np.array(["a"] * len(Z))

    with pytest.raises(ValueError, match=r"'short' returned shape \(89,\) for 90 rows"):
        fit(short)
    with pytest.raises(ValueError, match="'infinite' returned NaN or infinity"):
        fit(infinite)
    with pytest.raises(TypeError, match=says("'words' … one number per row")):
        fit(words)
    with pytest.raises(TypeError, match=r"got 0\. Columns go into `features`"):
        fit(0)
    for not_several in (Product(0, 1), np.array(3)):
        with pytest.raises(TypeError, match=says("'feature_functions' … Mapping")):
            FIRMImportance(feature_functions=not_several).fit(score, X)
    with pytest.raises(ValueError, match="`feature_functions` is empty"):
        FIRMImportance(feature_functions=[]).fit(score, X)
    with pytest.raises(ValueError, match=says("'<lambda>' … `feature_functions`")):
        FIRMImportance(feature_functions=[lambda Z: Z[:, 0], lambda Z: Z[:, 1]]).fit(
            score, X
        )
    named = {"a": lambda Z: Z[:, 0], "b": lambda Z: Z[:, [1]]}
    imp = FIRMImportance(feature_functions=named).fit(score, X)
    assert imp.features_ == ["a", "b"]
    with pytest.raises(ValueError, match=says("'x0' … `feature_functions`")):
        FIRMImportance(features=[0], feature_functions={"x0": Product(0)}).fit(score, X)


def test_bad_parameters_and_data_are_refused():
    """Before any work, with a way out."""
    with pytest.raises(ValueError, match="two values, but 'x1' has 5 values"):
        FIRMImportance(method="binary", features=[2, 1]).fit(score, X)
    with pytest.raises(
        ValueError, match=r"two values, but 'x1\+x2' has more than 9 values. Use"
    ):
        FIRMImportance(method="binary", features=[[1, 2]]).fit(score, X)
    with pytest.raises(ValueError, match="'method' parameter"):
        FIRMImportance(method="slope").fit(score, X)
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        FIRMImportance(n_bins=1).fit(score, X)
    with pytest.raises(ValueError, match="X has 3 columns"):
        FIRMImportance().fit(LinearRegression().fit(X, X[:, 0]), X[:, :3])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FIRMImportance().fit(LinearRegression(), X)
    with pytest.raises(ValueError, match="y has 3 rows"):
        FIRMImportance().fit(None, X, [1, 2, 3])
    with pytest.raises(ValueError, match="`sample_weight` must be non-negative"):
        FIRMImportance().fit(score, X, sample_weight=-np.ones(N))
    with pytest.raises(ValueError, match=says("X … no columns")):
        FIRMImportance().fit(None, X[:, :0], X[:, 0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        FIRMImportance().fit(lambda Z: Z[:, 0] * np.nan, X)
    with pytest.raises(ValueError, match="has no `decision_function`"):
        FIRMImportance(response_method="decision_function").fit(
            LinearRegression().fit(X, X[:, 0]), X
        )


def test_nothing_is_modified_and_fits_repeat():
    """X, y, weights and the model stay; a second fit is the first one."""
    model = LogisticRegression().fit(X, X[:, 2])
    weights, before = np.ones(N), X.copy()
    coef = model.coef_.copy()
    imp = FIRMImportance(feature_functions=[Product(0, 3)], features=[0, 1, [0, 3]])
    first = imp.fit(model, X, sample_weight=weights).importances_
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(weights, 1.0)
    np.testing.assert_array_equal(imp.fit(model, X).importances_, first)
    again = pickle.loads(pickle.dumps(imp))
    np.testing.assert_array_equal(again.importances_, first)
    _, q = again.conditional_scores_["x0 * x3"]
    np.testing.assert_array_equal(q, imp.conditional_scores_["x0 * x3"][1])
    assert FIRMImportance().fit(estimator=model, X=X).n_features_in_ == 5


def test_permuting_columns_permutes_importances():
    """No column is special."""
    order = [3, 0, 4, 2, 1]
    inverse = np.argsort(order)
    one = FIRMImportance().fit(score, X)
    two = FIRMImportance().fit(lambda Z: score(Z[:, inverse]), X[:, order])
    np.testing.assert_allclose(two.importances_, one.importances_[order], rtol=1e-12)


def test_classes_are_outputs():
    """A forest's three probabilities: one importance each, and their mean."""
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(iris.data, iris.target)
    imp = FIRMImportance().fit(forest, iris.data)
    assert imp.output_names_ == ["0", "1", "2"]
    for o in range(3):
        column = lambda Z, o=o: forest.predict_proba(Z)[:, o]  # noqa: E731
        one = FIRMImportance().fit(column, iris.data)
        np.testing.assert_allclose(
            imp.importances_per_output_[:, o], one.importances_, rtol=1e-10
        )


@config_context(working_memory=1e-4)
def test_callbacks_see_features_and_may_stop():
    """A step per feature; what was not reached is NaN."""
    complete = FIRMImportance(features=[0, 1, 2, 3, [0, 1]]).fit(score, X)
    recorder = Recorder()
    imp = FIRMImportance(features=[0, 1, 2, 3, [0, 1]]).set_callbacks(recorder)
    np.testing.assert_array_equal(imp.fit(score, X).importances_, complete.importances_)
    assert recorder.events.count("setup") == recorder.events.count("teardown") == 1
    assert [recorder.events[0], recorder.events[-1]] == ["setup", "teardown"]
    assert recorder.steps == recorder.max_subtasks == 5
    imp.set_callbacks(Recorder(stop_after=2))
    with pytest.warns(ImportanceWarning, match=says("FIRMImportance … 3 of 5")):
        imp.fit(score, X)
    np.testing.assert_array_equal(imp.importances_[:2], complete.importances_[:2])
    known = imp.to_frame().set_index("feature").loc[imp.features_, "complete"]
    assert known.tolist() == [True, True, False, False, False]
    assert np.isnan(imp.importances_[2:]).all()
    assert np.isnan(imp.standard_errors_[2:]).all()


@config_context(working_memory=0.28)
def test_callbacks_of_the_closed_form():
    """A step per block of rows; a stop leaves the importances without errors."""
    model = LinearRegression().fit(X, score(X))
    complete = FIRMImportance(method="gaussian").fit(model, X)
    imp = FIRMImportance(method="gaussian").set_callbacks(Recorder(stop_after=1))
    with pytest.warns(ImportanceWarning, match="after 30 of 90 rows"):
        imp.fit(model, X)
    np.testing.assert_array_equal(imp.importances_, complete.importances_)
    assert imp.standard_errors_ is None
    recorder = Recorder()
    imp.set_callbacks(recorder).fit(model, X)
    assert recorder.steps == recorder.max_subtasks == 3
    np.testing.assert_array_equal(imp.standard_errors_, complete.standard_errors_)
    recorder = Recorder()
    shrunk = FIRMImportance(method="gaussian", covariance="ledoit_wolf")
    shrunk.set_callbacks(recorder).fit(model, X)
    assert recorder.steps == recorder.max_subtasks == 1  # there are no errors to find
