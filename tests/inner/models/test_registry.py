"""Every row of the registry is visited: fast response against the black box.

Those of boosting libraries are visited where these are used, in
`test_boosting_libraries`.
"""

import numpy as np
import pytest
from combinations import one_per
from registry_models import OURS, WEIGHTS, N, X, fitted, fitted_to
from response_oracle import beside_black_box

from skvarimp import InteractionImportance, SensitivityImportance
from skvarimp._data.table import Feature
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models.registry import READERS, REGISTRY
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import Observed, Pairs, Range


def test_rows_are_unique():
    """One reader per type."""
    for package, own in READERS.items():
        names = " ".join(own.values()).split()
        assert sorted(names) == sorted(REGISTRY[package])


@pytest.mark.parametrize("family", OURS, ids=lambda x: f"{x.package}.{x.name}")
def test_fast_response_equals_black_box(family):
    """With weights and a group, for four reductions, to 1e-9 per feature."""
    model = fitted(family)
    assert type(model) is family.type
    problem = make_problem(model, X, None, WEIGHTS, "auto")
    features = [Feature("a", (0,)), Feature("c", (2,)), Feature("both", (1, 2))]
    response = problem.response(features)
    assert not response.path.startswith("black box"), response.path
    reductions = [Pairs(), Observed(), PartialDependence.over("std", N, 500)]
    ones = np.ones(len(problem.base))
    requests = [
        Request("all", reductions, [ones] * 3),
        Request("equidistant", [Range()], [ones]),
    ]
    scale = np.abs(problem.base).max()
    for one, other in beside_black_box(problem, response, features, requests):
        np.testing.assert_allclose(
            one.importances, other.importances, rtol=1e-9, atol=1e-12 * scale
        )
        np.testing.assert_allclose(
            one.standard_errors, other.standard_errors, rtol=1e-6, atol=1e-9 * scale
        )


# a step is as long as the radius of models of neighbours within a radius
GRIDDED = 3.0 * np.random.default_rng(0).integers(0, 4, (20, 2))
OF_GRID = 1.0 + GRIDDED[:, 0] * GRIDDED[:, 1] + np.arange(20) % 3


@pytest.mark.parametrize(
    "family",
    one_per(lambda x: REGISTRY[x.package][x.name], zip(OURS)),
    ids=lambda x: f"{x.package}.{x.name}",
)
def test_gridded_data_equal_black_box(family):
    """Ties of distances and of scores; columns alone and, for H, together."""
    model = fitted_to(family, GRIDDED, OF_GRID)
    for measure in (
        SensitivityImportance(scale=None, estimation="exact"),
        InteractionImportance(statistic="h", pairs=[(0, 1)]),
    ):
        measure.fit(model, GRIDDED)
        fast, size = measure.importances_per_output_, 1.0
        response = make_problem(model, GRIDDED, None, None, "auto").model
        slow = measure.fit(response, GRIDDED).importances_per_output_
        if isinstance(measure, SensitivityImportance):
            size = np.abs(response(GRIDDED)).max()
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12 * size)
