"""`compare_importances`: one table, one walk."""

from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import SensitivityImportance, compare_importances
from skvarimp._comparing.comparison_frame import Comparison
from skvarimp._measures import response_importance
from skvarimp._response.engine import run_walk

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:50, :4], Y[:50]
MODELS = {"ridge": Ridge(0.1).fit(X, Y), "knn": KNeighborsRegressor(3).fit(X, Y)}
MEASURES = {
    "pairs": SensitivityImportance(),
    "observed": SensitivityImportance(contrast="observed"),
    "group": SensitivityImportance(features={"age": 0, "rest": [1, 2, 3]}),
}


def test_equals_separate_fits():
    """Sharing a walk changes no number; measures given are not fitted."""
    table = compare_importances(MODELS, X, Y, MEASURES)
    assert table.index.name == "entry"
    assert list(table.index) == ["age", "sex", "bmi", "bp", "rest"]
    for name, model in MODELS.items():
        for label, measure in MEASURES.items():
            alone = SensitivityImportance(**measure.get_params()).fit(model, X, Y)
            column = table[f"{name}/{label}"].dropna()
            np.testing.assert_allclose(column, alone.importances_, rtol=1e-12)
            ranks = table[f"{name}/{label} rank"].dropna()
            assert ranks.tolist() == alone.ranking_.tolist()
            assert f"{name}/{label}" in table.fitted
    assert not hasattr(MEASURES["pairs"], "importances_")


def test_measures_share_one_walk(monkeypatch):
    """Two contrasts on one model ask it once for each moved row."""
    asked = []

    def model(X):
        asked.append(len(X))
        return np.asarray(X)[:, 0]

    measures = [
        SensitivityImportance(scale=None),
        SensitivityImportance(contrast="observed"),
    ]
    table = compare_importances(model, X.to_numpy(), None, measures)
    assert list(table.columns[::2]) == [
        "model/SensitivityImportance 1",
        "model/SensitivityImportance 2",
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


def test_most_workers_of_a_shared_walk(monkeypatch):
    """The measure that asks for most workers gets them, wherever it stands."""
    used = []

    def noted(walk, n_jobs, *rest):
        used.append(n_jobs)
        return run_walk(walk, 1, *rest)

    monkeypatch.setattr(response_importance, "run_walk", noted)
    measures = [
        SensitivityImportance(),
        SensitivityImportance(contrast="observed", n_jobs=2),
        SensitivityImportance(contrast="observed", n_jobs=1),
    ]
    compare_importances(MODELS["ridge"], X, Y, measures)
    assert used == [2]


def test_many_entries():
    """The table's rows are put in order once, not once an entry."""
    n_entries = 20_000
    fitted = {
        f"model/{label}": SimpleNamespace(
            entry_names_=[f"x{j}" for j in range(first, first + n_entries)],
            importances_=np.arange(n_entries),
            ranking_=np.arange(n_entries),
        )
        for label, first in {"one": 5, "other": 0}.items()
    }
    start = process_time()
    table = Comparison.from_fitted(fitted, {})
    assert process_time() - start < 3.0
    more = [f"x{j}" for j in range(5)]  # of the other measure only
    assert list(table.index) == [*fitted["model/one"].entry_names_, *more]


def test_labels_and_bad_input():
    """Lists take class names, numbered where they repeat."""
    table = compare_importances([Ridge().fit(X, Y), Ridge(2).fit(X, Y)], X, Y)
    assert list(table.columns[::2]) == [
        "Ridge 1/SensitivityImportance",
        "Ridge 2/SensitivityImportance",
    ]
    measures = {"c": SensitivityImportance(), "b/c": SensitivityImportance()}
    models = {"a/b": MODELS["ridge"], "a": MODELS["ridge"]}
    with pytest.raises(ValueError, match="both called 'a/b/c'"):
        compare_importances(models, X, Y, measures)
    with pytest.raises(ValueError, match="`estimators` is empty"):
        compare_importances({}, X, Y)
    with pytest.raises(TypeError, match="importance instances"):
        compare_importances(MODELS, X, Y, ["pairs"])
    with pytest.raises(ValueError, match="was fitted with 4"):
        compare_importances(Lasso().fit(X, Y), X.iloc[:, :2], Y)
