"""Published figures: MATLAB's two examples, R's rpart on Boston housing."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from skvarimp import ImpurityImportance

HERE = Path(__file__).parents[1]
MATLAB = json.loads(
    (HERE / "reference_values/matlab_predictor_importance.json").read_text()
)
RPART = json.loads((HERE / "reference_values/rpart_boston.json").read_text())


@pytest.fixture(scope="module")
def reproduced():
    """Both examples of the document, computed by the reproduction's own code."""
    path = HERE.parent / "benchmarks/reproductions/matlab_fisheriris.py"
    spec = importlib.util.spec_from_file_location("matlab_fisheriris", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(
        zip(
            ("importance", "importance_with_surrogates", "association"),
            module.reproduce(),
        )
    )


@pytest.mark.parametrize(
    "name", ["importance", "importance_with_surrogates", "association"]
)
def test_matlab_figures(reproduced, name):
    """All 24 printed figures, to their four decimals."""
    np.testing.assert_allclose(
        reproduced[name], MATLAB[name], rtol=0, atol=MATLAB["half_unit"]
    )


@pytest.fixture(scope="module")
def boston():
    """Names, X and y from the directory with the data sets."""
    path = Path(os.environ.get("SKVARIMP_DATA", "")) / "boston_numeric.csv"
    if not path.is_file():
        pytest.skip("boston_numeric.csv is read from the directory SKVARIMP_DATA")
    with path.open() as lines:
        names = lines.readline().strip().split(",")
        values = np.loadtxt(lines, delimiter=",")
    return names[:-1], values[:, :-1], values[:, -1]


def test_rpart_surrogates(boston):
    """Root split, and the six surrogates with their adjusted agreement."""
    names, X, y = boston
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    primary = RPART["primary"]
    assert names[tree.tree_.feature[0]] == primary["feature"]
    assert tree.tree_.threshold[0] == pytest.approx(
        primary["threshold"], abs=primary["half_unit"]
    )
    imp = ImpurityImportance(surrogates=True, convention="rpart").fit(tree, X, y)
    splits = imp.surrogate_splits_
    assert [names[j] for j in splits["feature"]] == [
        surrogate["feature"] for surrogate in RPART["surrogates"]
    ]
    for split, surrogate in zip(splits, RPART["surrogates"]):
        assert split["threshold"] == pytest.approx(
            surrogate["threshold"], abs=surrogate["half_unit"]
        )
        assert split["association"] == pytest.approx(
            surrogate["adj"], abs=RPART["adj_half_unit"]
        )


def test_rpart_variable_importance(boston):
    """The primary's sum of squares, and each surrogate's `adj` times it."""
    names, X, y = boston
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    left = (
        X[:, names.index(RPART["primary"]["feature"])] < RPART["primary"]["threshold"]
    )
    improvement = sum_of_squares(y) - sum_of_squares(y[left]) - sum_of_squares(y[~left])
    expected = dict.fromkeys(names, 0.0)
    expected[RPART["primary"]["feature"]] = improvement
    for surrogate in RPART["surrogates"]:
        expected[surrogate["feature"]] = improvement * surrogate["adj"]
    imp = ImpurityImportance(surrogates=True, convention="rpart").fit(tree, X, y)
    np.testing.assert_allclose(
        imp.importances_,
        list(expected.values()),
        rtol=1e-9,
        atol=improvement * RPART["adj_half_unit"],
    )


def sum_of_squares(y):
    """About the mean."""
    return np.sum((y - y.mean()) ** 2)
