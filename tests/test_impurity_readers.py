"""What each tree of an ensemble was trained on, rebuilt, against the fitted trees."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from literal_surrogates import impurity, literal_cuts
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skvarimp import ImpurityImportance
from skvarimp._impurity_registry import read_trees
from skvarimp._table import as_table

N = 150
XC, YC = make_classification(
    N, 5, n_informative=3, n_redundant=1, n_classes=3, flip_y=0.1, random_state=0
)
XR, YR = make_regression(N, 5, n_informative=3, noise=20.0, random_state=0)
WEIGHT = np.random.default_rng(0).gamma(1.0, 1.0, N)
WEIGHT[::9] = 0.0
LABELS = np.array(["low", "middle", "top"])[YC]
TWO_CLASSES = np.column_stack([LABELS, np.where(XC[:, 0] > 0, "in", "out")])
TWO_NUMBERS = np.column_stack([YR, YR**2 / 100])
COUNTS = np.round(np.abs(YR) / 10)
FEW = {"n_estimators": 4, "random_state": 0}

CLASSIFIERS = [
    (DecisionTreeClassifier(random_state=0), LABELS),
    (DecisionTreeClassifier(class_weight="balanced", max_leaf_nodes=7), TWO_CLASSES),
    (ExtraTreeClassifier(criterion="entropy", max_depth=4, random_state=0), LABELS),
    (RandomForestClassifier(**FEW), LABELS),
    (RandomForestClassifier(**FEW, class_weight="balanced"), LABELS),
    (RandomForestClassifier(**FEW, class_weight="balanced_subsample"), TWO_CLASSES),
    (
        RandomForestClassifier(
            **FEW, bootstrap=False, class_weight={"low": 3, "middle": 1, "top": 0.5}
        ),
        LABELS,
    ),
    (
        RandomForestClassifier(
            **FEW, bootstrap=False, class_weight="balanced_subsample", max_depth=4
        ),
        LABELS,
    ),
    (RandomForestClassifier(**FEW, max_samples=0.4, criterion="log_loss"), LABELS),
    (ExtraTreesClassifier(**FEW), TWO_CLASSES),
    (ExtraTreesClassifier(**FEW, bootstrap=True, max_samples=50), LABELS),
    (BaggingClassifier(**FEW), LABELS),
    (BaggingClassifier(**FEW, bootstrap=False, max_samples=0.6), LABELS),
    (
        BaggingClassifier(
            ExtraTreeClassifier(class_weight="balanced", max_depth=4),
            **FEW,
            max_features=0.6,
            bootstrap_features=True,
        ),
        LABELS,
    ),
    (AdaBoostClassifier(**FEW), LABELS),
    (
        AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=2, class_weight="balanced"),
            n_estimators=9,
            learning_rate=0.5,
            random_state=0,
        ),
        LABELS,
    ),
    (GradientBoostingClassifier(**FEW), LABELS),
    (GradientBoostingClassifier(**FEW, loss="exponential"), LABELS == "top"),
    (GradientBoostingClassifier(**FEW, init="zero", learning_rate=0.7), YC > 0),
    (
        GradientBoostingClassifier(
            n_estimators=20, n_iter_no_change=2, random_state=5, max_leaf_nodes=4
        ),
        LABELS,
    ),
]
REGRESSORS = [
    (DecisionTreeRegressor(max_depth=5, ccp_alpha=5.0), YR),
    (DecisionTreeRegressor(criterion="absolute_error", max_depth=4), TWO_NUMBERS),
    (DecisionTreeRegressor(criterion="poisson", max_depth=4), COUNTS),
    (DecisionTreeRegressor(max_depth=5, monotonic_cst=[1, 0, -1, 0, 0]), YR),
    (ExtraTreeRegressor(random_state=0), TWO_NUMBERS),
    (RandomForestRegressor(**FEW), YR),
    (RandomForestRegressor(**FEW, warm_start=True, max_features=2), TWO_NUMBERS),
    (ExtraTreesRegressor(**FEW), YR),
    (BaggingRegressor(**FEW, max_features=3), TWO_NUMBERS),
    (BaggingRegressor(ExtraTreeRegressor(max_depth=3), **FEW), YR),
    (GradientBoostingRegressor(**FEW), YR),
    (GradientBoostingRegressor(**FEW, loss="absolute_error"), YR),
    (GradientBoostingRegressor(**FEW, loss="huber", alpha=0.8), YR),
    (GradientBoostingRegressor(**FEW, loss="quantile", alpha=0.3), YR),
    (GradientBoostingRegressor(**FEW, init=DecisionTreeRegressor(max_depth=1)), YR),
    (
        GradientBoostingRegressor(
            n_estimators=30, n_iter_no_change=2, random_state=3, validation_fraction=0.3
        ),
        YR,
    ),
]
REBUILT = [(m, XC, y) for m, y in CLASSIFIERS] + [(m, XR, y) for m, y in REGRESSORS]


def fitted(model, X, y, sample_weight):
    """A fitted clone; what scikit-learn warns of in fit is not of interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y, sample_weight=sample_weight)


