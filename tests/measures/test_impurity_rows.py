"""Impurity importance on rows that the trees were not grown on, against plain loops."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from boosting_checks import DoubleXGBoost
from literal import standard_error
from literal_loss_decrease import (
    STEPS,
    averaged,
    boosted,
    of_catboost,
    of_histogram,
    of_lightgbm,
    of_sklearn,
    of_xgboost,
)
from messages import says
from roundoff import roundoff
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import (
    BackwardEliminationSelector,
    ImportanceEstimator,
    ImpurityImportance,
    compare_importances,
)

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(2 * N, 4))
X[:, 1] = RNG.integers(0, 3, 2 * N)
X[RNG.random(2 * N) < 0.15, 2] = np.nan
NUMBERS = X[:, 0] + X[:, 1] * (X[:, 3] > 0) + RNG.normal(size=2 * N) / 2
LABELS = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [0, 1.5])]
YES = np.where(NUMBERS > 0.5, "yes", "no")
COUNTS = np.floor(np.abs(NUMBERS) * 2)
TWO = np.column_stack([NUMBERS, NUMBERS**2])
TWO_LABELS = np.column_stack([LABELS, YES])
OLD, NEW = slice(0, N), slice(N, 2 * N)
FEW = {"n_estimators": 5, "random_state": 0}
WEIGHTS = np.random.default_rng(1).integers(0, 4, N).astype(float)
ENGINES = [True, False]


@pytest.fixture(params=ENGINES, ids=["compiled", "NumPy"])
def engine(request, monkeypatch):
    """Both ways of going down the trees, where kernels are built."""
    monkeypatch.setenv("SKVARIMP_COMPILED", "1" if request.param else "0")


def indicators(y, classes):
    """(n, n_classes)."""
    return (np.asarray(y)[:, np.newaxis] == classes).astype(float)


def of_unseen(model, y, sample_weight=None, rows=X[NEW], **more):
    """Fitted on rows that the model has not seen."""
    imp = ImpurityImportance(rows="unseen", **more)
    return imp.fit(model, rows, y[NEW], sample_weight=sample_weight)


def close(found, expected):
    """To 1e-10 of the largest."""
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


SINGLE = {
    "numbers": (DecisionTreeRegressor(max_depth=4), NUMBERS),
    "median": (DecisionTreeRegressor(max_depth=3, criterion="absolute_error"), NUMBERS),
    "two targets": (DecisionTreeRegressor(max_depth=4), TWO),
    "classes": (DecisionTreeClassifier(max_depth=4), LABELS),
    "two label columns": (DecisionTreeClassifier(max_depth=4), TWO_LABELS),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("weighted", [False, True])
def test_single_tree(name, weighted, engine):
    """Regression and classification, one output and several."""
    model, y = SINGLE[name]
    model.fit(X[OLD], y[OLD])
    weights = WEIGHTS if weighted else np.ones(N)
    imp = of_unseen(model, y, weights if weighted else None)
    tree, everything = model.tree_, [np.flatnonzero(weights)]
    columns = y[:, np.newaxis] if y.ndim == 1 else y
    per_output = []
    for o, column in enumerate(columns.T):
        if isinstance(model, DecisionTreeRegressor):
            target, values = column[:, np.newaxis], tree.value[:, [o], 0]
        else:
            classes = np.unique(column[OLD])
            target = indicators(column, classes)
            values = tree.value[:, o, : len(classes)]
        nested = of_sklearn(tree, values)
        per_output.append(averaged([nested], X[NEW], target[NEW], everything, weights))
    close(imp.importances_per_output_, np.transpose(per_output))
    close(imp.importances_, np.mean(per_output, axis=0))
    assert len(imp.output_names_) == len(per_output)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (DecisionTreeRegressor(max_depth=5), NUMBERS),
        (DecisionTreeRegressor(max_depth=5), TWO),
        (DecisionTreeClassifier(max_depth=5), LABELS),
        (DecisionTreeClassifier(max_depth=5), TWO_LABELS),
    ],
)
def test_training_rows_give_the_impurity_decrease(model, y):
    """The change of impurity is the covariance of the values with the target."""
    model.fit(X, y)
    imp = ImpurityImportance(rows="unseen").fit(model, X, y)
    own = model.tree_.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(
        imp.importances_, own, rtol=1e-10, atol=roundoff(len(X), model.tree_.impurity)
    )
    if model.n_outputs_ == 1 and y is NUMBERS:
        explained = np.var(y) - np.mean((y - model.predict(X)) ** 2)
        assert imp.importances_.sum() == pytest.approx(explained, rel=1e-10)


BAGGED = {
    "forest": (RandomForestRegressor(**FEW), NUMBERS),
    "classes": (RandomForestClassifier(**FEW, max_samples=0.6), LABELS),
    "extra trees": (ExtraTreesRegressor(**FEW, bootstrap=True), NUMBERS),
    "bagging": (BaggingRegressor(**FEW, max_features=0.6), NUMBERS),
    "bagging, classes": (BaggingClassifier(**FEW, max_samples=8), LABELS),
    "parts": (BaggingRegressor(**FEW, bootstrap=False, max_samples=0.7), NUMBERS),
}


@pytest.mark.parametrize("name", BAGGED)
def test_out_of_bag(name, engine):
    """Each tree over its own rows, then the mean over the trees."""
    model, y = BAGGED[name]
    model.fit(X[OLD], y[OLD])
    imp = ImpurityImportance(rows="oob").fit(model, X[OLD], y[OLD])
    classes = getattr(model, "classes_", None)
    target = y[:, np.newaxis] if classes is None else indicators(y, classes)
    columns = getattr(model, "estimators_features_", [None] * 5)
    trees, outside = [], []
    for member, drawn, used in zip(
        model.estimators_, model.estimators_samples_, columns
    ):
        if classes is None:
            values = member.tree_.value[:, :, 0]
        else:  # a member may not have drawn every class
            values = np.zeros((member.tree_.node_count, len(classes)))
            known = member.classes_.astype(int)
            values[:, known] = member.tree_.value[:, 0, : len(known)]
        trees.append(of_sklearn(member.tree_, values, used))
        outside.append(np.setdiff1d(np.arange(N), drawn))
    close(imp.importances_, averaged(trees, X[OLD], target[OLD], outside))


def test_trees_that_drew_every_row_do_not_count(engine):
    """Of so few rows some trees have drawn all; the mean is over the others."""
    rows, y = np.nan_to_num(X[:5]), NUMBERS[:5]
    model = BaggingRegressor(DecisionTreeRegressor(), 60, random_state=0).fit(rows, y)
    outside = [np.setdiff1d(np.arange(5), drawn) for drawn in model.estimators_samples_]
    assert min(map(len, outside)) == 0
    trees = [of_sklearn(m.tree_, m.tree_.value[:, :, 0]) for m in model.estimators_]
    imp = ImpurityImportance(rows="oob").fit(model, rows, y)
    close(imp.importances_, averaged(trees, rows, y[:, np.newaxis], outside))


BOOSTING = {
    "squares": (GradientBoostingRegressor(**FEW), NUMBERS, "squared"),
    "absolute": (
        GradientBoostingRegressor(**FEW, loss="absolute_error"),
        NUMBERS,
        "absolute",
    ),
    "two classes": (GradientBoostingClassifier(**FEW), YES, "log loss"),
    "three classes": (GradientBoostingClassifier(**FEW), LABELS, "softmax"),
}


def target_of(y, step):
    """y as the loss takes it, (n, n_raw)."""
    if step == "softmax":
        return indicators(y, np.unique(y))
    return indicators(y, ["yes"]) if step == "log loss" else y[:, np.newaxis]


@pytest.mark.parametrize("name", BOOSTING)
def test_gradient_boosting(name, engine):
    """The prediction so far leaves out what the split's own column added."""
    model, y, step = BOOSTING[name]
    filled = np.nan_to_num(X)
    model.fit(filled[OLD], y[OLD])
    imp = of_unseen(model, y, rows=filled[NEW])
    n_raw = model.estimators_.shape[1]
    stages = [
        [
            of_sklearn(m.tree_, 0.1 * m.tree_.value[:, 0] * np.eye(n_raw)[[k]])
            for k, m in enumerate(stage)
        ]
        for stage in model.estimators_
    ]
    one, method = filled[:1], getattr(model, "decision_function", model.predict)
    sums = sum(
        0.1 * np.array([m.predict(one)[0] for m in s]) for s in model.estimators_
    )
    offset = np.ravel(method(one)) - sums
    credit = boosted(stages, filled[NEW], target_of(y, step)[NEW], offset, STEPS[step])
    close(imp.importances_, credit.mean(axis=0))


