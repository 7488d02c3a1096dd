"""Messages that say what to do, and what is shown of unusual numbers."""

import re
import types
import warnings

import numpy as np
import pandas as pd
import pytest
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
    with pytest.raises(ValueError, match=r"fitted on a frame .* Pass a frame, such as"):
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
    page = found._repr_html_()
    widths = re.findall(r'class="bar" style="left: 0.0%; width: ([^%]+)%', page)
    shares = [100.0, 100.0, 100.0 * expected[1] / expected[2]]
    np.testing.assert_allclose(np.array(widths, dtype=float), shares, atol=0.05)
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
        with pytest.raises(ValueError, match="positive even for a column"):
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
