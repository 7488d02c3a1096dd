"""Impurity importance of one tree against its definition, and its properties."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from combinations import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_surrogates import literal_importances
from messages import says
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import InvalidParameterError

from skvarimp import ImpurityImportance

CONVENTIONS = ["matlab", "rpart", "sklearn"]
IRIS, SPECIES = load_iris(return_X_y=True)
DIABETES, PROGRESSION = load_diabetes(return_X_y=True, as_frame=True)
DIABETES, PROGRESSION = DIABETES.iloc[:150, :5], PROGRESSION.iloc[:150]
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0).fit(IRIS, SPECIES)
OWN = {
    "gini": "gini",
    "entropy": "deviance",
    "squared_error": "mse",
    "absolute_error": "absolute_error",
    "poisson": "poisson",
}


@st.composite
def problem(draw, criterion):
    """(X, target, weight) with ties, weights and outputs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_outputs = draw(st.integers(6, 40)), draw(st.integers(1, 2))
    X = rng.integers(0, draw(st.sampled_from([3, 50])), (n, 3)).astype(float)
    X[:, 1] = np.where(rng.random(n) < 0.7, X[:, 0], X[:, 1])
    if criterion not in ("absolute_error", "poisson") and draw(st.booleans()):
        X[rng.random((n, 3)) < 0.2] = np.nan
    weight = np.ones(n)
    if draw(st.booleans()):
        weight = np.ceil(rng.gamma(0.7, 1.0, n) * 8) / 8 * (rng.random(n) < 0.9)
        weight[:2] = 1.0
    if criterion in ("gini", "entropy"):
        target = rng.integers(0, 3, (n, n_outputs))
    else:
        target = rng.poisson(3, (n, n_outputs)) + (0.0 if criterion == "poisson" else 9)
        target[:, 0] += X[:, 0] > 1
    return X, target.astype(float), weight


def grow(criterion, X, target, weight):
    """The classification or regression tree of that criterion."""
    kind = DecisionTreeRegressor
    if criterion in ("gini", "entropy"):
        kind = DecisionTreeClassifier
    tree = kind(criterion=criterion, max_depth=3, random_state=0)
    return tree.fit(X, target, sample_weight=weight)


@pytest.mark.parametrize("criterion", OWN)
@settings(max_examples=examples(40))
@given(st.data(), st.sampled_from(CONVENTIONS), st.booleans())
def test_conventions_and_criteria_by_definition(
    criterion, data, convention, surrogates
):
    """Sums over nodes of risk changes, each impurity computed from the rows."""
    X, target, weight = data.draw(problem(criterion))
    tree = grow(criterion, X, target, weight)
    imp = ImpurityImportance(convention=convention, surrogates=surrogates)
    imp.fit(tree, X, target, sample_weight=weight)
    expected = literal_importances(
        tree, X, target, weight, OWN[criterion], convention, surrogates
    )
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("grown_by", "other"),
    [
        ("gini", "deviance"),
        ("gini", "error"),
        ("entropy", "gini"),
        ("absolute_error", "mse"),
        ("poisson", "mse"),
    ],
)
@settings(max_examples=examples(25))
@given(st.data(), st.sampled_from(CONVENTIONS))
def test_another_criterion_judges_the_same_splits(grown_by, other, data, convention):
    """The tree stays; primaries and surrogates are judged anew."""
    X, target, weight = data.draw(problem(grown_by))
    tree = grow(grown_by, X, target, weight)
    imp = ImpurityImportance(
        criterion=other, convention=convention, surrogates=True
    ).fit(tree, X, target, sample_weight=weight)
    expected = literal_importances(tree, X, target, weight, other, convention, True)
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-10)


def test_matlab_divides_by_branch_nodes():
    """(R1 - R2 - R3) / N_branch for the document's own example of three nodes."""
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(IRIS, SPECIES)
    t = tree.tree_
    risk = t.weighted_n_node_samples / 150 * t.impurity
    expected = np.zeros(4)
    for node in np.flatnonzero(t.children_left != -1):
        change = risk[node] - risk[t.children_left[node]] - risk[t.children_right[node]]
        expected[t.feature[node]] += change / 2
    np.testing.assert_allclose(
        ImpurityImportance().fit(tree).importances_, expected, atol=1e-15
    )


