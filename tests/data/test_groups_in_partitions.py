"""Groups of rows that lie in several partitions give the errors of rows in memory."""

from itertools import pairwise

import numpy as np
import pytest
from messages import says
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
from skvarimp._partitions.errors import whole_errors

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
    """Up to rounding, as all rows are donors."""
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


def test_errors_of_groups_of_which_donors_are_a_sample():
    """On average over samples, squared errors are those of all rows."""
    n_groups, n, share = 300, 1500, 0.4
    random = np.random.default_rng(0)
    groups = np.concatenate([np.arange(n_groups), random.integers(0, n_groups, 1200)])
    psi = random.normal(size=(2, n_groups))[:, groups] + random.normal(size=(2, n))
    psi -= psi.mean(axis=1, keepdims=True)

    def sums(values):
        return np.array([np.bincount(groups, one / n) for one in values])

    # of the groups' sums
    exact = np.sum(sums(psi) ** 2, axis=1)
    found = []
    for _ in range(400):
        rows = random.choice(n, int(share * n), replace=False)
        units = Units.of(np.full(len(rows), 1 / len(rows)), groups[rows])
        found.append(whole_errors(psi[:, rows], units, share) ** 2)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    inflation = n_groups / (n_groups - 1)  # of a few groups
    gap = np.mean(found, axis=0) - exact
    assert np.all(np.abs(gap) < 4 * error + 3 * (inflation - 1) * exact)
    assert np.all(np.abs(gap) < 0.03 * exact)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS, says("`groups` … got ndarray … dask.array.from_array")),
        (in_parts(np.zeros(150)), says("`groups` … one group … Leave `groups` out")),
        (in_parts(np.where(np.arange(150) == 60, np.nan, 1.0)), "missing values"),
    ],
)
def test_bad_groups(groups, message):
    """What is wrong and what to do."""
    measure = SensitivityImportance(estimation="exact", grid=5)
    with pytest.raises((TypeError, ValueError), match=message):
        measure.fit(SMOOTH, in_parts(X), in_parts(Y), groups=groups)
