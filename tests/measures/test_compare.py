"""`compare_importances`: one table, one walk."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import (
    InteractionImportance,
    SensitivityImportance,
    compare_importances,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:50, :4], Y[:50]
MODELS = {"ridge": Ridge(0.1).fit(X, Y), "knn": KNeighborsRegressor(3).fit(X, Y)}
MEASURES = {
    "pairs": SensitivityImportance(random_state=0),
    "observed": SensitivityImportance(contrast="observed", random_state=0),
    "group": SensitivityImportance(
        features={"age": 0, "rest": [1, 2, 3]}, random_state=0
    ),
}


def test_equals_separate_fits():
    """Sharing a walk changes no number; measures given are not fitted."""
    table = compare_importances(MODELS, X, Y, MEASURES)
    assert table.index.name == "feature"
    assert sorted(table.index[:4]) == ["age", "bmi", "bp", "sex"]
    assert table.index[4] == "rest"
    first = table.iloc[:4, 0]
    assert first.is_monotonic_decreasing
    assert not any(" " in column for column in table.columns)
    for name, model in MODELS.items():
        for label, measure in MEASURES.items():
            alone = SensitivityImportance(**measure.get_params()).fit(model, X, Y)
            of_features = table.loc[alone.features_]
            for what, expected in (
                ("", alone.importances_),
                ("/standard_error", alone.standard_errors_),
                ("/rank", alone.ranking_),
            ):
                column = of_features[f"{name}/{label}{what}"]
                np.testing.assert_allclose(column, expected, rtol=1e-12)
            assert table[f"{name}/{label}"].notna().sum() == len(of_features)
            assert f"{name}/{label}" in table.fitted
    assert not hasattr(MEASURES["pairs"], "importances_")


def test_measures_share_one_walk(monkeypatch):
    """Two contrasts on one model ask it once for each moved row."""
    asked = []

    def model(X):
        asked.append(len(X))
        return np.asarray(X)[:, 0]

    measures = [
        SensitivityImportance(scale=None, estimation="exact"),
        SensitivityImportance(contrast="observed", estimation="exact"),
    ]
    table = compare_importances(model, X.to_numpy(), None, measures)
    assert list(table.columns[::3]) == [
        "model/SensitivityImportance_1",
        "model/SensitivityImportance_2",
    ]
    distinct = [X.iloc[:, j].nunique() for j in range(4)]
    assert sum(asked) == 50 + sum(50 * k - 50 for k in distinct)


class Hundredfold(SensitivityImportance):
    """A measure whose `fit` does more than its parent's."""

    def fit(self, estimator, X, y=None, *, sample_weight=None):
        """Multiply by a hundred."""
        super().fit(estimator, X, y, sample_weight=sample_weight)
        self.importances_ = 100 * self.importances_
        return self


def test_own_fit_of_a_subclass():
    """A subclass that overrides `fit` is fitted by it, beside one that shares."""
    measures = {"own": Hundredfold(), "plain": SensitivityImportance()}
    table = compare_importances(MODELS["ridge"], X, Y, measures)
    expected = 100 * table["Ridge/plain"]
    np.testing.assert_allclose(table["Ridge/own"], expected, rtol=1e-12)


def test_labels_and_bad_input():
    """Lists take class names, numbered where they repeat."""
    table = compare_importances([Ridge().fit(X, Y), Ridge(2).fit(X, Y)], X, Y)
    assert list(table.columns[::3]) == [
        "Ridge_1/SensitivityImportance",
        "Ridge_2/SensitivityImportance",
    ]
    measures = {"c": SensitivityImportance(), "b/c": SensitivityImportance()}
    models = {"a/b": MODELS["ridge"], "a": MODELS["ridge"]}
    with pytest.raises(ValueError, match="both called 'a/b/c'"):
        compare_importances(models, X, Y, measures)
    with pytest.raises(ValueError, match="`estimators` is empty"):
        compare_importances({}, X, Y)
    with pytest.raises(TypeError, match="instances of measures"):
        compare_importances(MODELS, X, Y, [3])
    with pytest.raises(ValueError, match=r"names no measure: 'pairs'.*'sensitivity'"):
        compare_importances(MODELS, X, Y, ["pairs"])
    named = compare_importances(MODELS, X, Y, ["sensitivity", "permutation"])
    assert list(named.columns[:4:3]) == ["ridge/sensitivity", "ridge/permutation"]
    with pytest.raises(ValueError, match="was fitted with 4"):
        compare_importances(Lasso().fit(X, Y), X.iloc[:, :2], Y)


def test_one_number_for_all_features_is_refused():
    """h_total has no features to compare; refused before any work."""

    def model(X):
        raise AssertionError("was called")

    measures = [SensitivityImportance(), InteractionImportance(statistic="h_total")]
    with pytest.raises(ValueError, match="one number for all features"):
        compare_importances(model, np.eye(3), [0.0, 1.0, 2.0], measures)
