"""Surrogate splits against a literal search over every cut and both directions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from skvarimp._impurity import ImpurityImportance


def literal_cuts(x, left, weight, labels=None, min_rows=1):
    """Every cut of one column: (association, threshold, direction), by definition."""
    if not (left.any() and not left.all()):
        return  # all observed rows on one side: nothing to imitate
    total = weight.sum()  # proportions times this, so that the sums are exact
    smaller = min(weight[left].sum(), weight[~left].sum())
    values = np.unique(x)
    for below, above in pairwise(values):
        threshold = (below + above) / 2
        if labels is not None:
            classes = [set(labels[x == v]) for v in (below, above)]
            if len(classes[0]) == 1 and classes[0] == classes[1]:
                continue
        low = x <= threshold
        if min(low.sum(), (~low).sum()) < min_rows:
            continue
        for direction, side in ((1, low), (-1, ~low)):
            w_ll = weight[left & side].sum()
            w_rr = weight[~left & ~side].sum()
            yield (smaller - (total - w_ll - w_rr)) / smaller, threshold, direction


def literal_surrogates(tree, X, weight, labels=None, min_rows=1):
    """The best surrogate on each column at each branch node of a scikit-learn tree.

    Returns {(node, feature): (association, threshold, direction)}.
    """
    t = tree.tree_
    path = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    found = {}
    for node in range(t.node_count):
        if t.children_left[node] == -1:
            continue
        j = t.feature[node]
        for k in set(range(X.shape[1])) - {j}:
            rows = path[:, node] & (weight > 0) & ~np.isnan(X[:, [j, k]]).any(axis=1)
            cuts = list(
                literal_cuts(
                    X[rows, k],
                    path[rows][:, t.children_left[node]],
                    weight[rows],
                    None if labels is None else labels[rows],
                    min_rows,
                )
            )
            largest = max((cut[0] for cut in cuts), default=0.0)
            if largest > 1e-10:
                found[node, k] = next(c for c in cuts if c[0] >= largest - 1e-10)
    return found


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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=60, deadline=None)
@given(training_data(), st.integers(1, 5))
def test_class_boundary_cuts_agree_with_the_literal_search(data, depth):
    """Cuts inside a run of one class are no candidates, at every node anew."""
    X, y, weight = data
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    tree.fit(X, y, sample_weight=weight)
    imp = ImpurityImportance(surrogates=True, surrogate_cuts="class_boundary")
    imp.fit(tree, X, y, sample_weight=weight)
    agrees_with(imp.surrogate_splits_, literal_surrogates(tree, X, weight, labels=y))
