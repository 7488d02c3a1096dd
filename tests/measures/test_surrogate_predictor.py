"""Rows with missing values follow surrogate splits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from skvarimp import SurrogateTreePredictor

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
XR, YR = make_regression(120, 5, n_informative=3, noise=10.0, random_state=0)
FEW = {"n_estimators": 5, "random_state": 0}
MODELS = [
    (DecisionTreeClassifier(random_state=0), IRIS, NAMES),
    (RandomForestClassifier(**FEW), IRIS, NAMES),
    (ExtraTreesClassifier(**FEW), IRIS, np.column_stack([NAMES, NAMES == "setosa"])),
    (DecisionTreeRegressor(max_depth=5, random_state=0), XR, YR),
    (ExtraTreeRegressor(random_state=0), XR, np.column_stack([YR, -YR])),
    (RandomForestRegressor(**FEW, bootstrap=False, max_features=2), XR, YR),
]


def with_holes(X, share, seed=0):
    """X with missing values, one row without any and one without anything else."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < share, np.nan, X)
    X[0] = np.nan
    X[1] = IRIS[1] if X.shape[1] == 4 else XR[1]
    return X


@pytest.mark.parametrize(("model", "X", "y"), MODELS, ids=lambda m: type(m).__name__)
def test_complete_rows_get_the_models_own_predictions(model, X, y):
    """To the last bit, for every method that both have."""
    model = clone(model).fit(X, y)
    predictor = SurrogateTreePredictor(model).fit(X, y)
    assert predictor.estimator_ is model
    assert np.array_equal(predictor.predict(X), model.predict(X))
    assert np.array_equal(predictor.apply(X), model.apply(X.astype(np.float32)))
    assert is_classifier(predictor) == is_classifier(model)
    assert is_regressor(predictor) == is_regressor(model)
    if y.ndim == 1:
        assert predictor.score(X, y) == model.score(X, y)
    assert hasattr(predictor, "predict_proba") == hasattr(model, "predict_proba")
    if is_classifier(model):
        own, ours = model.predict_proba(X), predictor.predict_proba(X)
        pairs = zip(own, ours) if isinstance(own, list) else [(own, ours)]
        assert all(np.array_equal(a, b) for a, b in pairs)
        np.testing.assert_equal(predictor.classes_, model.classes_)


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize(("model", "X", "y"), MODELS, ids=lambda m: type(m).__name__)
def test_rows_with_missing_values_walk_by_the_rule(model, X, y, share):
    """Primary if observed, else the best observed surrogate, else the larger child."""
    predictor = SurrogateTreePredictor(clone(model)).fit(X, y)
    rows = with_holes(X, share)
    leaves = predictor.apply(rows).reshape(len(rows), -1)
    members = getattr(predictor.estimator_, "estimators_", [predictor.estimator_])
    fallbacks = 0
    for tree, member in enumerate(members):
        t = member.tree_
        own = predictor.surrogate_splits_[predictor.surrogate_splits_["tree"] == tree]
        for i, row in enumerate(rows):
            node = 0
            while t.children_left[node] != -1:
                value = row[t.feature[node]]
                if np.isnan(value):
                    told = [
                        s
                        for s in own[own["node"] == node]
                        if not np.isnan(row[s["feature"]])
                    ]
                    if told:
                        best = min(told, key=lambda s: s["rank"])
                        low = row[best["feature"]] <= best["threshold"]
                        left = low == (best["direction"] == 1)
                    else:
                        weight = t.weighted_n_node_samples
                        left = (
                            weight[t.children_left[node]]
                            >= weight[t.children_right[node]]
                        )
                        fallbacks += 1
                else:
                    left = np.float32(value) <= t.threshold[node]
                node = (t.children_left if left else t.children_right)[node]
            assert leaves[i, tree] == node
    assert fallbacks > 0
    values = np.mean(
        [m.tree_.value[leaf] for m, leaf in zip(members, leaves.T)], axis=0
    )
    if is_classifier(model) and y.ndim == 1:
        np.testing.assert_allclose(predictor.predict_proba(rows), values[:, 0])
    if is_regressor(model):
        np.testing.assert_allclose(np.squeeze(values), predictor.predict(rows))


