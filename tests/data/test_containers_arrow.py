"""Arrow tables give the numbers of pandas frames, and get Arrow tables back."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    BackwardEliminationSelector,
    FilterImportance,
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp.filters import lowess_r2

pa = pytest.importorskip("pyarrow")

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:60, :3], Y.iloc[:60]
TABLE = pa.table({name: X[name].to_numpy() for name in X})
MODELS = {
    "linear": LinearRegression(),
    "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
}
MEASURES = {
    "sensitivity": SensitivityImportance(),
    "group": SensitivityImportance(features=[["age", "bmi"], "sex"]),
    "drawn": SensitivityImportance(estimation="sampled", random_state=0),
    "partial dependence": PartialDependenceImportance(),
    "permutation": PermutationImportance(),
    "firm": FIRMImportance(),
    "filter": FilterImportance(score_func=lowess_r2),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("measure", MEASURES)
def test_same_numbers(measure, kind):
    """The container is no part of the question."""
    model = MODELS[kind].fit(X, Y)
    of_frame = MEASURES[measure].fit(model, X, Y).importances_
    of_table = MEASURES[measure].fit(model, TABLE, Y)
    np.testing.assert_allclose(of_table.importances_, of_frame, rtol=1e-12)
    assert isinstance(of_table.to_frame(), pa.Table)
    assert of_table.feature_names_in_.tolist() == list(X)


def test_strings_and_missing_values():
    """A column of strings is moved through its levels, the missing one included."""
    words = pa.table({"word": ["a", None, "b", "a"], "x": [1.0, 2.0, 3.0, None]})
    frame = words.to_pandas()

    def count(X):
        rows = X.to_pylist() if isinstance(X, pa.Table) else X.to_dict("records")
        return np.array([(row["word"] == "a") + 0.0 for row in rows])

    measure = SensitivityImportance(scale=None)
    of_table = measure.fit(count, words).importances_
    np.testing.assert_array_equal(of_table, measure.fit(count, frame).importances_)
    assert of_table.tolist() == [0.5, 0.0]


def test_selectors_keep_tables():
    """The estimator inside is fitted on a table, and columns go by name."""
    selector = BackwardEliminationSelector(Ridge(), random_state=0).fit(TABLE, Y)
    of_frame = BackwardEliminationSelector(Ridge(), random_state=0).fit(X, Y)
    assert (
        selector.get_feature_names_out().tolist()
        == of_frame.get_feature_names_out().tolist()
    )


def test_names_twice_are_refused():
    """As in any other frame."""
    twice = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match=r"(?s)share a name.*'a' 2 times"):
        SensitivityImportance(scale=None).fit(lambda X: np.zeros(2), twice)
