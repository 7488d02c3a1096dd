"""Permutation importance on the out-of-bag rows of each tree."""

import numpy as np
import pytest
from literal import standard_error
from literal_permutation import RIDGE, TWO, X, Y, double_loop
from messages import says
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from tree_models import path_of_trees

from skvarimp import PermutationImportance
from skvarimp._measures.problem import Problem


def out_of_bag_by_hand(forest, X, y, losses, columns):
    """Breiman: per tree over its out-of-bag rows, all of them donors."""
    gains = []
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_):
        out = np.setdiff1d(np.arange(len(X)), drawn)
        if len(out) > 1:
            gains.append(double_loop(losses(tree), X[out], y[out], columns))
    return np.mean(gains)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_out_of_bag_equals_a_literal_computation(kind):
    """Tree by tree, regression."""
    forest = kind(7, bootstrap=True, max_samples=0.6, random_state=0).fit(X, Y)

    def losses(tree):
        return lambda X, y: (y - tree.predict(X)) ** 2

    imp = PermutationImportance(rows="oob", features=[0, 3, [1, 3]])
    imp.fit(forest, X, Y)
    expected = [
        out_of_bag_by_hand(forest, X, Y, losses, columns)
        for columns in ([0], [3], [1, 3])
    ]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    assert imp.response_path_ == f"out-of-bag, each tree: {path_of_trees()}"
    drawn = clone(imp).set_params(estimation="sampled", n_draws=8, random_state=0)
    drawn.fit(forest, X, Y)
    gap = np.abs(drawn.importances_ - imp.importances_)
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_ + 1e-12)
    assert drawn.standard_errors_ is None
    unmoved = [
        losses(tree)(X[out], Y[out]).mean()
        for tree, used in zip(forest.estimators_, forest.estimators_samples_)
        for out in [np.setdiff1d(np.arange(len(X)), used)]
    ]
    for one in (imp, drawn):
        ratio = clone(one).set_params(relative=True).fit(forest, X, Y)
        expected = 1.0 + one.importances_ / np.mean(unmoved)
        np.testing.assert_allclose(ratio.importances_, expected, rtol=1e-12)
    expected = drawn.monte_carlo_errors_ / np.mean(unmoved)
    np.testing.assert_allclose(ratio.monte_carlo_errors_, expected, rtol=1e-12)


def test_out_of_bag_votes():
    """Classifiers with string labels: the share of wrong votes gained."""
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, TWO)
    codes = np.searchsorted(forest.classes_, TWO)

    def losses(tree):
        return lambda X, y: tree.predict(X) != y

    imp = PermutationImportance(rows="oob").fit(forest, X, TWO)
    expected = [out_of_bag_by_hand(forest, X, codes, losses, [j]) for j in range(5)]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    assert imp.output_names_ == ["zero_one"]
    brier = PermutationImportance(rows="oob", loss="squared_error")
    brier.fit(forest, X, TWO)
    assert brier.output_names_ == ["squared_error"]
    assert not np.allclose(brier.importances_, imp.importances_)


def test_out_of_bag_of_two_label_columns_and_sparse_rows():
    """Several columns of y; CSR rows as the trees take them."""
    y = np.column_stack([TWO, np.where(X[:, 0] > 0.5, "up", "down")])
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    codes = np.column_stack(
        [np.searchsorted(c, y[:, k]) for k, c in enumerate(forest.classes_)]
    )

    def losses(tree):
        return lambda X, y: np.mean(tree.predict(X) != y, axis=1)

    imp = PermutationImportance(rows="oob", features=[0, 3]).fit(forest, X, y)
    expected = [out_of_bag_by_hand(forest, X, codes, losses, [j]) for j in (0, 3)]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    rows = sparse.csr_array(X)
    forest = RandomForestRegressor(4, random_state=0).fit(rows, Y)
    dense = PermutationImportance(rows="oob").fit(forest, X, Y).importances_
    of_sparse = PermutationImportance(rows="oob").fit(forest, rows, Y).importances_
    np.testing.assert_allclose(of_sparse, dense, rtol=1e-9, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("relative", [False, True])
def test_out_of_bag_standard_errors_are_the_derivative_by_the_rows(relative):
    """With the trees held fixed, summed over all trees a row is out of."""
    n = 15
    forest = RandomForestRegressor(4, max_depth=4, random_state=0).fit(X[:n], Y[:n])
    imp = PermutationImportance(rows="oob", relative=relative, features=[0, 3])
    errors = imp.fit(forest, X[:n], Y[:n]).standard_errors_
    slopes, step = np.empty((n, 2)), 1e-4
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i] += step
        down[i] -= step
        higher = imp.fit(forest, X[:n], Y[:n], sample_weight=up).importances_
        lower = imp.fit(forest, X[:n], Y[:n], sample_weight=down).importances_
        slopes[i] = (higher - lower) / (2 * step)
    np.testing.assert_allclose(errors, standard_error(n * slopes), rtol=1e-5)


