"""Readers of the boosting libraries."""

import numpy as np
import pytest
from boosting_checks import (
    check_curves,
    check_in_double,
    fitted,
    library_of,
)
from boosting_models import (
    CASES,
    data,
)
from response_oracle import check_equal

from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._models.registry import REGISTRY
from skvarimp._response.probe import fast_response


@pytest.mark.parametrize("library", CASES)
def test_every_row_of_the_registry_is_visited(library):
    """No type is registered without a case above."""
    visited = {type(fitted(library, name)[0]).__name__ for name in CASES[library]}
    assert visited == set(REGISTRY[library])


@pytest.mark.parametrize("library", CASES)
def test_values_at_thresholds_and_next_to_them(library):
    """In single and in double precision, on the very threshold and beside it."""
    X, y = data(120)
    model, _ = CASES[library]["squares"](library_of(library), X, y)
    response = fast_response(Model(model), as_table(X))
    for j in (0, 3):
        critical = response.critical_values(j)
        X[:, j] = np.resize(critical, len(X))
        assert len(np.unique(X[:, j])) > 20
    if library == "xgboost":
        check_curves(model, X)
        check_in_double(model, X, "auto", ["all"])
    else:
        check_equal(model, X, grids=["all"], features=[0, 3, [0, 3]])
