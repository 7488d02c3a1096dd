"""Histogram gradient boosting: gains, surrogates, categories, early stopping."""

import numpy as np
import pandas as pd
import pytest
from impurity_models import LABELS, WEIGHT, XC, XR, YR, N
from literal_surrogates import literal_cuts
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from skvarimp import ImpurityImportance

HISTOGRAM = HistGradientBoostingRegressor(
    max_iter=3, max_leaf_nodes=6, min_samples_leaf=5, early_stopping=False
)


def histogram_data():
    """Numbers with missing values and two categorical columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "city": pd.Categorical(rng.choice(list("uvwxyz"), N)),
            "b": rng.normal(size=N),
            "size": pd.Categorical(rng.integers(0, 5, N)),
        }
    )
    X["copy"] = np.where(X["city"].isin(["u", "x"]), 1.0, 0.0) + 0.01 * X["b"]
    X.loc[rng.random(N) < 0.2, ["a"]] = np.nan
    X.loc[rng.random(N) < 0.1, ["city"]] = np.nan
    y = X["city"].isin(["u", "x"]) * 3.0 + X["b"] + X["a"].fillna(2.0)
    return X, y.to_numpy()


def test_histogram_gains():
    """For squared errors, gains are decreases of the gradients' sum of squares."""
    X, y = XR, YR
    model = clone(HISTOGRAM).fit(X, y)
    plain = ImpurityImportance(convention="rpart").fit(model)
    expected = np.zeros(5)
    raw = np.full(N, y.mean())
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        inside = {0: np.ones(N, dtype=bool)}
        gradient = np.asarray(y - raw, dtype=np.float32).astype(float)
        for number, node in enumerate(nodes):
            if node["is_leaf"]:
                raw[inside[number]] += node["value"]
                continue
            left = X[:, node["feature_idx"]] <= node["num_threshold"]
            inside[node["left"]] = inside[number] & left
            inside[node["right"]] = inside[number] & ~left
            risks = [
                np.sum((gradient[rows] - gradient[rows].mean()) ** 2)
                for rows in (
                    inside[number],
                    inside[node["left"]],
                    inside[node["right"]],
                )
            ]
            expected[node["feature_idx"]] += risks[0] - risks[1] - risks[2]
    np.testing.assert_allclose(plain.importances_, expected / 3, rtol=1e-4)
    np.testing.assert_allclose(raw, model.predict(X))
    n_branches = [int(np.sum(p.nodes["is_leaf"] == 0)) for (p,) in model._predictors]
    assert set(n_branches) == {5}
    matlab = ImpurityImportance().fit(model)
    np.testing.assert_allclose(matlab.importances_, plain.importances_ / N / 5)
    relative = ImpurityImportance(convention="sklearn").fit(model)
    total = plain.importances_.sum()
    np.testing.assert_allclose(relative.importances_, plain.importances_ / total)


