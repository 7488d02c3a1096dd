"""The search for surrogate splits, block by block."""

import numpy as np
import pytest
from literal_surrogates import bare_tree, literal_cuts
from sklearn.ensemble import RandomForestRegressor

from skvarimp import ImpurityImportance
from skvarimp._measures.impurity import cuts as _surrogates
from skvarimp._measures.impurity import search as _impurity_search
from skvarimp._measures.impurity.search import Rules, find_surrogates, midpoint
from skvarimp._measures.impurity.tree_batch import SortedColumns, TreeBatch
from skvarimp._measures.impurity.tree_reader import Training


def noisy_copies(n=120, seed=0):
    """Columns that imitate the first one more and less well."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    X = np.column_stack([x, x + 0.3 * rng.normal(size=n), -x, rng.normal(size=n)])
    return X, x + X[:, 3] + 0.1 * rng.normal(size=n)


def test_a_threshold_lies_below_the_upper_value():
    """Also between two numbers that have none between them, and at infinity."""
    ones = 1.0 + np.arange(8) * np.finfo(float).eps
    below = np.array([*ones[:-1], -np.inf, 2.0, -np.inf, 1e308])
    above = np.array([*ones[1:], np.inf, 3.0, 1.0, 1.7e308])
    found = midpoint(below, above)
    assert np.all((below <= found) & (found < above))
    np.testing.assert_array_equal(found[:7], ones[:-1])
    np.testing.assert_allclose(found[-3:], [2.5, -np.inf, 1.35e308], rtol=1e-15)


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_block_sizes_and_jobs_change_nothing(monkeypatch, weighted):
    """One column at a time, one tree at a time, two processes."""
    X, y = noisy_copies()
    weight = np.random.default_rng(0).gamma(1, 1, 120) if weighted else None
    forest = RandomForestRegressor(6, bootstrap=False, max_features=2, random_state=0)
    forest.fit(X, y, sample_weight=weight)
    reference = ImpurityImportance(surrogates=True)
    reference.fit(forest, X, y, sample_weight=weight)
    jobs = ImpurityImportance(surrogates=True, n_jobs=2)
    jobs.fit(forest, X, y, sample_weight=weight)
    for size in (1, 400, 10**6):
        monkeypatch.setattr(_surrogates, "CACHE", size)
        monkeypatch.setattr(_impurity_search, "CACHE", size)
        other = ImpurityImportance(surrogates=True)
        other.fit(forest, X, y, sample_weight=weight)
        for got in (other, jobs):
            np.testing.assert_allclose(got.importances_, reference.importances_)
            np.testing.assert_allclose(got.association_, reference.association_)
            for field in reference.surrogate_splits_.dtype.names:
                np.testing.assert_allclose(
                    got.surrogate_splits_[field], reference.surrogate_splits_[field]
                )


def test_nodes_of_tiny_weight_are_as_exact_as_others():
    """A node's sums are rounded at its own scale, not at the tree's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    X[:, 0] = np.repeat([0.0, 1.0], 40)
    side = X[:, 1] > 0
    # A root on column 0 whose children, nodes 1 and 4, split on column 1.
    table = bare_tree(
        left=np.array([1, 2, -1, -1, 5, -1, -1]),
        right=np.array([4, 3, -1, -1, 6, -1, -1]),
        column=np.array([0, 1, -1, -1, 1, -1, -1]),
    )
    leaf = np.where(X[:, 0] == 0, np.where(side, 3, 2), np.where(side, 6, 5))
    weight = rng.uniform(1, 2, 80)
    found = []
    for scale, of_other in ((1.0, 1.0), (2.0**-150, 1.0), (1.0, 2.0**-45)):
        scaled = np.where(X[:, 0] == 1, weight * scale, weight)
        scaled[(X[:, 0] == 0) & side] *= of_other  # node 1 is then badly balanced
        trees = TreeBatch([table], [Training(leaf, scaled)])
        surrogates = find_surrogates(trees, SortedColumns(X), Rules())
        of_node = surrogates["node"] == 4
        found.append({name: v[of_node] for name, v in surrogates.items()})
    assert len(found[0]["node"])
    for other in found[1:]:
        assert np.array_equal(other["threshold"], found[0]["threshold"])
        np.testing.assert_allclose(
            other["association"], found[0]["association"], rtol=1e-12
        )


