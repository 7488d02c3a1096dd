"""What every kind of result can do, whatever its numbers are."""

import pickle
import re
from dataclasses import fields, is_dataclass, replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import skvarimp
from skvarimp import Importances

pd = pytest.importorskip("pandas")

# No other length is 3: rows, folds, cohorts, models and shuffled targets are others.
NAMES = ["a", "b", "c"]
random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(60, 3)), columns=NAMES)
Y = 3 * X["a"] - X["b"] + 0.3 * random.normal(size=60)
LINE, OTHER = (LinearRegression(positive=p).fit(X, Y) for p in (False, True))


def measured(model=LINE):
    """Permutation importances with the rows that comparisons need."""
    return skvarimp.PermutationImportance(keep_rows=True).fit(model, X, Y)


def search():
    """Two candidates, both good."""
    grid = {"fit_intercept": [True, False]}
    return GridSearchCV(LinearRegression(), grid, cv=4).fit(X, Y)


MADE = {
    "Importances": lambda: measured().result_,
    "RankIntervals": lambda: skvarimp.rank_intervals(measured()),
    "ImportanceDifferences": lambda: skvarimp.importance_difference(
        measured(), measured(OTHER)
    ),
    "CohortImportances": lambda: skvarimp.importance_by_cohort(
        measured(), np.where(X["c"] > 0, "upper", "lower")
    ),
    "Comparison": lambda: skvarimp.compare_importances(
        {"one": LINE, "other": OTHER}, X, Y, "permutation"
    ),
    "FoldImportances": lambda: skvarimp.importance_across_folds(
        LINE, X, Y, "permutation", cv=4
    ),
    "NullImportances": lambda: skvarimp.null_importances(
        LINE, X, Y, n_permutations=9, cv=4, random_state=0
    ),
    "LeaveOutImportances": lambda: skvarimp.leave_out_importances(LINE, X, Y, cv=4),
    "CandidateImportances": lambda: skvarimp.importance_across_candidates(
        search(), X, Y
    ),
}


@pytest.fixture(scope="module", params=MADE)
def result(request):
    """One of each kind."""
    return MADE[request.param]()


def test_all_kinds_are_here():
    """A new kind of result must be able to do the same."""
    kinds, found = [Importances], {"Comparison"}
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith("skvarimp."):
            found.add(kind.__name__)
    assert found == set(MADE)


# What is not known where an importance is infinite.
UNCERTAIN = re.compile("error|skewness|p_values|ends|difference")


def with_last(value, number, name=""):
    """The same, with a number in place of those of the last feature."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        value = value.copy()
        for axis in np.flatnonzero(np.array(value.shape) == len(NAMES)):
            unknown = UNCERTAIN.search(name)
            np.moveaxis(value, axis, 0)[-1] = np.nan if unknown else number
        return value
    return inside(value, with_last, number)


def without_features(value, name=""):
    """The same, of no features."""
    if isinstance(value, np.ndarray):
        for axis in np.flatnonzero(np.array(value.shape) == len(NAMES)):
            value = np.take(value, [], axis)
        return value
    if isinstance(value, list) and len(value) == len(NAMES):
        return []
    return inside(value, without_features)


def inside(value, change, *arguments):
    """A result or a dictionary, all of whose parts are changed."""
    if isinstance(value, dict):
        return {k: change(part, *arguments) for k, part in value.items()}
    if not is_dataclass(value) or not hasattr(value, "to_frame"):
        return value
    parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    changed = {k: change(v, *arguments, k) for k, v in parts.items() if k != "rows"}
    return replace(value, **changed)


def check(found):
    """Table, picture, notebook, words and pickle; returns the table."""
    table = found.to_frame()
    assert isinstance(found.plot().figure_, plt.Figure)
    plt.close("all")
    assert "<table" in found._repr_html_()
    assert found.caption()
    assert found.summary()
    loaded = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(loaded.to_frame(), table)
    return table


def test_the_numbers_that_were_found(result):
    """Each feature once per model or cohort, in a plain frame."""
    table = check(result)
    assert type(table) is pd.DataFrame
    n_parts = len(getattr(result, "by_cohort", getattr(result, "results", [0])))
    assert sorted(table["feature"]) == sorted(NAMES * n_parts)


@pytest.mark.parametrize(
    "number", [np.nan, np.inf, pytest.param(-np.inf, marks=pytest.mark.thorough)]
)
def test_numbers_that_are_none(result, number):
    """The other features keep theirs."""
    changed, named = check(with_last(result, number)), result.to_frame()
    column = "difference" if "importance" not in named else "importance"
    keys = ["feature", *({"cohort", "model", "measure"} & set(named))]
    changed, named = (t.set_index(keys)[column].sort_index() for t in (changed, named))
    others = [key for key in named.index if np.ravel(key)[0] != "c"]
    np.testing.assert_array_equal(changed[others], named[others])
    left = changed.drop(others)
    np.testing.assert_array_equal(left, np.full(len(left), number))


def test_what_has_no_number_has_no_p_value(result):
    """Not the smallest one, which nothing reaches."""
    table = with_last(result, np.nan).to_frame()
    of_last = table[table["feature"] == "c"].filter(like="p_value")
    assert of_last.isna().to_numpy().all()


def test_no_features_left(result):
    """A table without rows, and a picture without marks."""
    assert len(check(without_features(result))) == 0