@pytest.mark.parametrize("weighted", [False, True])
def test_histogram_surrogates_with_categories_and_missing_values(weighted):
    """Primary categories and missing directions; categories as surrogates."""
    X, y = histogram_data()
    weight = np.ceil(WEIGHT * 4) / 4 + 1 if weighted else None
    model = clone(HISTOGRAM).fit(X, y, sample_weight=weight)
    imp = ImpurityImportance(surrogates=True, convention="rpart")
    imp.fit(model, X, y, sample_weight=weight)
    assert imp.features_ == list(X.columns)
    values = X.copy()
    for name in ("city", "size"):
        values[name] = X[name].cat.codes.replace(-1, np.nan)
    values = values.to_numpy(dtype=float)
    total = np.ones(N) if weight is None else weight
    columns = np.array([1, 3, 0, 2, 4])  # categorical columns come first for the trees
    splits = imp.surrogate_splits_
    checked = 0
    for tree, (predictor,) in enumerate(model._predictors):
        nodes = predictor.nodes
        inside = {0: np.ones(N, dtype=bool)}
        for number, node in enumerate(nodes):
            if node["is_leaf"]:
                assert inside[number].sum() == node["count"]
                continue
            x = values[:, columns[node["feature_idx"]]]
            left = x <= node["num_threshold"]
            if node["is_categorical"]:
                words = predictor.raw_left_cat_bitsets[node["bitset_idx"]]
                codes = np.nan_to_num(x).astype(int)
                left = (words[codes // 32] >> (codes % 32)) & 1 == 1
            left = np.where(np.isnan(x), node["missing_go_to_left"] == 1, left)
            inside[node["left"]] = inside[number] & left
            inside[node["right"]] = inside[number] & ~left
            for k in set(range(5)) - {int(columns[node["feature_idx"]])}:
                rows = inside[number] & ~np.isnan(x) & ~np.isnan(values[:, k])
                best = best_association(
                    values[rows, k], left[rows], total[rows], k in (1, 3)
                )
                found = splits[
                    (splits["tree"] == tree)
                    & (splits["node"] == number)
                    & (splits["feature"] == k)
                ]
                if best <= 1e-10:
                    assert len(found) == 0
                    continue
                assert found["association"][0] == pytest.approx(best, abs=1e-12)
                assert np.isnan(found["threshold"][0]) == (k in (1, 3))
                checked += 1
    assert checked > 10
    assert np.any(np.isin(splits["feature"], [1, 3]))


def best_association(x, left, weight, nominal):
    """Over all cuts, or with each category sent where most of its weight goes."""
    if not nominal:
        cuts = literal_cuts(x, left, weight, min_rows=2)
        return max((cut[0] for cut in cuts), default=0.0)
    smaller = min(weight[left].sum(), weight[~left].sum())
    if smaller == 0:
        return 0.0
    agreement, to_left = 0.0, np.zeros(len(x), dtype=bool)
    for code in np.unique(x):
        own = x == code
        sides = weight[own & left].sum(), weight[own & ~left].sum()
        agreement += max(sides)
        to_left[own] = sides[0] >= sides[1]
    if min(to_left.sum(), (~to_left).sum()) < 2:
        return 0.0
    return (smaller - (weight.sum() - agreement)) / smaller


def test_histogram_rows_without_weight_are_counted():
    """By the trees, whose counts are then those of all rows; proportions leave them."""
    weight = np.where(XR[:, 0] > 0.3, 0.0, 1.0)
    model = clone(HISTOGRAM).fit(XR, YR, sample_weight=weight)
    imp = ImpurityImportance(surrogates=True, convention="rpart")
    imp.fit(model, XR, YR, sample_weight=weight)
    root = model._predictors[0][0].nodes[0]
    assert root["count"] == N
    left = XR[:, root["feature_idx"]] <= root["num_threshold"]
    used = weight > 0
    splits = imp.surrogate_splits_
    at_root = splits[(splits["tree"] == 0) & (splits["node"] == 0)]
    assert len(at_root)
    for split in at_root:
        cuts = literal_cuts(
            XR[used, split["feature"]], left[used], weight[used], min_rows=2
        )
        assert split["association"] == pytest.approx(max(c[0] for c in cuts), abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(
            max_iter=4, class_weight="balanced", early_stopping=True, random_state=1
        ),
        HistGradientBoostingRegressor(
            max_iter=4, early_stopping=True, validation_fraction=40, random_state=7
        ),
        HistGradientBoostingRegressor(
            max_iter=4, early_stopping=True, validation_fraction=None
        ),
    ],
)
def test_histogram_early_stopping_is_drawn_again(model):
    """Node counts are those of the training part."""
    y = LABELS if isinstance(model, HistGradientBoostingClassifier) else YR
    model.fit(XC, y)
    imp = ImpurityImportance(surrogates=True, convention="rpart").fit(model, XC, y)
    assert np.all(imp.importances_ > 0)
    assert len(imp.surrogate_splits_)


def test_class_weights_are_weights_of_rows():
    """A model with `class_weight` has the surrogates of one that was given weights."""
    by_class = {0: 5.0, 1: 1.0, 2: 0.25}  # such a model asks for positions of labels
    of_rows = np.array([5.0, 1.0, 0.25])[np.unique(LABELS, return_inverse=True)[1]]
    model = HistGradientBoostingClassifier(max_iter=3, early_stopping=False)
    weighted = clone(model).fit(XC, LABELS, sample_weight=of_rows)
    model.set_params(class_weight=by_class).fit(XC, LABELS)
    imp = ImpurityImportance(surrogates=True, convention="rpart")
    expected = clone(imp).fit(weighted, XC, LABELS, sample_weight=of_rows)
    imp.fit(model, XC, LABELS)
    assert len(imp.surrogate_splits_)
    for found, wanted in (
        (imp.surrogate_splits_, expected.surrogate_splits_),
        (imp.importances_, expected.importances_),
    ):
        np.testing.assert_array_equal(found, wanted)