ONE_SPLIT = bare_tree(
    left=np.array([1, -1, -1]),
    right=np.array([2, -1, -1]),
    column=np.array([0, -1, -1]),
)


def test_ties_hide_behind_rounding():
    """Weights in tenths tie the cuts that whole weights tie: the lowest wins."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.permuted(np.tile(np.arange(60.0), (20, 1)), axis=1).T
        left = rng.random(60) < 0.5
        weight = rng.choice([1.0, 2.0, 3.0, 6.0], 60)
        whole, tenths = (
            find_surrogates(
                TreeBatch([ONE_SPLIT], [Training(np.where(left, 1, 2), weight * unit)]),
                SortedColumns(X),
                Rules(),
            )
            for unit in (1.0, 0.1)
        )
        assert np.array_equal(whole["feature"], tenths["feature"])
        assert np.array_equal(whole["threshold"], tenths["threshold"])


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("min_rows", [1, 2, 3, 6])
def test_cuts_leave_enough_rows_on_each_side(min_rows, whole):
    """The best of all cuts by a loop, with ties and missing values."""
    random = np.random.default_rng(0)
    X = random.normal(size=(14, 40))
    X[:, 20:] = random.integers(0, 5, (14, 20))
    X[:, 1:][random.random((14, 39)) < 0.1] = np.nan
    left = random.random(14) < 0.4
    weight = random.integers(1, 4, 14).astype(float)
    weight = weight if whole else weight * random.uniform(0.5, 2.0, 14)
    trees = TreeBatch([ONE_SPLIT], [Training(np.where(left, 1, 2), weight)])
    found = find_surrogates(trees, SortedColumns(X), Rules(min_rows=min_rows))
    expected = {}
    for k in range(1, 40):
        rows = ~np.isnan(X[:, k])
        cuts = literal_cuts(X[rows, k], left[rows], weight[rows], min_rows=min_rows)
        cuts = list(cuts)
        largest = max((cut[0] for cut in cuts), default=0.0)
        if largest > 1e-10:
            expected[k] = next(cut for cut in cuts if cut[0] >= largest - 1e-10)
    assert sorted(found["feature"]) == sorted(expected)
    assert len(expected) > 2
    for k, association, threshold in zip(
        found["feature"], found["association"], found["threshold"]
    ):
        assert association == pytest.approx(expected[k][0], rel=1e-12)
        assert threshold == pytest.approx(expected[k][1], rel=1e-12)


def test_categories_leave_enough_rows_on_each_side():
    """Each category goes where most of its weight goes; the sides are then counted."""
    code = np.array([0.0, 1, 1, 1, 2, 2, 2, 2])
    goes_left = np.array([1, 0, 0, 0, 0, 0, 0, 1], dtype=bool)
    X = np.column_stack([goes_left, code])
    trees = TreeBatch([ONE_SPLIT], [Training(np.where(goes_left, 1, 2), np.ones(8))])
    columns = SortedColumns(X, nominal=np.array([False, True]))
    found = find_surrogates(trees, columns, Rules(min_rows=1))
    assert found["feature"].tolist() == [1]
    assert found["association"].tolist() == [0.5]  # (2 - 1) / 2: one row goes astray
    assert np.isnan(found["threshold"]).all()
    none = find_surrogates(trees, columns, Rules(min_rows=2))
    assert len(none["node"]) == 0
    for unit in (0.01, 100.0):  # of the weights: nothing but their shares counts
        trees = TreeBatch(
            [ONE_SPLIT], [Training(np.where(goes_left, 1, 2), np.full(8, unit))]
        )
        found = find_surrogates(trees, columns, Rules(min_rows=1))
        assert found["association"] == pytest.approx([0.5], rel=1e-12)


def test_nodes_without_rows_have_no_surrogates():
    """Also where all weights are 0."""
    table = bare_tree(
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        column=np.array([0, -1, 1, -1, -1]),
    )
    X, _ = noisy_copies(10)
    for leaf in (np.ones(10, int), np.full(10, 3), np.repeat([1, 4], 5)):
        for weight in (np.ones(10), np.zeros(10)):
            trees = TreeBatch([table], [Training(leaf, weight)])
            found = find_surrogates(trees, SortedColumns(X), Rules())
            assert np.all(found["node"] == 0)
            assert len(found["node"]) == 0 or (weight.any() and leaf[0] != leaf[-1])