def permuted(tree, columns):
    """The fitted tree as if X's columns stood in another order."""
    other = pickle.loads(pickle.dumps(tree))
    position = np.argsort(columns)
    state = other.tree_.__getstate__()
    branch = state["nodes"]["left_child"] != -1
    state["nodes"]["feature"][branch] = position[state["nodes"]["feature"][branch]]
    other.tree_.__setstate__(state)
    return other


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_permuting_columns_permutes_the_result(convention):
    """Nothing depends on where a column stands, ties between columns aside."""
    X, y = DIABETES.to_numpy(), PROGRESSION
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    columns = np.array([3, 0, 4, 1, 2])
    first = ImpurityImportance(surrogates=True, convention=convention).fit(tree, X, y)
    second = ImpurityImportance(surrogates=True, convention=convention)
    second.fit(permuted(tree, columns), X[:, columns], y)
    np.testing.assert_allclose(
        second.importances_, first.importances_[columns], rtol=1e-12
    )
    np.testing.assert_allclose(
        second.association_, first.association_[np.ix_(columns, columns)], rtol=1e-12
    )


def test_association_averages_over_trees_with_identity_rows():
    """A tree that never splits on i counts with the identity's row."""
    X, y = DIABETES.to_numpy(), PROGRESSION
    forest = RandomForestRegressor(
        4, max_depth=2, max_features=2, bootstrap=False, random_state=1
    ).fit(X, y)
    weights = np.array([0.5, 1.0, 3.0, 0.25])
    imp = ImpurityImportance(surrogates=True)
    imp.fit(forest, X, y, tree_weights=weights)
    single = [
        ImpurityImportance(surrogates=True).fit(tree, X, y)
        for tree in forest.estimators_
    ]
    for name in ("association_", "importances_"):
        mean = np.average([getattr(s, name) for s in single], axis=0, weights=weights)
        np.testing.assert_allclose(getattr(imp, name), mean, rtol=1e-12)
    unused = [i for i in range(5) if i not in forest.estimators_[0].tree_.feature]
    assert unused
    assert np.array_equal(single[0].association_[unused], np.eye(5)[unused])
    assert np.all(np.diag(imp.association_) == 1.0)


def test_a_tree_without_splits_is_zero():
    """No branch node to divide by; associations are the identity."""
    tree = DecisionTreeClassifier().fit(np.ones((5, 2)), [0, 1, 0, 1, 0])
    for convention in CONVENTIONS:
        imp = ImpurityImportance(surrogates=True, convention=convention)
        imp.fit(tree, np.ones((5, 2)), [0, 1, 0, 1, 0])
        assert np.array_equal(imp.importances_, [0.0, 0.0])
        assert np.array_equal(imp.association_, np.eye(2))
        assert len(imp.surrogate_splits_) == 0


def test_without_data_where_none_is_needed():
    """The fitted tree is enough; names come from it."""
    tree = DecisionTreeRegressor(max_depth=3).fit(DIABETES, PROGRESSION)
    imp = ImpurityImportance().fit(tree)
    assert imp.features_ == list(DIABETES.columns)
    assert imp.association_ is None
    assert imp.surrogate_splits_ is None
    assert imp.standard_errors_ is None
    assert imp.importances_per_output_.shape == (5, 1)
    assert ImpurityImportance().fit(STUMP).features_ == ["x0", "x1", "x2", "x3"]
    own = ImpurityImportance(criterion="gini").fit(STUMP)  # the tree's own by name
    assert np.array_equal(
        own.importances_, ImpurityImportance().fit(STUMP).importances_
    )


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_containers_and_precisions():
    """Frames, Fortran order, float32, sparse: the tree sees float32 in any case."""
    X = DIABETES.to_numpy().astype(np.float32).astype(np.float64)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, PROGRESSION)
    reference = ImpurityImportance(surrogates=True).fit(tree, X, PROGRESSION)
    for other in (
        np.asfortranarray(X),
        X.astype(np.float32),
        pd.DataFrame(X).set_axis(list("abcde"), axis=1),
        pl.DataFrame(X),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
    ):
        imp = ImpurityImportance(surrogates=True).fit(tree, other, PROGRESSION)
        np.testing.assert_allclose(imp.importances_, reference.importances_, rtol=1e-12)
        assert np.array_equal(imp.surrogate_splits_, reference.surrogate_splits_)
    assert isinstance(
        ImpurityImportance().fit(tree, pl.DataFrame(X)).to_frame(), pl.DataFrame
    )


