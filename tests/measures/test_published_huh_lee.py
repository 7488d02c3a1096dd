"""Huh & Lee's Table 2 lies within the spread of the simulated samples."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from skvarimp import SensitivityImportance

PUBLISHED = json.loads(
    (Path(__file__).parents[1] / "reference_values/huh_lee_table2.json").read_text()
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("linear regression", LinearRegression()),
        ("tree of depth 5", DecisionTreeRegressor(max_depth=5, random_state=0)),
    ],
)
def test_table_2(name, model):
    """Each printed figure is within 3 spreads of 1 sample plus half a printed digit."""
    rows = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        X = random.standard_normal((1000, 4))
        y = X @ [4.0, 3.0, 2.0, 1.0] + random.standard_normal(1000)
        imp = SensitivityImportance(
            estimation="sampled", n_draws=4, random_state=seed
        ).fit(model.fit(X, y), X, y)
        rows.append([*imp.importances_, imp.scale_, imp.goodness_of_fit_])
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
    gap = np.abs(mean - PUBLISHED[name])
    assert np.all(gap <= PUBLISHED["half_unit"] + 3 * spread)
