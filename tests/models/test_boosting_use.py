"""Boosting libraries in use: what is asked of the models themselves, native models."""

import json

import numpy as np
import pandas as pd
import pytest
from boosting_checks import declined, fitted, library_of
from boosting_models import CASES, CAT, LGBM, XGB, data, frame, half_zeros, three, two
from messages import says
from scipy.sparse import csr_array
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    FIRMImportance,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    leave_out_importances,
)
from skvarimp.exceptions import ResponseWarning


def test_what_lightgbm_models_decline_for():
    """Each with its reason."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()
    lines = lgbm.LGBMRegressor(**LGBM, linear_tree=True).fit(X, y)
    assert "linear_tree" in declined(lines, X)
    stops = lgbm.LGBMClassifier(**LGBM, pred_early_stop=True).fit(X, two(y))
    assert "pred_early_stop" in declined(stops, X)
    zeros = lgbm.LGBMRegressor(**LGBM, zero_as_missing=True).fit(X, y)
    assert "zero_as_missing" in declined(zeros, X)
    roots = lgbm.LGBMRegressor(**LGBM, reg_sqrt=True).fit(X, y)
    assert "no known function" in declined(roots, X)


def test_what_catboost_models_decline_for():
    """Each with its reason."""
    cat = library_of("catboost")
    X, y = frame()
    model = cat.CatBoostRegressor(**CAT, cat_features=[1, 2]).fit(X, y)
    assert "OnlineCtr" in declined(model, X)
    X, y = half_zeros()
    model = cat.CatBoostRegressor(**CAT, loss_function="RMSEWithUncertainty")
    assert "no known function" in declined(model.fit(X, y), X)
    texts = pd.DataFrame({"a": ["one two", "two", "three one"] * 20, "b": X[:, 0]})
    model = cat.CatBoostClassifier(**CAT, text_features=["a"]).fit(texts, y > 0)
    assert (
        "black box" in SensitivityImportance().fit(model, texts, y > 0).response_path_
    )


def test_one_against_the_rest_has_one_target():
    """CatBoost predicts its classes as one column; probabilities do not sum to 1."""
    cat = library_of("catboost")
    X, y = half_zeros()
    y = np.array(["low", "mid", "high"])[three(y)]
    model = cat.CatBoostClassifier(**CAT, loss_function="MultiClassOneVsAll").fit(X, y)
    assert model.predict(X).shape == (60, 1)
    classes = model.classes_.tolist()
    for measure in (SensitivityImportance(), FIRMImportance()):
        assert measure.fit(model, X, y).output_names_ == classes
    imp = PermutationImportance().fit(model, X, y)
    assert imp.output_names_ == ["log_loss"]
    moved = X.repeat(60, axis=0)
    moved[:, 1] = np.tile(X[:, 1], 60)
    own = np.array([classes.index(label) for label in y])

    def loss(X, own):
        return -np.log(model.predict_proba(X)[np.arange(len(own)), own]).mean()

    expected = loss(moved, own.repeat(60)) - loss(X, own)
    assert imp.importances_[1] == pytest.approx(expected, rel=1e-9)
    refitted = leave_out_importances(model, X, y, features=[1], cv=2)
    assert np.isfinite(refitted.importances).all()


def test_losses_whose_steps_are_not_known():
    """The splits earn nothing, and the reason says no more than that."""
    cat = library_of("catboost")
    X, y = half_zeros()
    for loss, name in [
        ("Lq:q=3", "Lq"),
        ("MultiQuantile:alpha=0.1,0.9", "quantile at several levels"),
    ]:
        model = cat.CatBoostRegressor(**CAT, loss_function=loss).fit(X, y)
        with pytest.raises(
            ValueError, match=f"residuals of the loss {name} are not known"
        ):
            ImpurityImportance(rows="unseen").fit(model, X, y)


def test_subclasses_and_replaced_methods_are_asked_themselves():
    """Never another estimand."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()

    class Squared(lgbm.LGBMRegressor):
        def predict(self, X, **options):
            return super().predict(X, **options) ** 2

    assert "no fast response" in declined(Squared(**LGBM).fit(X, y), X)
    model = lgbm.LGBMRegressor(**LGBM).fit(X, y)
    model.predict = lambda X: np.ones(len(X))
    assert "replaced" in declined(model, X)


