"""Models that write into what they are given: X stays as it was, numbers are right."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skvarimp import (
    ALEImportance,
    DerivativeImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
)

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X @ [1.0, 2.0, 0.0]


def reading(X):
    """Twice the first column plus the second."""
    values = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=float)
    return 2 * values[:, 0] + values[:, 1]


def writing(X):
    """The same, with the input scaled in place."""
    if isinstance(X, pd.DataFrame):
        X.iloc[:, 0] *= 2
    elif sparse.issparse(X):
        X.data *= 2
        return reading(X) / 2
    else:
        X[:, 0] *= 2
    values = np.asarray(X, dtype=float)
    return values[:, 0] + values[:, 1]


@pytest.mark.parametrize("container", [np.array, pd.DataFrame, sparse.csr_array])
@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(scale=None, random_state=0),
        SensitivityImportance(scale=None, contrast="observed", random_state=0),
        PartialDependenceImportance(grid=4),
        PermutationImportance(random_state=0),
        DerivativeImportance(),
        FIRMImportance(),
        InteractionImportance(grid=3),
        ALEImportance(n_bins=4),
        SobolImportance(),
    ],
    ids=lambda measure: type(measure).__name__,
)
def test_models_that_write_into_their_input_get_a_copy(measure, container):
    """Otherwise the second call would see other rows than the first."""
    rows = container(X.copy())
    expected = measure.fit(reading, container(X.copy()), Y).importances_

    found = measure.fit(writing, rows, Y).importances_

    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    after = rows.todense() if sparse.issparse(rows) else rows
    np.testing.assert_array_equal(np.asarray(after), X)