@pytest.mark.parametrize("size", [290.0, 590.0])
def test_large_raw_outputs_of_two_classes(size, engine):
    """A step is up to twice their sum, of which the exponential may overflow."""
    alone = np.arange(len(X)) == 3
    y, filled = np.where(alone, "yes", "no"), np.nan_to_num(X)
    filled[:, 1] += 100.0 * alone  # all trees split one row off
    model = GradientBoostingClassifier(**FEW, max_depth=1, init="zero").fit(filled, y)
    trees = [stage[0].tree_ for stage in model.estimators_]
    for tree in trees:
        tree.value[:, 0, 0] = size / 0.1 / 5 * np.array([0.0, -1.0, 1.0])
    imp = ImpurityImportance(rows="unseen").fit(model, filled, y)
    stages = [[of_sklearn(tree, 0.1 * tree.value[:, 0])] for tree in trees]
    step = STEPS["log loss"]
    credit = boosted(stages, filled, target_of(y, "log loss"), np.zeros(1), step)
    # sums of products of a residual, below 1, and of a value
    np.testing.assert_allclose(
        imp.importances_, credit.mean(axis=0), rtol=0, atol=roundoff(N * N, size)
    )
    assert imp.importances_[1] > 1


HISTOGRAMS = {
    "squares": (HistGradientBoostingRegressor, {}, NUMBERS, "squared"),
    "poisson": (HistGradientBoostingRegressor, {"loss": "poisson"}, COUNTS, "poisson"),
    "two classes": (HistGradientBoostingClassifier, {}, YES, "log loss"),
    "three classes": (HistGradientBoostingClassifier, {}, LABELS, "softmax"),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histogram_gradient_boosting(name, engine):
    """With missing values."""
    kind, options, y, step = HISTOGRAMS[name]
    model = kind(max_iter=5, min_samples_leaf=3, **options).fit(X[OLD], y[OLD])
    imp = of_unseen(model, y)
    n_raw = len(model._predictors[0])
    stages = [
        [of_histogram(p, np.eye(n_raw)[k]) for k, p in enumerate(stage)]
        for stage in model._predictors
    ]
    offset = np.ravel(model._baseline_prediction)
    credit = boosted(stages, X[NEW], target_of(y, step)[NEW], offset, STEPS[step])
    close(imp.importances_, credit.mean(axis=0))


LIBRARIES = {
    "squares": (NUMBERS, "squared", {}),
    "poisson": (COUNTS, "poisson", {}),
    "two classes": (YES, "log loss", {}),
    "three classes": (LABELS, "softmax", {}),
}


@cache
def literal_xgboost(name, categories):
    """(model, y, importances by the plain loop)."""
    xgb = pytest.importorskip("xgboost")
    y, step, _ = LIBRARIES[name]
    kind = xgb.XGBRegressor if y.dtype.kind == "f" else xgb.XGBClassifier
    options = {"objective": "count:poisson"} if name == "poisson" else {}
    if categories:
        options |= {"feature_types": ["q", "c", "q", "q"], "enable_categorical": True}
    model = kind(n_estimators=5, max_depth=3, n_jobs=1, **options)
    codes = y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
    model.fit(X[OLD], codes[OLD])
    target = target_of(y, step)
    offset = np.broadcast_to(DoubleXGBoost(model, None).base, target.shape[1])
    stages = of_xgboost(model.get_booster(), target.shape[1])
    credit = boosted(stages, X[NEW], target[NEW], offset, STEPS[step])
    return model, codes, credit.mean(axis=0)


@pytest.mark.parametrize("categories", [False, True], ids=["", "categories"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_xgboost(name, categories, engine):
    """With missing values, and with categories by number."""
    model, y, expected = literal_xgboost(name, categories)
    close(of_unseen(model, y).importances_, expected)


@cache
def literal_lightgbm(name, categories):
    """See `literal_xgboost`."""
    lgbm = pytest.importorskip("lightgbm")
    y, step, _ = LIBRARIES[name]
    kind = lgbm.LGBMRegressor if y.dtype.kind == "f" else lgbm.LGBMClassifier
    options = {"objective": "poisson"} if name == "poisson" else {}
    model = kind(n_estimators=5, min_child_samples=3, n_jobs=1, verbose=-1, **options)
    fit = {"categorical_feature": [1]} if categories else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[OLD], y[OLD], **fit)
    target = target_of(y, step)
    stages = of_lightgbm(model.booster_, target.shape[1])
    none = np.zeros(target.shape[1])
    credit = boosted(stages, X[NEW], target[NEW], none, STEPS[step])
    return model, y, credit.mean(axis=0)


@pytest.mark.parametrize("categories", [False, True], ids=["", "categories"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_lightgbm(name, categories, engine):
    """With missing values, and with categories by number."""
    model, y, expected = literal_lightgbm(name, categories)
    close(of_unseen(model, y).importances_, expected)


@pytest.mark.parametrize("name", LIBRARIES)
def test_catboost(name, engine, tmp_path):
    """With missing values; vector leaves for three classes."""
    cat = pytest.importorskip("catboost")
    y, step, _ = LIBRARIES[name]
    kind = cat.CatBoostRegressor if y.dtype.kind == "f" else cat.CatBoostClassifier
    options = {"loss_function": "Poisson"} if name == "poisson" else {}
    model = kind(iterations=5, depth=3, verbose=0, allow_writing_files=False, **options)
    model.fit(X[OLD], y[OLD])
    imp = of_unseen(model, y)
    stages, bias = of_catboost(model, tmp_path)
    target = target_of(y, step)
    credit = boosted(stages, X[NEW], target[NEW], bias, STEPS[step])
    close(imp.importances_, credit.mean(axis=0))


@pytest.mark.parametrize("loss", ["CrossEntropy", "MultiCrossEntropy"])
def test_shares_of_catboost(loss, engine, tmp_path):
    """A classifier whose target is a share between 0 and 1, not a label."""
    cat = pytest.importorskip("catboost")
    y = 1 / (1 + np.exp(-np.column_stack([NUMBERS, X[:, 0]])))
    y = y[:, :1] if loss == "CrossEntropy" else y
    model = cat.CatBoostClassifier(
        iterations=5, depth=3, loss_function=loss, verbose=0, allow_writing_files=False
    )
    model.fit(X[OLD], y[OLD])
    imp = of_unseen(model, y)
    stages, bias = of_catboost(model, tmp_path)
    credit = boosted(stages, X[NEW], y[NEW], bias, STEPS["log loss"])
    close(imp.importances_, credit.mean(axis=0) / y.shape[1])
    with pytest.raises(ValueError, match="shares between 0 and 1"):
        of_unseen(model, 2 * y)


@pytest.mark.parametrize("y", [YES, LABELS], ids=["two", "three"])
def test_adaboost(y, engine):
    """The exponential loss of the codes that SAMME adds up (Zhu et al. 2009)."""
    stump, filled = DecisionTreeClassifier(max_depth=2), np.nan_to_num(X)
    model = AdaBoostClassifier(stump, n_estimators=4, random_state=0)
    model.fit(filled[OLD], y[OLD])
    imp = of_unseen(model, y, rows=filled[NEW])
    classes, k = model.classes_, len(model.classes_)
    stages = []
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        label = member.tree_.value[:, 0].argmax(axis=1)[:, np.newaxis] == np.arange(k)
        codes = np.where(label, 1.0, -1.0 / (k - 1))
        beta = alpha * (k - 1) ** 2 / k
        stages.append([of_sklearn(member.tree_, beta * codes)])
    target = np.where(indicators(y, classes) > 0, 1.0, -1.0 / (k - 1))

    def step(y, raw):
        return y / k * np.exp(-(y @ raw) / k)

    credit = boosted(stages, filled[NEW], target[NEW], np.zeros(k), step)
    close(imp.importances_, credit.mean(axis=0))


def test_adaboost_for_regression_is_a_weighted_mean():
    """Each tree predicts alone, and counts with its weight."""
    filled = np.nan_to_num(X)
    model = AdaBoostRegressor(n_estimators=4, random_state=0)
    model.fit(filled[OLD], NUMBERS[OLD])
    new = filled[NEW]
    alone = [of_unseen(m, NUMBERS, rows=new).importances_ for m in model.estimators_]
    weights = model.estimator_weights_[: len(alone)]
    expected = np.average(alone, axis=0, weights=weights)
    close(of_unseen(model, NUMBERS, rows=new).importances_, expected)


def test_several_targets_of_libraries():
    """One importance per target; the mean over them is the importance."""
    xgb = pytest.importorskip("xgboost")
    cat = pytest.importorskip("catboost")
    boosters = [
        xgb.XGBRegressor(n_estimators=4, max_depth=2),
        cat.CatBoostRegressor(
            iterations=4,
            depth=2,
            loss_function="MultiRMSE",
            verbose=0,
            allow_writing_files=False,
        ),
    ]
    for model in boosters:
        model.fit(X[OLD], TWO[OLD])
        imp = of_unseen(model, TWO)
        assert imp.importances_per_output_.shape == (4, 2)
        np.testing.assert_allclose(
            imp.importances_, imp.importances_per_output_.mean(axis=1)
        )
    one = xgb.XGBRegressor(n_estimators=4, max_depth=2).fit(X[OLD], TWO[OLD, 1])
    both = xgb.XGBRegressor(n_estimators=4, max_depth=2).fit(X[OLD], TWO[OLD])
    np.testing.assert_allclose(
        of_unseen(both, TWO).importances_per_output_[:, 1],
        of_unseen(one, TWO[:, 1]).importances_,
        rtol=1e-6,
    )


def test_random_forests_of_libraries_are_averages():
    """Trees of one stage do not see what the others predict."""
    lgbm = pytest.importorskip("lightgbm")
    xgb = pytest.importorskip("xgboost")
    forest = lgbm.LGBMRegressor(
        n_estimators=6,
        boosting_type="rf",
        subsample=0.7,
        subsample_freq=1,
        min_child_samples=3,
        verbose=-1,
    ).fit(X[OLD], NUMBERS[OLD])
    trees = [t for (t,) in of_lightgbm(forest.booster_, 1)]
    rows = [np.arange(N)] * 6
    expected = averaged(trees, X[NEW], NUMBERS[NEW, np.newaxis], rows)
    close(of_unseen(forest, NUMBERS).importances_, expected)
    forest = xgb.XGBRFRegressor(n_estimators=6, max_depth=3).fit(X[OLD], NUMBERS[OLD])
    stage = [t for (t,) in of_xgboost(forest.get_booster(), 1)]
    credit = boosted(
        [stage],
        X[NEW],
        NUMBERS[NEW, np.newaxis],
        DoubleXGBoost(forest, None).base,
        STEPS["squared"],
    )
    close(of_unseen(forest, NUMBERS).importances_, credit.mean(axis=0))


def frame_with_categories():
    """A frame of a number, a text category and a flag, and a target."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "number": random.normal(size=2 * N),
            "colour": pd.Categorical(random.choice(["red", "blue", "green"], 2 * N)),
        }
    )
    frame.loc[::9, "colour"] = None
    y = frame["number"] + 2 * (frame["colour"] == "red")
    return frame, y.to_numpy() + random.normal(size=2 * N) / 3


def test_categories_by_name():
    """The same as categories by number, in every library that takes names."""
    frame, y = frame_with_categories()
    codes = frame.assign(colour=frame["colour"].cat.codes.replace(-1, np.nan))
    xgb = pytest.importorskip("xgboost")
    lgbm = pytest.importorskip("lightgbm")
    small = {"min_child_samples": 3, "n_estimators": 4, "verbose": -1}
    pairs = [
        (
            xgb.XGBRegressor(n_estimators=4, enable_categorical=True),
            xgb.XGBRegressor(
                n_estimators=4, enable_categorical=True, feature_types=["q", "c"]
            ),
            {},
        ),
        (
            lgbm.LGBMRegressor(**small),
            lgbm.LGBMRegressor(**small),
            {"categorical_feature": [1]},
        ),
        (
            HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3),
            HistGradientBoostingRegressor(
                max_iter=4, min_samples_leaf=3, categorical_features=[1]
            ),
            {},
        ),
    ]
    for named, numbered, fit in pairs:
        if isinstance(named, HistGradientBoostingRegressor):
            named.set_params(categorical_features="from_dtype")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named.fit(frame[OLD], y[OLD])
            numbered.fit(codes.to_numpy()[OLD], y[OLD], **fit)
        first = of_unseen(named, y, rows=frame[NEW])
        second = of_unseen(numbered, y, rows=codes.to_numpy()[NEW])
        np.testing.assert_allclose(first.importances_, second.importances_, rtol=1e-6)
        assert first.features_ == ["number", "colour"]
        assert first.importances_.min() > 0.05


MODELS = {
    "forest": RandomForestClassifier(**FEW),
    "boosting": HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
}


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions(name):
    """A row of weight 3 is three rows of the importances, one of weight 0 none."""
    model = MODELS[name].fit(X[OLD], LABELS[OLD])
    weighted = of_unseen(model, LABELS, WEIGHTS, keep_rows=True)
    again = np.repeat(np.arange(N), WEIGHTS.astype(int))
    repeated = ImpurityImportance(rows="unseen")
    repeated.fit(model, X[NEW][again], LABELS[NEW][again])
    np.testing.assert_allclose(weighted.importances_, repeated.importances_)
    nothing = WEIGHTS == 0
    errors = standard_error(weighted.influences_, WEIGHTS)
    np.testing.assert_allclose(weighted.standard_errors_, errors)
    assert np.all(np.isnan(weighted.influences_[nothing]))
    assert np.all(weighted.row_importances_[nothing] == 0)
    assert not np.any(np.isnan(weighted.influences_[~nothing]))


@pytest.mark.parametrize("rows", ["oob", "unseen"])
def test_rows_that_are_kept(rows):
    """Contributions average to the importances, influences to 0."""
    model = RandomForestRegressor(**FEW).fit(X[OLD], NUMBERS[OLD])
    part = OLD if rows == "oob" else NEW
    imp = ImpurityImportance(rows=rows, keep_rows=True)
    imp.fit(model, X[part], NUMBERS[part])
    np.testing.assert_allclose(imp.row_importances_.mean(axis=0), imp.importances_)
    np.testing.assert_allclose(
        imp.influences_.mean(axis=0),
        0.0,
        atol=roundoff(len(imp.influences_), imp.influences_),
    )
    errors = standard_error(imp.influences_)
    np.testing.assert_allclose(imp.standard_errors_, errors)
    plain = ImpurityImportance(rows=rows).fit(model, X[part], NUMBERS[part])
    assert not hasattr(plain, "influences_")
    assert imp.interval()["feature"].tolist() == imp.to_frame()["feature"].tolist()


def test_influences_are_derivatives_by_weights():
    """Of the importances, out of bag too, where each tree has its own mean."""
    model = RandomForestRegressor(**FEW, max_depth=4).fit(X[OLD], NUMBERS[OLD])
    imp = ImpurityImportance(rows="unseen", keep_rows=True)
    imp.fit(model, X[NEW], NUMBERS[NEW])
    for i in (0, 7, 31):
        weights = np.full(N, 1.0)
        weights[i] += 1e-4
        moved = of_unseen(model, NUMBERS, weights).importances_
        slope = (moved - imp.importances_) / 1e-4 * N
        np.testing.assert_allclose(slope, imp.influences_[i], rtol=1e-3, atol=1e-5)


def test_noise_comes_out_below_nothing():
    """Negative importances stand, also in the ranking, the frame and the plot."""
    random = np.random.default_rng(0)
    data = random.normal(size=(300, 4))
    y = data[:, 0] + random.normal(size=300)
    forest = RandomForestRegressor(random_state=0).fit(data, y)
    imp = ImpurityImportance(rows="oob").fit(forest, data, y)
    assert imp.importances_.min() < 0
    assert imp.ranking_[imp.importances_.argmin()] == 4
    assert imp.to_frame()["importance"].iloc[-1] == imp.importances_.min()
    low, high = imp.plot().ax_.get_xlim()
    assert low < imp.importances_.min()
    assert high > imp.importances_.max()


@pytest.mark.parametrize("rows", ["oob", "unseen"])
def test_trees_without_a_split(rows):
    """A column of one value earns nothing."""
    data, y = np.ones((8, 1)), np.arange(8.0)
    forest = RandomForestRegressor(5, random_state=0).fit(data, y)
    imp = ImpurityImportance(rows=rows, keep_rows=True).fit(forest, data, y)
    assert imp.importances_.tolist() == imp.standard_errors_.tolist() == [0.0]
    assert not imp.influences_.any()


@pytest.mark.parametrize("rows", ["oob", "unseen"])
def test_selectors(rows):
    """The rows that a fit was given serve out of bag, others those held out."""
    random = np.random.default_rng(0)
    data = random.normal(size=(300, 5))
    y = data[:, 0] + data[:, 1] + random.normal(size=300) / 2
    forest = RandomForestRegressor(30, random_state=0)
    measure = ImpurityImportance(rows=rows)
    selector = BackwardEliminationSelector(forest, measure, random_state=0)
    selector.fit(data, y)
    assert selector.support_[:2].all()
    assert selector.support_.sum() < 5
    wrapped = ImportanceEstimator(forest, ImpurityImportance(rows="oob"))
    chosen = SelectFromModel(wrapped, max_features=2).fit(data, y).get_support()
    assert chosen.tolist() == [True, True, False, False, False]
    hist = ImportanceEstimator(
        HistGradientBoostingRegressor(max_iter=20), ImpurityImportance(rows="unseen")
    ).fit(data, y)
    assert hist.feature_importances_[:2].min() > hist.feature_importances_[2:].max()


def test_side_by_side():
    """With another measure, for models of two libraries."""
    lgbm = pytest.importorskip("lightgbm")
    models = {
        "forest": RandomForestRegressor(**FEW).fit(X[OLD], NUMBERS[OLD]),
        "boosting": lgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(
            X[OLD], NUMBERS[OLD]
        ),
    }
    measure = ImpurityImportance(rows="unseen")
    table = compare_importances(models, X[NEW], NUMBERS[NEW], measure)
    own = of_unseen(models["boosting"], NUMBERS).importances_
    found = table.results["boosting", "ImpurityImportance"].importances
    np.testing.assert_array_equal(found, own)


FOREST = RandomForestRegressor(**FEW).fit(X[OLD], NUMBERS[OLD])


@pytest.mark.parametrize(
    ("options", "model", "data", "error", "match"),
    [
        ({"rows": "unseen"}, FOREST, (X, None), ValueError, "got y=None"),
        ({"rows": "oob"}, FOREST, (None, None), ValueError,
         says("rows='oob' … X and y, got X=None")),
        ({"rows": "unseen", "criterion": "mse"}, FOREST, (X, NUMBERS), ValueError,
         "`criterion` is for rows='training'"),
        ({"rows": "oob", "surrogates": True}, FOREST, (X, NUMBERS), ValueError,
         "`surrogates` is for"),
        ({"keep_rows": True}, FOREST, (X, NUMBERS), ValueError, "keep_rows=True needs"),
        ({"rows": "oob"}, FOREST, (X, NUMBERS), ValueError,
         says("X … training data … the estimator was fitted with")),
        ({"rows": "oob"}, FOREST, (X[OLD][::-1], NUMBERS[OLD]), ValueError,
         says("X … training data … the estimator was fitted with")),
        ({"rows": "oob"}, DecisionTreeRegressor().fit(X, NUMBERS), (X, NUMBERS),
         ValueError, says("rows='oob' … got DecisionTreeRegressor … rows='unseen'")),
        ({"rows": "oob"}, ExtraTreesRegressor(**FEW).fit(X, NUMBERS), (X, NUMBERS),
         ValueError, "needs bootstrap=True"),
        ({"rows": "unseen"}, Ridge().fit(X[:, :1], NUMBERS), (X[:, :1], NUMBERS),
         TypeError, "got Ridge"),
        ({"rows": "unseen"}, IsolationForest(n_estimators=3).fit(X), (X, NUMBERS),
         TypeError, "got IsolationForest"),
        ({"rows": "unseen"}, FOREST, (X, TWO), ValueError, "y has 2 columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_refused(options, model, data, error, match):
    """Before any work, with what to do."""
    with pytest.raises(error, match=match):
        ImpurityImportance(**options).fit(model, *data)


def test_losses_of_several_rows_are_refused():
    """Ranking and survival have no loss of single rows."""
    xgb = pytest.importorskip("xgboost")
    model = xgb.XGBRegressor(n_estimators=2, objective="survival:cox")
    model.fit(X[OLD], np.exp(NUMBERS[OLD]))
    with pytest.raises(ValueError, match="survival:cox"):
        of_unseen(model, NUMBERS)


def test_trees_that_never_split():
    """All importances are 0, and so are their errors."""
    flat = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=N)
    flat.fit(X[OLD], NUMBERS[OLD])
    imp = of_unseen(flat, NUMBERS)
    assert np.all(imp.importances_ == 0)
    assert np.all(imp.standard_errors_ == 0)