def test_a_version_that_writes_otherwise(monkeypatch):
    """What is missed in the file is the reason; importances come all the same."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(X, y)
    expected = SensitivityImportance().fit(model, X, y)
    content = json.loads(bytes(model.get_booster().save_raw("json")))
    del content["learner"]["gradient_booster"]["model"]["tree_info"]
    changed = json.dumps(content).encode()
    monkeypatch.setattr(xgb.Booster, "save_raw", lambda *_: bytearray(changed))
    with pytest.warns(
        ResponseWarning, match=says("XGBRegressor … KeyError … black box")
    ):
        measure = SensitivityImportance(estimation="exact").fit(model, X, y)
    assert "reading it failed: KeyError: 'tree_info'" in measure.response_path_
    np.testing.assert_allclose(
        measure.importances_, expected.importances_, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ["squares", "logistic", "3 classes"])
def test_native_booster_and_wrapper_agree(name):
    """A Booster is given rows; every measure takes it."""
    xgb = library_of("xgboost")
    X, y = data()
    target = {"squares": y, "logistic": (y > 0).astype(int), "3 classes": three(y)}
    kind = xgb.XGBRegressor if name == "squares" else xgb.XGBClassifier
    model = kind(**XGB).fit(X, target[name])
    for measure in (
        SensitivityImportance(scale=None),
        PartialDependenceImportance(),
    ):
        own = measure.fit(model, X).importances_per_output_
        native = measure.fit(model.get_booster(), X).importances_per_output_
        np.testing.assert_allclose(own, native, rtol=1e-12)
        assert measure.response_path_.startswith("trees")


def test_permutation_importance_of_native_boosters():
    """Scored by the response that they return."""
    X, y = half_zeros()
    xgb, lgbm = library_of("xgboost"), library_of("lightgbm")
    for wrapper in (xgb.XGBRegressor(**XGB), lgbm.LGBMRegressor(**LGBM)):
        wrapper.fit(X, y)
        booster = getattr(wrapper, "booster_", None) or wrapper.get_booster()
        own = PermutationImportance().fit(wrapper, X, y)
        native = PermutationImportance().fit(booster, X, y)
        np.testing.assert_allclose(own.importances_, native.importances_, rtol=1e-9)


def test_rows_in_a_containers_of_a_library_are_refused():
    """Such a container gives its rows back to nobody."""
    xgb, lgbm = library_of("xgboost"), library_of("lightgbm")
    cat = library_of("catboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(X, y)
    for container in (xgb.DMatrix(X), lgbm.Dataset(X), cat.Pool(X)):
        with pytest.raises(ValueError, match=r"of type \w+\. Pass an array or a frame"):
            SensitivityImportance().fit(model, container, y)


@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_inside_other_estimators(library):
    """Pipelines, votes and transformed targets; XGBoost's rounding is allowed for."""
    module = library_of(library)
    X, y = half_zeros()
    kind, small = module.__dict__, {"xgboost": XGB, "catboost": CAT}[library]
    kind = kind["XGBRegressor" if library == "xgboost" else "CatBoostRegressor"]
    models = [
        make_pipeline(StandardScaler(), kind(**small)),
        VotingRegressor([("a", kind(**small)), ("b", LinearRegression())]),
        TransformedTargetRegressor(kind(**small), func=np.log, inverse_func=np.exp),
    ]
    for model in models:
        model.fit(X, np.exp(y))
        measure = SensitivityImportance(scale=None, estimation="exact").fit(model, X)
        assert "trees" in measure.response_path_
        asked = SensitivityImportance(scale=None, estimation="exact")
        asked.fit(model.predict, X)
        np.testing.assert_allclose(
            measure.importances_, asked.importances_, rtol=1e-4, atol=1e-6
        )


def test_workers_read_categories():
    """What a response keeps of CatBoost is sent to other processes."""
    cat = library_of("catboost")
    X, y = frame()
    model = cat.CatBoostRegressor(**CAT, cat_features=[1, 2, 3], one_hot_max_size=9)
    model.fit(X, y)
    one = SensitivityImportance().fit(model, X, y)
    two_jobs = SensitivityImportance(n_jobs=2).fit(model, X, y)
    assert one.response_path_.startswith("trees")
    np.testing.assert_allclose(two_jobs.importances_, one.importances_, rtol=1e-12)


@pytest.mark.parametrize("library", CASES)
def test_impurity_importance_names_what_to_use(library):
    """Their trees hold no impurity that could be read."""
    model, X, _ = fitted(library, "squares")
    name = type(model).__name__
    with pytest.raises(TypeError, match=f"got {name}. Use SensitivityImportance"):
        ImpurityImportance().fit(model, X)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_booster_is_told_what_stands_for_missing_values(sparse):
    """The number given to `DMatrix` is kept by no Booster, but as an attribute."""
    xgb = pytest.importorskip("xgboost")
    random = np.random.default_rng(0)
    X = np.round(random.standard_normal((80, 3)), 1)
    y = X[:, 0] + np.abs(X[:, 1])
    X[random.random((80, 3)) < 0.2] = -9.0
    data = csr_array(X) if sparse else X
    params = {"max_depth": 3, "seed": 0}
    booster = xgb.train(params, xgb.DMatrix(data, y, missing=-9.0), 10)

    def model(X):
        return booster.predict(xgb.DMatrix(X, missing=-9.0))

    imp = SensitivityImportance(scale=None, contrast="observed", estimation="exact")
    expected = imp.fit(model, data).importances_
    assert not np.allclose(imp.fit(booster, data).importances_, expected)
    booster.set_attr(missing=-9.0)
    found = imp.fit(booster, data)
    np.testing.assert_allclose(found.importances_, expected, rtol=1e-5)
