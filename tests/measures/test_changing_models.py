"""Models whose predictions change from call to call, or with the rows beside."""

import warnings

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import PermutationImportance, SensitivityImportance
from skvarimp.exceptions import ImportanceWarning

X = np.random.default_rng(0).normal(size=(200, 2))
EITHER = "predictions change from call to call, or with the rows that are"


def noisy():
    """A model with a fresh draw in each prediction."""
    random = np.random.default_rng(1)
    return lambda X: X[:, 0] + random.normal(size=len(X))


def of_the_batch():
    """A model that measures from the first row that it is given."""
    return lambda X: X[:, 0] - X[0, 0]


MEASURES = [
    SensitivityImportance(random_state=0),
    SensitivityImportance(contrast="observed", random_state=0),
    PermutationImportance(random_state=0),
    SensitivityImportance(random_state=0, max_evaluations=1500),
    SensitivityImportance(random_state=0, features=[1]),
]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (noisy, "predictions change from call to call. Such"),
        (of_the_batch, "predictions change with the rows that are predicted together."),
    ],
)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_they_are_told(measure, make, text):
    """Once, in a fit that asks the model itself; which of the two, if it may ask."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        measure.fit(make(), X, X[:, 0])
    text = text if measure.max_evaluations is None else EITHER
    assert [text in str(one.message) for one in said] == [True]
    assert said[0].category is ImportanceWarning


def single(X):
    """A model in single precision, whose sums depend on the order of the rows."""
    rows = X.astype(np.float32)
    return 1000.0 + (rows @ np.float32([1.0, 1.0])).astype(np.float64)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_others_are_not(measure):
    """Rounding is no change, and no row is predicted more often than was said."""
    asked = []

    def counted(X):
        asked.append(len(X))
        return single(X)

    measure.fit(counted, X, X[:, 0])
    assert sum(asked) <= measure.expected_evaluations(counted, X)
    model = KNeighborsRegressor().fit(X, X[:, 0])
    measure.fit(model, X, X[:, 0])
