"""Greenwell et al., section 3.1: theory, and the printed figures within the spread."""

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

from skvarimp import PartialDependenceImportance

PUBLISHED = json.loads(
    (Path(__file__).parents[1] / "reference_values/greenwell_linear.json").read_text()
)


def test_linear_model():
    """Y = 1 + 3 X1 - 5 X2 + e: slopes times 1 / sqrt(12), ratio 5 / 3."""
    rows = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.random((1000, 2))
        y = 1 + X @ [3.0, -5.0] + 0.01 * random.standard_normal(1000)
        model = LinearRegression().fit(X, y)
        first, second = PartialDependenceImportance().fit(model, X).importances_
        rows.append([first, second, second / first])
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
    theory = np.array([3 / np.sqrt(12), 5 / np.sqrt(12), 5 / 3])
    assert np.all(np.abs(mean - theory) < 3 * spread / np.sqrt(len(rows)))
    # one sample each: the paper's figures, the labels put right
    printed = np.array([PUBLISHED[key] for key in ("imp_X1", "imp_X2", "ratio")])
    half_units = [PUBLISHED["half_unit"]] * 2 + [PUBLISHED["ratio_half_unit"]]
    assert np.all(np.abs(printed - theory) < 3 * spread + half_units)
    # with the labels as printed they lie forty spreads away
    assert np.all(np.abs(printed[1::-1] - theory[:2]) > 10 * spread[:2])