def short(value):
    """A readable parameter name."""
    return type(value).__name__ if hasattr(value, "fit") else ""


@pytest.mark.parametrize("sample_weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "X", "y"), REBUILT, ids=short)
def test_rebuilt_training_explains_every_node(model, X, y, sample_weight):
    """Impurity and weight of each node follow from the rebuilt weights and targets."""
    model = fitted(model, X, y, sample_weight)
    trees = read_trees(model)
    rows = trees.rows(as_table(X))
    trainings = list(trees.trainings(rows, np.asarray(y), sample_weight))
    assert len(trainings) == len(trees.tables) == len(trees.members)
    for member, features, training in zip(trees.members, trees.features, trainings):
        seen = X if features is None else X[:, features]
        t = member.tree_
        path = member.decision_path(seen.astype(np.float32)).toarray().astype(bool)
        criterion = trees.criterion
        for node in range(t.node_count):
            inside = path[:, node] & (training.weight > 0)
            weight = training.weight[inside]
            assert inside.sum() == t.n_node_samples[node]
            assert weight.sum() == pytest.approx(t.weighted_n_node_samples[node])
            target = training.target[inside].astype(float)
            scale = max(np.square(target).mean(), 1e-12)
            assert impurity(criterion, target, weight) == pytest.approx(
                t.impurity[node], rel=1e-6, abs=1e-9 * max(scale, 1e-3)
            )


WITH_IMPORTANCES = [
    *[(m, X, y) for m, X, y in REBUILT if not short(m).startswith("Bagging")],
    (AdaBoostRegressor(**FEW), XR, YR),
    (GradientBoostingRegressor(**FEW, subsample=0.5), XR, YR),
    (RandomTreesEmbedding(**FEW), XR, None),
    (RandomForestClassifier(n_estimators=8, max_depth=1, random_state=0), XC, YC),
    (RandomForestRegressor(n_estimators=3, min_samples_split=N + 1), XR, YR),
]


@pytest.mark.parametrize("sample_weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "X", "y"), WITH_IMPORTANCES, ids=short)
def test_sklearn_convention_is_feature_importances(model, X, y, sample_weight):
    """Each class's own order of normalising, also with trees that never split."""
    model = fitted(model, X, y, sample_weight)
    imp = ImpurityImportance(convention="sklearn").fit(model)
    np.testing.assert_allclose(
        imp.importances_, model.feature_importances_, rtol=1e-12, atol=1e-15
    )


def test_some_trees_without_splits():
    """They are left out of a forest's average, and count in AdaBoost's."""
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    forest = RandomForestClassifier(
        30, max_depth=2, max_features=1, min_impurity_decrease=0.05, random_state=0
    ).fit(X, y)
    sizes = [tree.tree_.node_count for tree in forest.estimators_]
    assert min(sizes) == 1 < max(sizes)
    for model in (forest, GradientBoostingClassifier(n_estimators=3).fit(X, y)):
        imp = ImpurityImportance(convention="sklearn").fit(model)
        np.testing.assert_allclose(
            imp.importances_, model.feature_importances_, rtol=1e-12
        )


def test_ensemble_weights_are_the_default():
    """AdaBoost's own weights of its trees; `tree_weights` takes their place."""
    booster = AdaBoostClassifier(n_estimators=6, random_state=0).fit(XC, LABELS)
    weights = booster.estimator_weights_
    assert np.ptp(weights) > 0
    own = ImpurityImportance().fit(booster)
    given = ImpurityImportance().fit(booster, tree_weights=weights)
    equal = ImpurityImportance().fit(booster, tree_weights=np.ones(6))
    singles = [ImpurityImportance().fit(e).importances_ for e in booster.estimators_]
    np.testing.assert_allclose(own.importances_, given.importances_, rtol=1e-14)
    np.testing.assert_allclose(
        own.importances_, np.average(singles, axis=0, weights=weights)
    )
    np.testing.assert_allclose(equal.importances_, np.mean(singles, axis=0))


def test_bagging_searches_the_columns_a_tree_was_given():
    """No surrogate on a column the tree never saw; splits in X's own numbering."""
    bagging = BaggingRegressor(n_estimators=8, max_features=2, random_state=0)
    bagging.fit(XR, YR)
    imp = ImpurityImportance(surrogates=True).fit(bagging, XR, YR)
    for tree, columns in enumerate(bagging.estimators_features_):
        own = imp.surrogate_splits_[imp.surrogate_splits_["tree"] == tree]
        assert len(own)
        assert set(own["feature"].tolist()) <= set(columns.tolist())
        alone = ImpurityImportance().fit(bagging.estimators_[tree]).importances_
        one = ImpurityImportance().fit(bagging, tree_weights=np.arange(8) == tree)
        np.testing.assert_allclose(one.importances_[columns], alone)


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
    assert imp.entry_names_ == list(X.columns)
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


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(**FEW),
        GradientBoostingRegressor(**FEW),
        AdaBoostClassifier(**FEW),
        BaggingRegressor(**FEW, max_features=3),
    ],
    ids=short,
)
def test_sparse_training_data(model, kind):
    """Grown and searched on a sparse X, as on the same X made dense."""
    dense = np.where(np.abs(XR) > 0.8, XR, 0.0)
    y = YC if isinstance(model, AdaBoostClassifier) else YR
    model = clone(model).fit(kind(dense), y)
    X = kind(dense)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    first = ImpurityImportance(surrogates=True).fit(model, X, y)
    second = ImpurityImportance(surrogates=True).fit(model, dense, y)
    np.testing.assert_allclose(first.importances_, second.importances_, rtol=1e-10)
    assert np.array_equal(first.surrogate_splits_, second.surrogate_splits_)


