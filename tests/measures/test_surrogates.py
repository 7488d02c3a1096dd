"""Surrogate splits against a literal search over every cut and both directions."""

import numpy as np
import pytest
from combinations import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_surrogates import literal_surrogates
from messages import says
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import ImpurityImportance

pytestmark = pytest.mark.usefixtures("compiled")

FIELDS = ["node", "feature", "threshold", "direction", "association", "rank"]


def agrees_with(records, literal):
    """Association, threshold and direction, surrogate by surrogate."""
    assert {(r["node"], r["feature"]) for r in records} == set(literal)
    for r in records:
        association, threshold, direction = literal[r["node"], r["feature"]]
        assert r["association"] == pytest.approx(association, abs=1e-11)
        assert r["threshold"] == threshold
        assert r["direction"] == direction


@st.composite
def training_data(draw):
    """Small data with ties, constant columns, missing values and any weights.

    Weights are multiples of a power of two: their sums are exact in the literal search.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(4, 40)), draw(st.integers(2, 4))
    levels = draw(st.sampled_from([2, 4, 1000]))
    X = rng.integers(0, levels, (n, p)) / draw(st.sampled_from([1, 3, 7]))
    X[:, 1] = np.where(rng.random(n) < 0.8, X[:, 0], X[:, 1])
    if draw(st.booleans()):
        X[:, draw(st.integers(0, p - 1))] = 1.5
    if draw(st.booleans()):
        X[rng.random((n, p)) < draw(st.sampled_from([0.1, 0.5]))] = np.nan
    weight = {
        "none": np.ones(n),
        "whole": rng.integers(0, 4, n).astype(float),
        "fractional": np.ceil(rng.gamma(0.5, 1.0, n) * 2**8) / 2**8,
        "wide": 2.0 ** rng.integers(-12, 1, n),
    }[draw(st.sampled_from(["none", "whole", "fractional", "wide"]))]
    if np.count_nonzero(weight) < 2:
        weight[:] = 1.0
    return X, rng.integers(0, 3, n), weight


@settings(max_examples=examples(100))
@given(training_data(), st.integers(1, 5), st.sampled_from(["matlab", "rpart"]))
def test_every_node_agrees_with_the_literal_search(data, depth, convention):
    """The search over whole levels only rearranges the definition."""
    X, y, weight = data
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    tree.fit(X, y, sample_weight=weight)
    imp = ImpurityImportance(surrogates=True, convention=convention)
    imp.fit(tree, X, y, sample_weight=weight)
    min_rows = 2 if convention == "rpart" else 1
    agrees_with(
        imp.surrogate_splits_, literal_surrogates(tree, X, weight, min_rows=min_rows)
    )


@settings(max_examples=examples(40))
@given(training_data(), st.integers(1, 5))
def test_class_boundary_cuts_agree_with_the_literal_search(data, depth):
    """Cuts inside a run of one class are no candidates, at every node anew."""
    X, y, weight = data
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    tree.fit(X, y, sample_weight=weight)
    imp = ImpurityImportance(surrogates=True, surrogate_cuts="class_boundary")
    imp.fit(tree, X, y, sample_weight=weight)
    agrees_with(imp.surrogate_splits_, literal_surrogates(tree, X, weight, labels=y))


def noisy_copies(n=120, seed=0):
    """Columns that imitate the first one more and less well."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    X = np.column_stack([x, x + 0.3 * rng.normal(size=n), -x, rng.normal(size=n)])
    return X, x + X[:, 3] + 0.1 * rng.normal(size=n)


def grown(X, y, **parameters):
    """A small regression tree."""
    return DecisionTreeRegressor(max_depth=4, random_state=0, **parameters).fit(X, y)


def test_a_copied_column_imitates_perfectly():
    """Association 1 both ways, with direction -1 for the mirrored copy."""
    X, y = noisy_copies()
    X[:, 2] = -X[:, 0]
    imp = ImpurityImportance(surrogates=True).fit(grown(X, y), X, y)
    splits = imp.surrogate_splits_
    assert np.all(splits["association"] <= 1.0)
    assert imp.association_[0, 2] == pytest.approx(1.0, abs=1e-12)
    tree = grown(X, y).tree_
    mirrored = splits[(tree.feature[splits["node"]] == 0) & (splits["feature"] == 2)]
    assert len(mirrored)
    np.testing.assert_allclose(mirrored["association"], 1.0, atol=1e-12)
    assert np.all(mirrored["direction"] == -1)