@pytest.mark.thorough
def test_out_of_bag_finds_what_matters():
    """An input that the target ignores scores within three errors of 0."""
    data, target = make_friedman1(300, n_features=7, noise=1.0, random_state=0)
    forest = RandomForestRegressor(40, random_state=0).fit(data, target)
    imp = PermutationImportance(rows="oob").fit(forest, data, target)
    assert set(np.argsort(imp.ranking_)[:4]) >= {0, 1, 3}
    assert np.all(np.abs(imp.importances_[5:]) < 3 * imp.standard_errors_[5:])


def test_out_of_bag_refuses_other_rows_and_other_models():
    """Before any work, with the way out."""
    forest = RandomForestRegressor(5, random_state=0).fit(X, Y)
    imp = PermutationImportance(rows="oob")
    with pytest.raises(
        ValueError, match=says("X … 39 rows … 40 … training rows in order")
    ):
        imp.fit(forest, X[1:], Y[1:])
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        imp.fit(forest, X[::-1].copy(), Y)
    other = X.copy()
    other[:, 0] = 1 - other[:, 0]
    with pytest.raises(ValueError, match=says("X … training data … was fitted with")):
        imp.fit(forest, other, Y)
    with pytest.raises(ValueError, match="Rows of weight 0"):
        imp.fit(forest, X, Y, sample_weight=np.arange(len(X)) % 2)
    whole = RandomForestRegressor(5, bootstrap=False).fit(X, Y)
    with pytest.raises(ValueError, match="grown with bootstrap=True"):
        imp.fit(whole, X, Y)
    extra = ExtraTreesRegressor(5).fit(X, Y)
    with pytest.raises(ValueError, match="grown with bootstrap=True"):
        imp.fit(extra, X, Y)
    for model in (RIDGE, GradientBoostingRegressor().fit(X, Y)):
        with pytest.raises(
            TypeError, match=says("rows='oob' … random forest … rows='all'")
        ):
            imp.fit(model, X, Y)
    bagging = BaggingRegressor(random_state=0).fit(X, Y)
    with pytest.raises(
        TypeError, match=says("rows='oob' … random forest … rows='all'")
    ):
        imp.fit(bagging, X, Y)
    full = RandomForestRegressor(1, max_samples=2, random_state=0).fit(X[:2], Y[:2])
    with pytest.raises(ValueError, match=says("two out-of-bag rows … max_samples")):
        imp.fit(full, X[:2], Y[:2])


@pytest.mark.filterwarnings("ignore:The .* rows count for no more than")
def test_out_of_bag_with_the_weights_of_the_fit():
    """Rows of weight 0 were never drawn, and do not exist here either."""
    weights = (np.arange(len(X)) % 4).astype(float)
    forest = RandomForestRegressor(8, random_state=0).fit(X, Y, sample_weight=weights)
    imp = PermutationImportance(rows="oob", features=[0])
    imp.fit(forest, X, Y, sample_weight=weights)
    gains = []
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_):
        out = np.setdiff1d(np.flatnonzero(weights), drawn)
        gains.append(
            double_loop(
                lambda X, y, tree=tree: (y - tree.predict(X)) ** 2,
                X[out],
                Y[out],
                [0],
                weights[out],
            )
        )
    np.testing.assert_allclose(imp.importances_, np.mean(gains), rtol=1e-9)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_another_target_is_refused(kind):
    """The means of the leaves' rows must be what the leaves hold."""
    y = np.digitize(Y, [np.median(Y)]) if kind is RandomForestClassifier else Y
    forest = kind(5, random_state=0).fit(X, y)
    measure = PermutationImportance(rows="oob")
    measure.fit(forest, X, y)
    with pytest.raises(ValueError, match=says("y … training target … was fitted with")):
        measure.fit(forest, X, y[::-1])


def squares_of(tree):
    """The squared errors of one tree."""
    return lambda X, y: (y - tree.predict(X)) ** 2


@pytest.mark.parametrize("least", [2.0, 7.0])
@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_trees_ask_for_the_columns_that_they_split_on(estimation, least, monkeypatch):
    """No other column can change what a tree predicts; a tree of one leaf asks for one.

    All columns of all trees by hand must still give the same importances.
    """
    n_columns, asked, walk = 30, [], Problem.walk
    noise = np.random.default_rng(0).normal(size=(len(X), n_columns - 5))
    wide = np.hstack([X, noise])
    forest = RandomForestRegressor(9, max_depth=2, random_state=0)
    forest.set_params(min_impurity_decrease=least).fit(wide, Y)
    splits = [np.unique(t.tree_.feature[t.tree_.feature >= 0]) for t in forest]
    n_splits = [len(columns) for columns in splits]
    assert min(n_splits) == (0 if least == 7.0 else 2)
    assert max(n_splits) == (1 if least == 7.0 else 3)

    def counted(problem, response, features, *args, **kwargs):
        asked.append(len(features))
        return walk(problem, response, features, *args, **kwargs)

    monkeypatch.setattr(Problem, "walk", counted)
    measure = PermutationImportance(rows="oob", estimation=estimation, random_state=0)
    measure.fit(forest, wide, Y)
    assert asked[: len(forest)] == np.maximum(n_splits, 1).tolist()
    unused = np.setdiff1d(np.arange(n_columns), np.concatenate(splits))
    assert np.all(measure.importances_[unused] == 0.0)
    expected = [
        out_of_bag_by_hand(forest, wide, Y, squares_of, [j]) for j in range(n_columns)
    ]
    if estimation == "exact":
        np.testing.assert_allclose(measure.importances_, expected, atol=1e-12)
        assert np.all(measure.standard_errors_[unused] == 0.0)
        return
    errors = measure.monte_carlo_errors_
    assert np.all(errors[unused] == 0.0)
    assert np.all(np.abs(measure.importances_ - expected) <= 4 * errors + 1e-12)


