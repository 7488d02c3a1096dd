"""`compare_importances`: one table, one walk."""

import numpy as np
import pytest
from messages import says
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import (
    InteractionImportance,
    PartialDependenceImportance,
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
    compared = compare_importances(MODELS, X, Y, MEASURES)
    assert sorted(compared.features[:4]) == ["age", "bmi", "bp", "sex"]
    assert compared.features[4] == "rest"
    table = compared.to_frame()
    names = ["model", "measure", "feature", "importance", "lower", "upper", "rank"]
    assert list(table.columns) == names
    assert table["feature"].iloc[:4].tolist() == compared.features[:4]
    for name, model in MODELS.items():
        for label, measure in MEASURES.items():
            alone = SensitivityImportance(**measure.get_params()).fit(model, X, Y)
            own = alone.result_.to_frame(0.95)
            of_both = table[(table["model"] == name) & (table["measure"] == label)]
            assert of_both["feature"].tolist() == own["feature"].tolist()
            columns = names[3:]
            np.testing.assert_allclose(of_both[columns], own[columns], rtol=1e-12)
            assert compared.fitted[name, label].ranking_.tolist() == (
                alone.ranking_.tolist()
            )
    assert not hasattr(MEASURES["pairs"], "importances_")


def test_one_model_has_no_order_in_common_with_others():
    """Two measures are two orders, and one model agrees with none."""
    alone = compare_importances({"ridge": MODELS["ridge"]}, X, Y, MEASURES)
    twice = {"ridge": MODELS["ridge"], "again": MODELS["ridge"]}
    assert "The order is the same" not in alone.summary()
    assert "The order is the same" in compare_importances(twice, X, Y).summary()


def test_mean_curves_on_several_grids_of_shallow_trees():
    """Of many rows, each curve and its errors are those of its own grid."""
    model = RandomForestRegressor(5, max_depth=3, random_state=0)
    rows = np.tile(X, (4, 1))
    model.fit(rows, np.tile(Y, 4))
    measures = [PartialDependenceImportance(grid=g) for g in ("all", "deciles", 3)]
    compared = compare_importances(model, rows, None, measures)
    for measure, together in zip(measures, compared.fitted.values()):
        alone = measure.fit(model, rows)
        np.testing.assert_allclose(
            together.importances_, alone.importances_, rtol=1e-12
        )
        np.testing.assert_allclose(
            together.standard_errors_, alone.standard_errors_, rtol=1e-12
        )


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
    compared = compare_importances(model, X.to_numpy(), None, measures)
    names = "SensitivityImportance_1", "SensitivityImportance_2"
    assert list(compared.results) == [("model", name) for name in names]
    distinct = [X.iloc[:, j].nunique() for j in range(4)]
    assert sum(asked) == 50 + sum(50 * k - 50 for k in distinct)


class Hundredfold(SensitivityImportance):
    """A measure whose `fit` does more than its parent's."""

    def fit(self, estimator, X, y=None, *, sample_weight=None):
        """Multiply by a hundred."""
        super().fit(estimator, X, y, sample_weight=sample_weight)
        self.result_.importances *= 100
        return self


def test_own_fit_of_a_subclass():
    """A subclass that overrides `fit` is fitted by it, beside one that shares."""
    measures = {"own": Hundredfold(), "plain": SensitivityImportance()}
    found = compare_importances(MODELS["ridge"], X, Y, measures).results
    expected = 100 * found["Ridge", "plain"].importances
    np.testing.assert_allclose(found["Ridge", "own"].importances, expected, rtol=1e-12)


def test_labels_and_bad_input():
    """Lists take class names, numbered where they repeat."""
    compared = compare_importances([Ridge().fit(X, Y), Ridge(2).fit(X, Y)], X, Y)
    names = [model for model, _ in compared.results]
    assert names == ["Ridge_1", "Ridge_2"]
    with pytest.raises(ValueError, match="`estimators` is empty"):
        compare_importances({}, X, Y)
    with pytest.raises(TypeError, match="instances of measures"):
        compare_importances(MODELS, X, Y, [3])
    with pytest.raises(ValueError, match=r"names no measure: 'pairs'.*'sensitivity'"):
        compare_importances(MODELS, X, Y, ["pairs"])
    named = compare_importances(MODELS, X, Y, ["sensitivity", "permutation"])
    labels = [("ridge", "sensitivity"), ("ridge", "permutation")]
    assert list(named.results)[:2] == labels
    with pytest.raises(ValueError, match="was fitted with 4"):
        compare_importances(Lasso().fit(X, Y), X.iloc[:, :2], Y)


def test_one_number_for_all_features_is_refused():
    """h_total has no features to compare; refused before any work."""

    def model(X):
        raise AssertionError("was called")

    measures = [SensitivityImportance(), InteractionImportance(statistic="h_total")]
    with pytest.raises(
        ValueError, match=says("`measures` … got statistic='h_total' … 'h_overall'")
    ):
        compare_importances(model, np.eye(3), [0.0, 1.0, 2.0], measures)


@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_tables_texts_and_pictures(library):
    """In X's own library; what is compared is named with its unit."""
    rows = X
    if library == "polars":
        rows = pytest.importorskip("polars").from_pandas(X)
    elif library == "array":
        rows = X.to_numpy()
    models = {"ridge": Ridge(0.1).fit(rows, Y), "other": Ridge(10.0).fit(rows, Y)}
    compared = compare_importances(models, rows, Y, ["permutation", "sensitivity"])
    assert type(compared.to_frame()).__module__.startswith(
        "polars" if library == "polars" else "pandas"
    )
    for text in (compared.caption(), compared.summary(2)):
        assert "squared units of y" in text
        assert "Ridge (4 coefficients) on 50 rows (other)" in text
        assert "  " not in text
    assert "To ridge under permutation, what matters most is" in compared.summary(2)
    assert "2 models and 2 measures, 4 features" in repr(compared)


@pytest.mark.parametrize("names", [["pairs"], ["pairs", "observed"]])
def test_captions_name_one_of_several_measures(names):
    """One alone needs no name."""
    some = {name: MEASURES[name] for name in names}
    caption = compare_importances(MODELS, X, Y, some).caption()
    assert caption.count(" under ") == (2 if len(names) == 2 else 0)
    assert all((f" under {name}: " in caption) == (len(names) == 2) for name in names)