def test_a_copy_stands_in_perfectly():
    """Where the column is missing and its mirrored copy is not, nothing changes."""
    X = np.column_stack([XR, -np.exp(XR[:, :1])])
    shown = X.copy()
    shown[:, 5] = 0.0
    tree = DecisionTreeRegressor(max_depth=6, random_state=0).fit(shown, YR)
    predictor = SurrogateTreePredictor(tree).fit(X, YR)
    holes = X.copy()
    holes[:, 0] = np.nan
    assert 0 in tree.tree_.feature
    assert np.array_equal(predictor.predict(holes), tree.predict(X))


def test_the_primary_split_compares_in_float32():
    """As scikit-learn does, also in rows that lack another column."""
    X = np.column_stack([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1])
    predictor = SurrogateTreePredictor(tree).fit(X, [0, 0, 1, 1])
    above = np.nextafter(0.5, 1.0)  # 0.5 in float32, the threshold itself
    assert predictor.predict([[above, 0.0], [above, np.nan]]).tolist() == [0, 0]


def test_training_data_with_missing_values():
    """The tree grows by its own rule; surrogates come from rows observed in both."""
    X = with_holes(IRIS, 0.3)
    for model in (
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(**FEW),
    ):
        predictor = SurrogateTreePredictor(model).fit(X, NAMES)
        assert predictor.score(IRIS, NAMES) > 0.8
        complete = ~np.isnan(X).any(axis=1)
        assert np.array_equal(
            predictor.predict(X[complete]), predictor.estimator_.predict(X[complete])
        )


def test_fitted_unfitted_and_frozen():
    """A fitted model is kept, an unfitted one cloned; freezing survives `clone`."""
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    predictor = SurrogateTreePredictor(model).fit(IRIS, NAMES)
    assert not hasattr(model, "tree_")
    assert predictor.estimator_ is not model
    model.fit(IRIS, NAMES)
    frozen = SurrogateTreePredictor(FrozenEstimator(model))
    kept = clone(frozen).fit(IRIS, NAMES)
    assert kept.estimator_ is model
    assert np.array_equal(kept.surrogate_splits_, predictor.surrogate_splits_)
    scores = cross_val_score(SurrogateTreePredictor(model), IRIS, NAMES, cv=3)
    assert scores.min() > 0.8


def test_frames_and_weights():
    """Names are remembered; weights go to the model and to the proportions."""
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    weight = np.random.default_rng(0).gamma(1, 1, 150)
    predictor = SurrogateTreePredictor(DecisionTreeClassifier(random_state=0))
    predictor.fit(frame, NAMES, sample_weight=weight)
    assert predictor.feature_names_in_.tolist() == list("abcd")
    holes = frame.mask(with_holes(IRIS, 0.4) != IRIS)
    by_array = SurrogateTreePredictor(DecisionTreeClassifier(random_state=0))
    by_array.fit(IRIS, NAMES, sample_weight=weight)
    assert np.array_equal(predictor.predict(holes), by_array.predict(holes.to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        predictor.predict(holes[["b", "a", "c", "d"]])


def test_errors():
    """Other models, wrong training data, no fit."""
    for model in (
        GradientBoostingClassifier(),
        RandomTreesEmbedding(),
        IRIS,
    ):
        with pytest.raises(TypeError, match="Impute the missing values"):
            SurrogateTreePredictor(model).fit(IRIS, SPECIES)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="X is not the training data"):
        SurrogateTreePredictor(tree).fit(IRIS + 0.3, SPECIES)
    with pytest.raises(ValueError, match="X has 2 columns, but the estimator was"):
        SurrogateTreePredictor(tree).fit(IRIS[:, :2], SPECIES)
    with pytest.raises(NotFittedError):
        SurrogateTreePredictor(tree).predict(IRIS)
    with pytest.raises(ValueError, match="infinity"):
        SurrogateTreePredictor(tree).fit(np.where(IRIS > 7, np.inf, IRIS), SPECIES)


@parametrize_with_checks(
    [
        SurrogateTreePredictor(DecisionTreeClassifier(random_state=0)),
        SurrogateTreePredictor(DecisionTreeRegressor(random_state=0)),
    ]
)
def test_scikit_learn_conformance(estimator, check):
    """Takes part in scikit-learn's estimator protocol."""
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [SurrogateTreePredictor(RandomForestClassifier(n_estimators=3, random_state=0))],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "a bootstrap draws by weight: "
        "equal to repetition in expectation only"
    },
)
def test_scikit_learn_conformance_of_forests(estimator, check):
    """The same with several trees."""
    check(estimator)
