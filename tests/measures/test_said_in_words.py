"""Messages that say what to do, and what is shown of unusual numbers."""

import types
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from messages import says
from notebook_bars import bars_behind
from roundoff import roundoff
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import skvarimp
from skvarimp import (
    CoefficientImportance,
    FilterImportance,
    FIRMImportance,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    importance_across_folds,
)
from skvarimp._running.guards import code_down_to_the_user

random = np.random.default_rng(0)
FRAME = pd.DataFrame(random.normal(size=(50, 3)), columns=list("abc")).round()
Y = FRAME["a"].to_numpy() + random.normal(size=50)
BY_NAME = ColumnTransformer(
    [("n", StandardScaler(), ["a", "c"]), ("o", OneHotEncoder(), ["b"])]
)
PIPELINES = {
    "columns": make_pipeline(BY_NAME, LinearRegression()).fit(FRAME, Y),
    "function": make_pipeline(
        FunctionTransformer(lambda d: d[["a", "b"]]), LinearRegression()
    ).fit(FRAME, Y),
}


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(),
        PermutationImportance(),
        FIRMImportance(),
        CoefficientImportance(statistic="absolute"),
    ],
    ids=str,
)
def test_arrays_for_pipelines_of_frames(measure):
    """`feature_names` names columns for us, not for the model."""
    with pytest.raises(
        ValueError,
        match=says("['a', 'b', 'c'] … ndarray … pandas.DataFrame(X, columns=names)"),
    ):
        measure.fit(
            PIPELINES["columns"], FRAME.to_numpy(), Y, feature_names=list("abc")
        )
    assert measure.fit(PIPELINES["columns"], FRAME, Y).importances_[0] > 0


def test_arrays_for_steps_of_frames():
    """Whatever error the step raises."""
    with pytest.raises(ValueError, match="Pass a frame, such as"):
        SensitivityImportance().fit(PIPELINES["function"], FRAME.to_numpy(), Y)


def test_code_beside_the_package_is_the_users():
    """A folder whose name begins with the package's is not the package."""
    folder = skvarimp.__path__[0]
    found = {}
    for name in (f"{folder}_of_a_user/code.py", f"{folder}/code.py"):
        module = types.ModuleType("code")
        source = "ask = lambda of: of()"
        exec(compile(source, name, "exec"), module.__dict__)
        found[name] = module.ask(code_down_to_the_user)[-1].co_filename == name
    assert list(found.values()) == [True, False]


def test_infinite_scores_are_drawn():
    """A bar that ends where the picture does, beside finite ones."""
    y = np.array([0, 1, 0, 1, 0, 1])
    X = np.column_stack([y, np.arange(6.0), y + 0.1 * np.arange(6)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # F divides by 0
        found = FilterImportance().fit(None, X, y)
        expected = f_classif(X, y)[0]
    np.testing.assert_array_equal(found.importances_, expected)
    assert np.isinf(expected[0])
    (drawn,) = bars_behind(found).values()
    np.testing.assert_array_equal(drawn[0], expected)
    assert found.plot().bars_ is not None


@pytest.mark.parametrize(
    ("measure", "signed"),
    [
        (ShapleyImportance(loss="squared_error", random_state=0), True),
        (ImpurityImportance(rows="unseen"), True),
        (PermutationImportance(), True),
        (ShapleyImportance(random_state=0), False),
        (SensitivityImportance(), False),
    ],
    ids=str,
)
def test_which_measures_test_that_a_column_tells_nothing(measure, signed):
    """Across folds, as on one test sample."""
    X = FRAME.to_numpy()
    found = importance_across_folds(
        RandomForestRegressor(3, max_depth=2, random_state=0), X, Y, measure, cv=3
    )
    if not signed:
        with pytest.raises(ValueError, match="no p-value"):
            found.pvalues()
        return
    p = found.pvalues()
    assert np.all((p > 0) & (p <= 1))
    assert p[0] < 0.05


@pytest.mark.parametrize("name", ["top", "max_display"])
def test_other_names_of_parameters(name):
    """Those that other libraries have."""
    found = SensitivityImportance().fit(LinearRegression().fit(FRAME, Y), FRAME, Y)
    with pytest.raises(TypeError, match=f"no parameter '{name}'. Use max_features=2"):
        found.plot(**{name: 2})


class Bare:
    """A model with `predict` and nothing else."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


class OfTorch:
    """The base of all modules of torch, by its name: torch is not among our tests."""

    __module__ = "torch.nn.modules.module"


class Module(OfTorch):
    """What a raw module is to us: a callable that fails on what is no tensor."""

    def __call__(self, X):
        raise TypeError("linear(): argument 'input' must be Tensor")


def mean_error(y, predicted):
    """One number for all rows."""
    return np.mean((y - predicted) ** 2)


@pytest.mark.parametrize(
    ("measure", "model", "words"),
    [
        (
            PermutationImportance(scoring="score"),
            Bare(),
            says("scoring='score' … `score` … Bare … `loss`"),
        ),
        (SensitivityImportance(), Module(), r"Module takes tensors .*torch.as_tensor"),
        (
            PermutationImportance(loss=mean_error),
            Bare(),
            r"scoring=make_scorer\(mean_error, greater_is_better=False\)",
        ),
    ],
    ids=["score", "torch", "metric"],
)
def test_models_and_metrics_of_another_kind(measure, model, words):
    """The message says what to pass."""
    with pytest.raises((TypeError, ValueError), match=words):
        measure.fit(model, FRAME, Y)


def test_losses_that_look_beside_y():
    """They are told that y is repeated beside moved rows."""
    amounts = np.arange(50.0)

    def weighed(y, predicted):
        return amounts * (y - predicted) ** 2

    with pytest.raises(ValueError, match="broadcast") as caught:
        PermutationImportance(loss=weighed).fit(Bare(), FRAME, Y)
    (note,) = caught.value.__notes__
    assert "in which y is repeated" in note


def test_weights_of_pipelines_are_routed_as_the_message_says():
    """The step and the measure request them; then both are weighted."""
    weights = np.arange(1.0, 51.0)
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    given = {"measure": PermutationImportance(), "cv": 3, "sample_weight": weights}
    words = r"`linearregression` requests it as LinearRegression\(\).set_fit_request"
    with pytest.raises(ValueError, match=words):
        importance_across_folds(pipeline, FRAME, Y, **given)
    with sklearn.config_context(enable_metadata_routing=True):
        step = LinearRegression().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), step
        )
        given["measure"] = given["measure"].set_fit_request(sample_weight=True)
        routed = importance_across_folds(pipeline, FRAME, Y, **given)
    plain = importance_across_folds(LinearRegression(), FRAME, Y, **given)
    largest = np.abs(plain.by_fold).max()
    np.testing.assert_allclose(
        routed.by_fold, plain.by_fold, atol=roundoff(50, largest)
    )


def test_a_comparison_names_its_parameter():
    """Other libraries call it `top` or `max_display`."""
    table = skvarimp.compare_importances(
        Bare(), FRAME, Y, ["sensitivity", "permutation"]
    )
    with pytest.raises(TypeError, match=r"no parameter 'top'. Use max_features=2"):
        table.plot(top=2)