def test_values_that_differ_in_float64_only():
    """The tree compares in float32, surrogates in the precision of X."""
    rng = np.random.default_rng(0)
    x = 1.0 + rng.permutation(40) * 1e-9  # one value in float32
    X = np.column_stack([np.arange(40.0) // 20, x, np.sort(x)])
    y = X[:, 0]
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    imp = ImpurityImportance(surrogates=True).fit(tree, X, y)
    assert imp.association_[0, 2] == 1.0
    assert imp.association_[0, 1] < 1.0


def test_strings_and_labels():
    """Class labels of any kind; the codes are the tree's."""
    labels = np.array(["c", "a", "b"])[SPECIES]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    reference = ImpurityImportance(surrogates=True)
    reference.fit(tree.fit(IRIS, SPECIES), IRIS, SPECIES)
    for y in (labels, pd.Series(labels), labels[:, np.newaxis]):
        tree.fit(IRIS, np.ravel(y))
        imp = ImpurityImportance(surrogates=True).fit(tree, IRIS, y)
        np.testing.assert_allclose(imp.importances_, reference.importances_)


def test_plot_of_associations():
    """All cells, in the order of X, and which of the two is the optimal split."""
    pytest.importorskip("matplotlib")
    imp = ImpurityImportance(surrogates=True).fit(STUMP, IRIS, SPECIES)
    display = imp.plot_association()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == imp.features_
    assert display.ax_.get_ylabel() == "optimal split on"
    drawn = display.ax_.collections[-1].get_array()
    np.testing.assert_array_equal(drawn, imp.association_)
    two = imp.plot_association(max_features=2, ax=display.ax_)
    assert len(two.ax_.get_yticklabels()) == 2
    with pytest.raises(ValueError, match="surrogates=True"):
        ImpurityImportance().fit(STUMP).plot_association()


FOREST = RandomForestClassifier(3, max_depth=3, random_state=0).fit(IRIS, SPECIES)
NUMBERS = DecisionTreeRegressor(max_depth=2).fit(IRIS[:, :3], IRIS[:, 3])
STAGES = GradientBoostingClassifier(n_estimators=2).fit(IRIS, SPECIES)
HISTOGRAMS = HistGradientBoostingRegressor(max_iter=2).fit(IRIS[:, :3], IRIS[:, 3])


@pytest.mark.parametrize(
    ("parameters", "model", "given", "error", "message"),
    [
        ({"criterion": "twoing"}, STUMP, {}, InvalidParameterError, "criterion"),
        ({"surrogates": 0}, STUMP, {}, InvalidParameterError, "surrogates"),
        ({"surrogates": "all"}, STUMP, {}, InvalidParameterError, "surrogates"),
        ({"convention": "R"}, STUMP, {}, InvalidParameterError, "convention"),
        ({"surrogate_cuts": 1}, STUMP, {}, InvalidParameterError, "surrogate_cuts"),
        ({}, Ridge().fit(IRIS, SPECIES), {}, TypeError, "got Ridge. Use Sensitivity"),
        ({}, DecisionTreeClassifier(), {}, NotFittedError, "not fitted yet"),
        ({}, DecisionTreeClassifier, {}, TypeError, "got the class"),
        ({"surrogates": True}, STUMP, {}, ValueError, "X is needed"),
        ({"surrogates": True}, STUMP, {"X": IRIS}, ValueError, "y is needed"),
        ({"criterion": "error"}, STUMP, {"X": IRIS}, ValueError, "y is needed"),
        ({"criterion": "mse"}, STUMP, {}, ValueError, "grown on classes"),
        ({"criterion": "gini"}, NUMBERS, {}, ValueError, "grown on numbers"),
        ({"criterion": "gini"}, STAGES, {}, ValueError, "grown on numbers"),
        ({"criterion": "mse"}, HISTOGRAMS, {}, ValueError, "did not keep"),
        ({"surrogates": 2}, HISTOGRAMS, {}, ValueError, "convention='rpart'"),
        (
            {"surrogates": True, "surrogate_cuts": "class_boundary"},
            NUMBERS,
            {"X": IRIS[:, :3], "y": IRIS[:, 3]},
            ValueError,
            "needs classification trees",
        ),
        ({}, FOREST, {"tree_weights": [1, 1]}, ValueError, r"shape \(3,\)"),
        ({}, FOREST, {"tree_weights": [1, -1, 1]}, ValueError, "non-negative"),
        ({}, FOREST, {"tree_weights": [0, 0, 0]}, ValueError, "not all 0"),
        ({}, FOREST, {"tree_weights": ["a"] * 3}, ValueError, "`tree_weights` must be"),
        ({}, FOREST, {"tree_weights": [1, 1, np.nan]}, ValueError, "contains NaN"),
        ({}, STUMP, {"X": IRIS[:, :2]}, ValueError, "X has 2 columns"),
    ],
)
def test_errors(parameters, model, given, error, message):
    """Rule, what was got, and the way out."""
    with pytest.raises(error, match=message):
        ImpurityImportance(**parameters).fit(model, **given)


def test_wrong_training_data_is_an_error():
    """Other rows, another order, other weights, another target, unknown labels."""
    X, y = DIABETES.to_numpy(), PROGRESSION.to_numpy()
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    measure = ImpurityImportance(surrogates=True)
    moved = X + 0.01
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(tree, moved, y)
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(tree, X[:-1], y[:-1])
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(tree, X, y, sample_weight=np.linspace(1, 2, len(y)))
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        measure.fit(tree, X, y[::-1])
    with pytest.raises(ValueError, match="149 rows"):
        measure.fit(tree, X, y[:-1])
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(forest, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="149 rows"):
        measure.fit(forest, X[:-1], y[:-1])
    with pytest.raises(ValueError, match=says("y … label 7 … [0, 1, 2]")):
        measure.fit(STUMP, IRIS, np.where(SPECIES == 2, 7, SPECIES))
    with pytest.raises(ValueError, match="y has 2 columns"):
        measure.fit(STUMP, IRIS, np.column_stack([SPECIES, SPECIES]))
    named = DecisionTreeRegressor(max_depth=2).fit(DIABETES, PROGRESSION)
    with pytest.raises(ValueError, match="feature names"):
        measure.fit(named, DIABETES.iloc[:, ::-1], PROGRESSION)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_a_target_of_zeros_is_that_of_training(criterion):
    """A tree without splits, whose leaf shows 0: there is nothing to round."""
    rows, target = np.arange(8.0)[:, np.newaxis], np.zeros(8)
    tree = DecisionTreeRegressor(criterion=criterion).fit(rows, target)
    measure = ImpurityImportance(surrogates=True)
    assert measure.fit(tree, rows, target).importances_.tolist() == [0.0]
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        measure.fit(tree, rows, target + 1.0)


def test_a_light_leaf_is_that_of_training():
    """A changed weight is noticed where it is next to nothing for the whole tree."""
    random = np.random.default_rng(0)
    rows = np.sort(random.standard_normal((200, 1)), axis=0)
    weight = np.where(rows[:, 0] < 0, 1e-12, 1.0) * random.uniform(0.5, 1.5, 200)
    stump = DecisionTreeRegressor(max_depth=1, random_state=0)
    stump.fit(rows, np.sign(rows), weight)
    measure = ImpurityImportance(surrogates=True)
    measure.fit(stump, rows, np.sign(rows), sample_weight=weight)
    weight[0] *= 1.001
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(stump, rows, np.sign(rows), sample_weight=weight)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_rounding_of_the_training_target_is_relative_to_its_size(size):
    """Means of leaves agree to rounding, whatever the units of y and of the weights."""
    X, y = DIABETES.to_numpy(), PROGRESSION.to_numpy() * size
    weight = np.linspace(1, 2, len(y)) * size
    tree = DecisionTreeRegressor(max_depth=5, random_state=0)
    tree.fit(X, y, sample_weight=weight)
    measure = ImpurityImportance(surrogates=1)
    measure.fit(tree, X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        measure.fit(tree, X, y * (1 + 1e-6), sample_weight=weight)
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        measure.fit(tree, X, y, sample_weight=weight * (1 + 1e-6))


@pytest.mark.parametrize("criterion", ["auto", "mse"])
def test_training_data_of_a_full_grown_tree_is_checked(criterion):
    """All of the target's variance goes in any order, but not at the same nodes."""
    X, y = DIABETES.to_numpy(), PROGRESSION.to_numpy()
    for own in ("squared_error", "poisson", "absolute_error"):
        tree = DecisionTreeRegressor(criterion=own, random_state=0).fit(X, y)
        measure = ImpurityImportance(surrogates=1, criterion=criterion)
        measure.fit(tree, X, y)
        for rows, target in ((X[::-1], y), (X, y[::-1])):
            with pytest.raises(ValueError, match="is not the training"):
                measure.fit(tree, rows, target)
    classes = (y > 140).astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(X, classes)
    measure = ImpurityImportance(criterion="deviance")
    measure.fit(forest, X, classes)
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        measure.fit(forest, X, 1 - classes)
    rpart = ImpurityImportance(surrogates=1, convention="rpart")
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        rpart.fit(forest, X, classes[::-1])


def test_a_callback_may_stop_between_trees():
    """The average is then over the trees done, with a warning."""
    X = np.tile(IRIS, (60, 1))
    y = np.tile(SPECIES, 60)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    imp = ImpurityImportance(surrogates=True).set_callbacks(Recorder(stop_after=1))
    with pytest.warns(UserWarning, match="ImpurityImportance was stopped after"):
        imp.fit(forest, X, y)
    assert imp.surrogate_splits_["tree"].max() < 19
    assert np.all(np.isfinite(imp.importances_))
