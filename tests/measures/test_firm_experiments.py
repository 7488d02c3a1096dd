"""Experiments of the FIRM paper (Zien et al. 2009), sections 3.1 and 3.2."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Disjunction, Not

# --- section 3.1: the Boolean formula ---


TABLE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
TRUE = (TABLE[:, 0] == 1) | (TABLE[:, 1] == 0)
PUBLISHED = json.loads(
    (Path(__file__).parents[1] / "reference_values" / "firm_boolean.json").read_text()
)


@pytest.fixture(scope="module")
def boolean_svm():
    """The machine of section 3.1 on all 8 rows."""
    machine = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=10)
    return machine.fit(TABLE, np.where(TRUE, 1, -1))


def pairs():
    """All conjunctions and disjunctions of two literals, with negations."""
    for a, b in itertools.combinations(range(3), 2):
        for first, second in itertools.product((a, Not(a)), (b, Not(b))):
            yield Conjunction(first, second)
            yield Disjunction(first, second)


def test_boolean_formula_from_the_machine(boolean_svm):
    """Scores and the leading features of section 3.1, as corrected in the errata."""
    corrected, tolerance = PUBLISHED["corrected"], PUBLISHED["absolute_tolerance"]
    score = dict(zip(map(tuple, TABLE[:, :2]), boolean_svm.decision_function(TABLE)))
    at = lambda place: score[tuple(map(float, place))]  # noqa: E731
    assert at(corrected["at"]) == pytest.approx(PUBLISHED["printed"]["score"], abs=5e-4)
    assert at(corrected["false_at"]) == pytest.approx(
        corrected["score_at_false"], abs=tolerance
    )
    imp = FIRMImportance(features=[0, 1, 2], feature_functions=list(pairs()))
    imp.fit(boolean_svm, TABLE)
    found = dict(zip(imp.features_, imp.importances_))
    first, value = corrected["most_important"]
    names = {"x0": "x1", "x1": "x2", "x2": "x3"}
    best = max(found, key=found.get)
    renamed = best
    for old in reversed(names):
        renamed = renamed.replace(old, names[old])
    assert renamed == first
    assert found[best] == pytest.approx(value, abs=tolerance)
    for single in ("x0", "x1"):
        assert found[single] == pytest.approx(
            corrected["single_variables"], abs=tolerance
        )
    assert found["x2"] == pytest.approx(0.0, abs=1e-3)


def test_boolean_formula_from_the_labels():
    """Only not x1 and x2 is false: by eq. 10 its feature explains all of y."""
    y = np.where(TRUE, 1.0, -1.0)
    imp = FIRMImportance(feature_functions=list(pairs())).fit(None, TABLE, y)
    found = dict(zip(imp.features_, imp.signed_importances_[:, 0]))
    spread = np.std(y)  # 2 sqrt(3/16)
    assert found["~x0 & x1"] == pytest.approx(-spread, rel=1e-12)
    assert found["x0 | ~x1"] == pytest.approx(spread, rel=1e-12)
    others = [abs(v) for k, v in found.items() if k not in ("~x0 & x1", "x0 | ~x1")]
    assert max(others) < 0.9 * spread


# --- section 3.2: two Gaussian classes ---


def test_gaussian_classes_rank_the_discriminating_column_first():
    """Columns 0 and 1 separate the classes, the second best; column 2 is noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 150)
    X = rng.normal(size=(300, 3)) * [1.0, 1.0, 1.0]
    X[:, 1] += 1.5 * y
    X[:, 0] += 0.5 * y
    machine = SVC(kernel="linear").fit(X, y)
    for method in ("auto", "linear", "gaussian", "conditional_mean"):
        imp = FIRMImportance(method=method, standardize=True).fit(machine, X)
        assert imp.ranking_.tolist() == [2, 1, 3]
        assert imp.importances_[1] > 0.9
        assert imp.importances_[2] < 0.15
