"""Groups of rows that lie in several partitions give the errors of rows in memory."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR

from skvarimp import (
    FIRMImportance,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
)
from skvarimp._data.statistics import Units
from skvarimp._partitions.moments import GroupSums

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
import dask.array as da  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 3))
X[:, 2] = RANDOM.integers(0, 3, 150)
Y = X[:, 0] * (1 + X[:, 2]) + X[:, 1] ** 2 + RANDOM.normal(size=150)
WEIGHTS = RANDOM.uniform(0.5, 2.0, 150)
WEIGHTS[7] = 0.0
GROUPS = RANDOM.choice([f"p{g}" for g in range(25)], 150)
GROUPS[7] = "zzz"
CUTS = [0, 40, 41, 41, 150]  # one of a single row, one empty
BOOSTING = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, Y)
SMOOTH = SVR().fit(X, Y)
SOFTMAX = LogisticRegression().fit(X, X[:, 2])
CASES = [
    (SensitivityImportance(estimation="exact", grid=10), SMOOTH),
    (SensitivityImportance(estimation="exact"), BOOSTING),
    (SensitivityImportance(contrast="range"), SOFTMAX),
    (PermutationImportance(estimation="exact", relative=True), BOOSTING),
    (PartialDependenceImportance(grid=10), SMOOTH),
    (PartialDependenceImportance(grid=10, kind="individual"), SOFTMAX),
    (SobolImportance(grid=10), SMOOTH),
    (SobolImportance(grid=10, order="first"), BOOSTING),
    (FIRMImportance(method="linear", standardize=True), SOFTMAX),
    (FIRMImportance(method="conditional_mean", standardize=True), SOFTMAX),
    (ImpurityImportance(rows="unseen"), BOOSTING),
]


def in_parts(values):
    """A Dask array of unequal partitions."""
    parts = [da.from_array(values[a:b], chunks=-1) for a, b in pairwise(CUTS)]
    return da.concatenate(parts)


@pytest.mark.parametrize(("measure", "model"), CASES, ids=str)
def test_errors_are_those_of_memory(measure, model):
    """Up to rounding, as there are fewer groups than buckets."""
    y = X[:, 2] if model is SOFTMAX else Y
    rows = {"sample_weight": WEIGHTS, "groups": GROUPS}
    with dask.config.set(scheduler="synchronous"):
        expected = clone(measure).fit(model, X, y, **rows)
        parts = {name: in_parts(values) for name, values in rows.items()}
        found = clone(measure).fit(model, in_parts(X), in_parts(y), **parts)
        independent = clone(measure).fit(
            model, in_parts(X), in_parts(y), sample_weight=parts["sample_weight"]
        )
    assert found.n_groups_ == expected.n_groups_ == len(set(GROUPS) - {"zzz"})
    errors = found.standard_errors_
    size = expected.importances_.max()
    np.testing.assert_allclose(found.importances_, independent.importances_, rtol=1e-11)
    np.testing.assert_allclose(
        errors, expected.standard_errors_, rtol=1e-9, atol=1e-12 * size
    )
    assert np.any(np.abs(errors / independent.standard_errors_ - 1) > 0.02)


def test_sums_of_many_groups_are_unbiased():
    """Over many draws of signs the mean of the squares is that of the groups."""
    n_groups, n = 2000, 5000
    random = np.random.default_rng(0)
    groups = np.concatenate([np.arange(n_groups), random.integers(0, n_groups, 3000)])
    numbers, weights = random.normal(size=(2, n)), random.random(n)
    cells = random.integers(0, 3, n)
    factor, added = np.array([1.0, -0.5]), np.array([0.3, -1.0, 2.0])
    psi = factor @ numbers + added[cells]
    exact = np.sum(np.bincount(groups, weights * psi) ** 2)

    def squares(units, cells):
        sums = GroupSums.of(numbers, weights, cells, len(added), units)
        points, masses, at, of_point = sums.points()
        terms = masses * (factor @ points + added[at])
        return np.sum(np.bincount(of_point, terms) ** 2)

    of_rows = Units(n_groups, groups=groups)
    assert squares(of_rows, cells) == pytest.approx(exact, rel=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skvarimp._partitions.moments.MOST_SUMS", 100)
        found = []
        for seed in range(40):  # other groups get other signs
            order = np.random.default_rng(seed).permutation(n_groups)
            found.append(squares(Units(n_groups, groups=order[groups]), cells))
    # of 100 buckets each is known to (2 / 100)^(1/2), their mean to a fortieth of it
    assert np.mean(found) == pytest.approx(exact, rel=4 * np.sqrt(2 / 100 / 40))
    assert np.std(found) / exact == pytest.approx(np.sqrt(2 / 100), rel=0.5)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS, "`groups` must be a Dask collection with the partitions of X"),
        (in_parts(np.zeros(150)), "puts all rows into one group"),
        (in_parts(np.where(np.arange(150) == 60, np.nan, 1.0)), "missing values"),
    ],
)
def test_bad_groups(groups, message):
    """What is wrong and what to do."""
    measure = SensitivityImportance(estimation="exact", grid=5)
    with pytest.raises((TypeError, ValueError), match=message):
        measure.fit(SMOOTH, in_parts(X), in_parts(Y), groups=groups)