def test_a_copy_earns_what_the_original_earns():
    """Equal partitions have equal decreases: importances of the two are equal."""
    X, y = noisy_copies()
    X[:, 1] = np.exp(X[:, 0])  # a copy after an increasing recoding
    for convention in ("matlab", "rpart", "sklearn"):
        imp = ImpurityImportance(surrogates=True, convention=convention)
        imp.fit(grown(X, y, min_samples_leaf=2), X, y)
        assert imp.importances_[0] == pytest.approx(imp.importances_[1], rel=1e-9)


def test_primary_ties_do_not_matter_with_surrogates():
    """Whichever of two equal columns the tree took, both earn alike."""
    X, y = noisy_copies()
    X[:, 1] = np.arctan(X[:, 0]) * 3
    for convention in ("matlab", "rpart", "sklearn"):
        results = []
        for hidden in (0, 1):  # a tree that cannot take this column
            shown = X.copy()
            shown[:, hidden] = 0.0
            tree = grown(shown, y, min_samples_leaf=2)
            assert hidden not in tree.tree_.feature
            imp = ImpurityImportance(surrogates=True, convention=convention)
            results.append(imp.fit(tree, X, y).importances_)
        np.testing.assert_allclose(*results, rtol=1e-9)
        alone = ImpurityImportance(convention=convention).fit(tree).importances_
        assert alone[1] == 0.0  # without surrogates the order decides


@settings(max_examples=examples(25))
@given(training_data(), st.sampled_from(["increasing", "decreasing"]))
def test_association_is_unchanged_by_monotone_recoding(data, how):
    """Only the order of a surrogate's values counts; a mirrored order mirrors cuts."""
    X, y, weight = data
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    shown = X.copy()
    shown[:, -1] = 0.0  # the last column is nowhere a primary split
    tree.fit(shown, y, sample_weight=weight)
    recoded = X.copy()
    recoded[:, -1] = np.exp(X[:, -1] / 500) * (1 if how == "increasing" else -1)
    results = [
        ImpurityImportance(surrogates=True).fit(tree, data, y, sample_weight=weight)
        for data in (X, recoded)
    ]
    first, second = (r.association_ for r in results)
    np.testing.assert_allclose(second, first, atol=1e-11)
    if how == "increasing":
        for field in ("node", "feature", "direction", "rank"):
            assert np.array_equal(
                results[0].surrogate_splits_[field], results[1].surrogate_splits_[field]
            )


def test_only_kept_surrogates_enter_any_result():
    """The k best per node, and sums over those alone."""
    X, y = noisy_copies()
    X = np.column_stack([X, X[:, :3] + 0.5 * np.sin(np.arange(120))[:, np.newaxis]])
    tree = grown(X, y)
    every = ImpurityImportance(surrogates=True).fit(tree, X, y)
    for k in (1, 2):
        imp = ImpurityImportance(surrogates=k).fit(tree, X, y)
        kept = every.surrogate_splits_[every.surrogate_splits_["rank"] <= k]
        assert np.array_equal(imp.surrogate_splits_[FIELDS], kept[FIELDS])
        primary = tree.tree_.feature[kept["node"]]
        association = np.eye(7)
        for i in range(7):
            n_splits = np.sum(tree.tree_.feature == i)
            for j in range(7):
                if i != j and n_splits:
                    chosen = (primary == i) & (kept["feature"] == j)
                    association[i, j] = kept["association"][chosen].sum() / n_splits
        np.testing.assert_allclose(imp.association_, association, atol=1e-14)
        assert np.all(imp.importances_ <= every.importances_ + 1e-12)
    assert np.any(imp.importances_ < every.importances_)


def test_ranks_follow_association_then_column():
    """1 is the best; equal associations go to the lowest column."""
    X, y = noisy_copies()
    X[:, 2] = X[:, 1]
    splits = (
        ImpurityImportance(surrogates=True).fit(grown(X, y), X, y).surrogate_splits_
    )
    for node in np.unique(splits["node"]):
        own = splits[splits["node"] == node]
        assert own["rank"].tolist() == list(range(1, len(own) + 1))
        assert np.all(np.diff(own["association"]) <= 1e-10)
        copies = own[np.isin(own["feature"], [1, 2])]["feature"].tolist()
        assert copies in ([], [1, 2], [1], [2])