@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_trees_that_are_not_read_are_asked_for_all_columns(estimation):
    """A tree of a user's own class may look at columns that it does not split on."""

    class Tilted(DecisionTreeRegressor):
        def predict(self, X, check_input=True):
            return super().predict(X, check_input) + X[:, 4]

    class Leaning(RandomForestRegressor):
        pass

    y = X[:, 0]
    forest = Leaning(3, max_depth=1, random_state=0).fit(X, y)
    assert all(4 not in tree.tree_.feature for tree in forest)
    for tree in forest:
        tree.__class__ = Tilted
    measure = PermutationImportance(rows="oob", estimation=estimation, random_state=0)
    measure.fit(forest, X, y)
    expected = [out_of_bag_by_hand(forest, X, y, squares_of, [j]) for j in range(5)]
    errors = measure.monte_carlo_errors_
    bound = 1e-12 if errors is None else 4 * errors + 1e-12
    assert np.all(np.abs(measure.importances_ - expected) <= bound)
    assert abs(measure.importances_[4]) > 0.01


def test_out_of_bag_of_trees_with_two_rows_left():
    """Six rows: trees of one out-of-bag row or none have no say."""
    rows, y = X[:6], Y[:6]
    forest = RandomForestRegressor(12, random_state=0).fit(rows, y)
    left = [6 - len(np.unique(drawn)) for drawn in forest.estimators_samples_]
    assert {1, 2, 3} <= set(left)

    def losses(tree):
        return lambda X, y: (y - tree.predict(X)) ** 2

    imp = PermutationImportance(rows="oob").fit(forest, rows, y)
    expected = [out_of_bag_by_hand(forest, rows, y, losses, [j]) for j in range(5)]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("times", [1, 3])
def test_out_of_bag_of_one_tree(times, relative):
    """That of the tree alone on the rows that it was not grown on, however often."""
    forest = RandomForestRegressor(1, max_depth=3, random_state=0).fit(X, Y)
    (tree,), (drawn,) = forest.estimators_, forest.estimators_samples_
    forest.estimators_ = times * [tree]
    out = np.setdiff1d(np.arange(len(X)), drawn)
    alone = PermutationImportance(relative=relative).fit(tree, X[out], Y[out])
    imp = PermutationImportance(rows="oob", relative=relative).fit(forest, X, Y)
    np.testing.assert_allclose(imp.importances_, alone.importances_, rtol=1e-9)
    np.testing.assert_allclose(imp.baseline_, alone.baseline_, rtol=1e-12)
    # the same influences, but of n rows and not of m: divisors n - 1 and m - 1
    n, m = len(X), len(out)
    errors = alone.standard_errors_ * np.sqrt(n / (n - 1) * (m - 1) / m)
    np.testing.assert_allclose(imp.standard_errors_, errors, rtol=1e-9)
    assert imp.output_names_ == alone.output_names_ == ["squared_error"]


def test_errors_of_drawing_over_many_trees_are_as_large_as_the_gaps():
    """Squared gaps over errors are 1 on average, less where errors are cautious."""
    data, target = make_friedman1(100, random_state=0)
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(data, target)
    imp = PermutationImportance(rows="oob", features=[0, 1, 3, 4], estimation="exact")
    exact = imp.fit(forest, data, target).importances_
    imp.set_params(estimation="sampled", n_draws=4)
    ratios = []
    for seed in range(6):
        imp.set_params(random_state=seed).fit(forest, data, target)
        ratios.append((imp.importances_ - exact) / imp.monte_carlo_errors_)
    assert 0.2 < np.mean(np.square(ratios)) < 3.0


@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_out_of_bag_of_one_feature_that_some_trees_ignore(estimation):
    """Trees that never split on it gain nothing; two cells are fewer than the draws."""
    forest = RandomForestRegressor(5, max_depth=1, random_state=0).fit(X, Y)
    n_split = sum(3 in tree.tree_.feature for tree in forest)
    assert 0 < n_split < 5
    imp = PermutationImportance(rows="oob", estimation=estimation, random_state=0)
    imp.set_params(features=[3]).fit(forest, X, Y)
    expected = out_of_bag_by_hand(forest, X, Y, squares_of, [3])
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-12)
    if estimation == "sampled":
        assert imp.monte_carlo_errors_ == 0.0
