"""What each tree of an ensemble was trained on, rebuilt, against the fitted trees."""

import pickle
import warnings

import numpy as np
import pytest
from combinations import each, half
from impurity_models import FEW, LABELS, WEIGHT, XC, XR, YC, YR, N, short
from literal_surrogates import impurity
from roundoff import roundoff
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skvarimp import ImpurityImportance
from skvarimp._data.table import as_table
from skvarimp._measures.impurity.readers import read_trees

TWO_CLASSES = np.column_stack([LABELS, np.where(XC[:, 0] > 0, "in", "out")])
TWO_NUMBERS = np.column_stack([YR, YR**2 / 100])
COUNTS = np.round(np.abs(YR) / 10)
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


@pytest.mark.parametrize(
    ("case", "sample_weight"), half(each(REBUILT, [None, WEIGHT])), ids=short
)
def test_rebuilt_training_explains_every_node(case, sample_weight):
    """Weight, and impurity where targets are rebuilt, of each node follow from them."""
    model, X, y = case
    model = fitted(model, X, y, sample_weight)
    trees = read_trees(model)
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    trainings = list(trees.trainings(as_table(X), np.asarray(y), weight))
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
            if not trees.knows_target:
                continue
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


@pytest.mark.parametrize(
    ("case", "sample_weight"), each(WITH_IMPORTANCES, [None, WEIGHT]), ids=short
)
def test_sklearn_convention_is_feature_importances(case, sample_weight):
    """Each class's own order of normalising, also with trees that never split."""
    model, X, y = case
    model = fitted(model, X, y, sample_weight)
    imp = ImpurityImportance(convention="sklearn").fit(model)
    np.testing.assert_allclose(
        imp.importances_, model.feature_importances_, rtol=1e-12, atol=roundoff(N, 1.0)
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
    boosting = isinstance(model, GradientBoostingRegressor)
    convention = "rpart" if boosting else "matlab"
    imp = ImpurityImportance(surrogates=True, convention=convention)
    first, second = clone(imp).fit(model, X, y), clone(imp).fit(model, dense, y)
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


def test_estimators_are_not_modified():
    """Nor are the data."""
    for model in (
        GradientBoostingRegressor(**FEW, loss="huber"),
        AdaBoostClassifier(**FEW),
        RandomForestClassifier(**FEW),
    ):
        model.fit(XC, YC)
        X, y, weight = XC.copy(), YC.copy(), np.ones(N)
        before = pickle.dumps(model)
        imp = ImpurityImportance(surrogates=True, convention="rpart")
        imp.fit(model, X, y, sample_weight=weight)
        assert pickle.dumps(model) == before
        assert np.array_equal(X, XC)
        assert np.array_equal(y, YC)
        assert np.all(weight == 1)