def test_importances_are_never_negative():
    """Splits that remove nothing come out at 0, not at minus a rounding error."""
    below = 0
    for seed in range(10):
        weight = np.random.default_rng(seed).gamma(1, 1, 6)
        x = np.repeat([[0.0], [1.0]], 6, axis=0)  # tells nothing about the class
        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        stump.fit(x, [0, 0, 1, 1, 2, 2] * 2, sample_weight=np.r_[weight, 3 * weight])
        below += stump.tree_.compute_feature_importances(normalize=False)[0] < 0
        for convention in ("matlab", "rpart", "sklearn"):
            imp = ImpurityImportance(convention=convention).fit(stump)
            assert imp.importances_[0] >= 0
    assert below > 0


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


@pytest.mark.parametrize(
    ("model", "X", "y", "reason"),
    [
        (AdaBoostRegressor(**FEW), XR, YR, "draws every tree's rows at random"),
        (GradientBoostingRegressor(**FEW, subsample=0.5), XR, YR, "subsample < 1"),
        (
            GradientBoostingRegressor(n_estimators=3, n_iter_no_change=2),
            XR,
            YR,
            "only an integer `random_state`",
        ),
        (
            HistGradientBoostingRegressor(max_iter=3, early_stopping=True),
            XR,
            YR,
            "only an integer `random_state`",
        ),
    ],
    ids=short,
)
def test_what_cannot_be_rebuilt_is_declined(model, X, y, reason):
    """With the reason and what works; the fitted trees alone still do."""
    model.fit(X, y)
    with pytest.raises(ValueError, match=reason):
        ImpurityImportance(surrogates=True, convention="rpart").fit(model, X, y)
    assert np.all(ImpurityImportance().fit(model, X, y).importances_ >= 0)


def test_random_targets_are_declined_where_they_are_needed():
    """Totally random trees keep no target; associations do not need one."""
    model = RandomTreesEmbedding(**FEW).fit(XR)
    with pytest.raises(ValueError, match="random targets"):
        ImpurityImportance(surrogates=True).fit(model, XR, YR)
    imp = ImpurityImportance(surrogates=True, convention="rpart").fit(model, XR)
    assert len(imp.surrogate_splits_)


def test_draws_of_an_earlier_fit_are_declined():
    """A warm start of bagging keeps the draws of its last fit only."""
    bagging = BaggingRegressor(n_estimators=2, warm_start=True, random_state=0)
    bagging.fit(XR, YR).set_params(n_estimators=4).fit(XR, YR)
    with pytest.raises(ValueError, match="draws of its last fit"):
        ImpurityImportance(surrogates=True).fit(bagging, XR, YR)


class OwnForest(RandomForestRegressor):
    """A subclass, which may draw its rows in another way."""


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (OwnForest(n_estimators=2), "OwnForest"),
        (IsolationForest(n_estimators=2), "IsolationForest"),
        (BaggingClassifier(KNeighborsClassifier()), "of KNeighborsClassifier"),
        (VotingClassifier([("a", DecisionTreeClassifier())]), "VotingClassifier"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), "Pipeline"),
    ],
    ids=short,
)
def test_other_ensembles_are_refused(model, name):
    """By exact type, with what to use instead."""
    with pytest.raises(TypeError, match=f"{name}. Use SensitivityImportance"):
        ImpurityImportance().fit(model.fit(XC, YC))


def test_estimators_are_not_modified():
    """Replaying leaves the model as it was, the Huber loss's corner included."""
    for model in (
        GradientBoostingRegressor(**FEW, loss="huber"),
        AdaBoostClassifier(**FEW),
        RandomForestClassifier(**FEW),
    ):
        model.fit(XC, YC)
        X, y, weight = XC.copy(), YC.copy(), np.ones(N)
        before = pickle.dumps(model)
        ImpurityImportance(surrogates=True).fit(model, X, y, sample_weight=weight)
        assert pickle.dumps(model) == before
        assert np.array_equal(X, XC)
        assert np.array_equal(y, YC)
        assert np.all(weight == 1)
