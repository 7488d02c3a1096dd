"""A class that no row has: importances are means over the others."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier

from skvarimp import (
    SensitivityImportance,
    ShapleyImportance,
    importance_across_folds,
)
from skvarimp.exceptions import ImportanceWarning

random = np.random.default_rng(0)
X = random.normal(size=(150, 3))
Y = np.array(["common", "other", "rare"])[np.digitize(X[:, 0] + X[:, 1], [0.0, 1.8])]
SEEN = Y != "rare"
MODELS = {
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "linear": LogisticRegression(),
    "black box": KNeighborsClassifier(),
}
SAID = "The class 'rare' is that of no row or of all: importances are means over the"


def spread(indicator):
    """Mean absolute difference of two rows."""
    return np.abs(indicator[:, np.newaxis] - indicator).mean()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("keep_rows", [False, True])
def test_sensitivity(model, keep_rows):
    """By hand: what probabilities move by, over what indicators differ by."""
    model = clone(MODELS[model]).fit(X, Y)
    how = {"estimation": "exact", "keep_rows": keep_rows}
    moved = SensitivityImportance(scale=None, **how).fit(model, X[SEEN])
    scale = [spread((Y[SEEN] == name) * 1.0) for name in ("common", "other")]
    expected = moved.importances_per_output_[:, :2] / scale
    found = SensitivityImportance(**how)
    with pytest.warns(ImportanceWarning, match=SAID):
        found.fit(model, X[SEEN], Y[SEEN])
    np.testing.assert_allclose(found.importances_per_output_[:, :2], expected)
    assert np.isnan(found.importances_per_output_[:, 2]).all()
    np.testing.assert_allclose(found.importances_, expected.mean(axis=1))
    np.testing.assert_allclose(found.scale_, [*scale, np.nan])
    assert np.all(found.standard_errors_ > 0)
    if keep_rows:
        errors = np.sqrt(np.sum(found.influences_**2, axis=0)) / SEEN.sum()
        errors *= np.sqrt(SEEN.sum() / (SEEN.sum() - 1))
        np.testing.assert_allclose(found.standard_errors_, errors)


def test_shares_of_what_is_explained():
    """They sum to the mean R^2 of the classes that are there."""
    model = clone(MODELS["forest"]).fit(X, Y)
    found = ShapleyImportance(loss="brier", random_state=0)
    with pytest.warns(ImportanceWarning, match=SAID):
        found.fit(model, X[SEEN], Y[SEEN])
    target = np.array([Y[SEEN] == name for name in ("common", "other")]) * 1.0
    outputs = model.predict_proba(X[SEEN]).T[:2]
    means = outputs.mean(axis=1, keepdims=True)
    gained = (target - means) ** 2 - (target - outputs) ** 2
    expected = np.mean(gained.mean(axis=1) / target.var(axis=1))
    assert found.total_ == pytest.approx(expected, rel=1e-9)
    assert np.isnan(found.importances_per_output_[:, 2]).all()


def test_folds():
    """One warning, and numbers of all folds."""
    places = np.arange(150)
    fold = np.where(SEEN, places % 3, places % 2)  # the last has no rare rows
    measure = SensitivityImportance(estimation="exact")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = importance_across_folds(
            MODELS["forest"], X, Y, measure, cv=PredefinedSplit(fold)
        )
    assert sum(SAID in str(one.message) for one in said) == 1
    assert np.all(found.importances > 0)
    rare = found.by_fold_per_output[:, :, 2]
    expected = np.average(rare[:2], axis=0, weights=np.bincount(fold)[:2])
    np.testing.assert_allclose(found.per_output[:, 2], expected)
    assert np.isnan(rare).all(axis=1).tolist() == [False, False, True]


def test_all_rows_of_one_class():
    """Then nothing is left."""
    model = clone(MODELS["forest"]).fit(X, Y)
    rows = Y == "common"
    with pytest.raises(ValueError, match="constant, so scale='auto' is 0"):
        SensitivityImportance().fit(model, X[rows], Y[rows])