def test_whole_weights_equal_repeated_rows():
    """In the conventions that do not count rows."""
    X, _ = noisy_copies(60)
    y = np.random.default_rng(1).integers(0, 3, 60)
    weight = np.random.default_rng(2).integers(0, 4, 60)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    results = []
    for rows, sample_weight in (
        (np.arange(60), weight.astype(float)),
        (np.repeat(np.arange(60), weight), None),
    ):
        tree.fit(X[rows], y[rows], sample_weight=sample_weight)
        imp = ImpurityImportance(surrogates=True)
        results.append(imp.fit(tree, X[rows], y[rows], sample_weight=sample_weight))
    for name in ("importances_", "association_"):
        np.testing.assert_allclose(*(getattr(r, name) for r in results), rtol=1e-9)
    assert np.array_equal(*(r.surrogate_splits_[FIELDS[:4]] for r in results))


def test_class_boundaries_stop_at_the_node():
    """Runs of one class end with the node, also where the next holds the same value."""
    for seed in (0, 1, 223, 272, 299):  # in the last three, neighbours share a value
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (60, 3)).astype(float)
        y = (X.sum(axis=1) + rng.integers(0, 2, 60) > 4).astype(int)
        tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
        imp = ImpurityImportance(surrogates=True, surrogate_cuts="class_boundary")
        imp.fit(tree, X, y)
        agrees_with(
            imp.surrogate_splits_, literal_surrogates(tree, X, np.ones(60), labels=y)
        )


def test_no_surrogate_appears_behind_the_last_value():
    """A column without cuts has no surrogate, however badly a split is balanced."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.ones((60, 4))
        X[:, 0] = np.arange(60) >= 40
        X[rng.random(60) < 0.3, 1] = np.nan
        X[rng.random(60) < 0.3, 2] = np.nan
        weight = rng.uniform(1, 2, 60) * np.where(X[:, 0] == 1, 1e-9, 1.0)
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        tree.fit(X, X[:, 0] == 1, sample_weight=weight)
        imp = ImpurityImportance(surrogates=True, convention="rpart")
        imp.fit(tree, X, X[:, 0] == 1, sample_weight=weight)
        assert tree.tree_.node_count == 3
        assert len(imp.surrogate_splits_) == 0


def test_thresholds_lie_midway_and_between_neighbours():
    """Also where two neighbouring floats have no middle of their own."""
    low = 1.0
    high = np.nextafter(low, 2.0)
    X = np.array([[0.0, low], [0.0, low], [1.0, high], [1.0, high]])
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    tree.fit(np.c_[X[:, 0], np.zeros(4)], [0, 0, 1, 1])
    imp = ImpurityImportance(surrogates=True).fit(tree, X, [0, 0, 1, 1])
    (split,) = imp.surrogate_splits_
    assert split["association"] == 1.0
    assert low <= split["threshold"] < high


def test_the_record_is_small_and_complete():
    """Smallest signed integers; every field finite; trees in order."""
    X, y = noisy_copies()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y > 0)
    splits = ImpurityImportance(surrogates=True).fit(forest, X, y > 0).surrogate_splits_
    assert splits.dtype.names == (
        "tree",
        "node",
        "feature",
        "threshold",
        "direction",
        "association",
        "rank",
    )
    assert splits.dtype.itemsize <= 24
    assert np.all(np.diff(splits["tree"].astype(int)) >= 0)
    assert set(splits["tree"].tolist()) <= set(range(5))
    assert np.all(np.isfinite(splits["threshold"]))
    assert set(np.unique(splits["direction"])) <= {-1, 1}


def test_nodes_of_a_large_tree_have_their_numbers():
    """More of them than one byte holds."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    X = np.column_stack([X, X + 0.1 * random.normal(size=X.shape)])
    y = random.normal(size=300)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    splits = ImpurityImportance(surrogates=True).fit(tree, X, y).surrogate_splits_
    inner = np.flatnonzero(tree.tree_.children_left >= 0)
    assert set(splits["node"]) <= set(inner)
    assert splits["node"].max() > 300


def test_weights_near_those_of_training_are_refused():
    """A thousandth of one row's weight is another tree, not rounding."""
    random = np.random.RandomState(0)
    X = random.randn(40, 4)
    Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    weights = random.uniform(0.5, 2, 40)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    tree.fit(X, Y, sample_weight=weights)
    measure = ImpurityImportance(surrogates=True)
    measure.fit(tree, X, Y, sample_weight=weights * (1 + 1e-13))
    weights[7] *= 1.001
    with pytest.raises(
        ValueError, match=says("X … training data … rows of weight … was fitted with")
    ):
        measure.fit(tree, X, Y, sample_weight=weights)
