"""Groups of correlated columns: associations by plain loops, and what is joined."""

import copy
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from messages import says
from roundoff import roundoff
from scipy import sparse
from scipy.stats import chi2_contingency, kruskal, spearmanr
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skvarimp import PermutationImportance, correlated_groups, leave_out_importances
from skvarimp._comparing.associations import _associations, _columns
from skvarimp._data.table import as_table


def mixed(n=300, seed=0):
    """Numbers, near copies, booleans, categories, dates and gaps."""
    random = np.random.default_rng(seed)
    a, b, level = random.normal(size=n), random.normal(size=n), random.integers(0, 4, n)
    near = 0.95 * a + np.sqrt(1 - 0.95**2) * random.normal(size=n)
    word = np.array(["p", "q", "r", "s"])[level]
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "near": near,
            "copy": np.exp(b),
            "gaps": np.where(random.random(n) < 0.2, np.nan, -near),
            "alone": random.normal(size=n),
            "word": word,
            "code": pd.Categorical(np.where(random.random(n) < 0.1, None, level)),
            "of word": 2.0 * (level % 2) + 0.3 * random.normal(size=n) + level,
            "flag": level > 1,
            "many": random.integers(0, 40, n).astype(str),
            "others": random.integers(0, 30, n).astype(str),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(a, unit="D"),
        }
    )


GROUPS = [
    ["a", "near", "gaps", "day"],
    ["b", "copy"],
    ["alone"],
    ["word", "code", "of word", "flag"],
    ["many"],
    ["others"],
]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_copies_are_grouped_and_independent_columns_are_not(library):
    """Copies and near copies of every kind, whatever the container."""
    X = mixed()
    if library == "polars":
        X = pl.from_pandas(X)
    elif library == "pyarrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(X)
    groups = correlated_groups(X)
    assert list(groups.values()) == GROUPS


def test_labels_and_positions():
    """Joined names, the first of many, and positions where X has no names."""
    X = mixed()
    assert list(correlated_groups(X)) == [
        "a+3 more",
        "b+copy",
        "alone",
        "word+3 more",
        "many",
        "others",
    ]
    numbers = X[["a", "b", "near", "copy"]]
    expected = {"x0+x2": [0, 2], "x1+x3": [1, 3]}
    assert correlated_groups(numbers.to_numpy()) == expected
    objects = X[["a", "word", "near", "flag"]].to_numpy(dtype=object)
    assert correlated_groups(objects) == {"x0+x2": [0, 2], "x1+x3": [1, 3]}
    taken = pd.DataFrame({"a": X["a"], "a+b": X["alone"], "b": 2 * X["a"]})
    assert correlated_groups(taken) == {"a+b": ["a", "b"], "a+b'": ["a+b"]}
    plain = json.loads(json.dumps(correlated_groups(numbers)))
    assert plain == correlated_groups(numbers)  # a dict like others


def literal(one, two, ordered, method):
    """The association of two columns without missing values, from the formulas."""
    n = len(one)
    if len(set(one)) < 2 or len(set(two)) < 2:
        return 0.0
    if all(ordered):
        if method == "spearman":
            return abs(spearmanr(one, two).statistic)
        return abs(np.corrcoef(one, two)[0, 1])
    if any(ordered):
        numbers, labels = (one, two) if ordered[0] else (two, one)
        if method == "spearman":
            numbers = pd.Series(numbers).rank().to_numpy()
        parts = [numbers[labels == label] for label in set(labels)]
        if len(parts) == n:
            return 0.0
        within = sum(np.sum((part - part.mean()) ** 2) for part in parts)
        total = np.sum((numbers - numbers.mean()) ** 2)
        unbiased = (within / (n - len(parts))) / (total / (n - 1))
        return np.sqrt(max(0.0, 1.0 - unbiased))
    phi = chi2_contingency(pd.crosstab(one, two), correction=False).statistic / n
    r, k = len(set(one)), len(set(two))
    phi = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return np.sqrt(phi / smaller) if smaller > 0 else 0.0


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_associations_are_those_of_the_formulas(method):
    """Pair by pair, over the rows that both know."""
    X = mixed(60)
    X["constant"], X["empty"] = 3.0, np.nan
    X["two rows"] = np.where(np.arange(60) < 2, np.arange(60.0), np.nan)
    X["each row"] = [f"{i}" for i in range(60)]
    X["gaps too"] = np.where(np.arange(60) % 3 == 0, np.nan, X["b"])
    found = _associations(*_columns(as_table(X), frozenset(), method), method)
    unordered = {"word", "code", "many", "others", "each row"}
    for (i, one), (j, two) in itertools.combinations(enumerate(X), 2):
        known = X[one].notna() & X[two].notna()
        values = []
        for name in (one, two):
            column = X[name].rank() if name == "day" else X[name]
            values.append(column[known].to_numpy())
        if known.sum() < 3:
            expected = 0.0
        else:
            ordered = [name not in unordered for name in (one, two)]
            values = [v.astype(float) if o else v for v, o in zip(values, ordered)]
            expected = literal(*values, ordered, method)
        # squares are sums of 60 shares of 1, and a root loses half of the digits
        gap = abs(found[i, j] ** 2 - expected**2)
        assert gap <= roundoff(4 * 60, 60.0), (one, two)
        assert found[j, i] == found[i, j]


def test_rounding_makes_no_association_larger_than_one():
    """Of columns and their multiples, whose products round to both sides of 1."""
    columns = np.random.default_rng(0).normal(size=(30, 40))
    values = dict(enumerate(np.vstack([columns, 3.0 * columns])))
    assert _associations(values, {}, "pearson").max() == 1.0


def test_average_linkage():
    """The two groups with the largest mean association, again and again."""
    random = np.random.default_rng(3)
    X = random.normal(size=(80, 12)) + np.repeat(random.normal(size=(80, 4)), 3, axis=1)
    association = np.abs(spearmanr(X).statistic)
    for threshold in (0.2, 0.35, 0.6):
        groups = [[j] for j in range(12)]
        while len(groups) > 1:
            pairs = list(itertools.combinations(range(len(groups)), 2))
            means = [association[np.ix_(groups[g], groups[h])].mean() for g, h in pairs]
            if max(means) < threshold:
                break
            g, h = pairs[int(np.argmax(means))]
            groups[g] += groups.pop(h)
        expected = sorted(sorted(group) for group in groups)
        assert list(correlated_groups(X, threshold=threshold).values()) == expected


def test_independent_columns_of_many_categories():
    """Uncorrected measures would join them: 40 levels in 100 rows, beside numbers."""
    random = np.random.default_rng(4)
    X = pd.DataFrame({f"c{j}": random.integers(0, 40, 100).astype(str) for j in "1234"})
    X["number"] = random.normal(size=100)
    table = pd.crosstab(X["c1"], X["c2"])
    naive = chi2_contingency(table, correction=False).statistic / 100
    assert np.sqrt(naive / (min(table.shape) - 1)) > 0.5  # what V says without it
    assert kruskal(*(part for _, part in X.groupby("c1")["number"])).pvalue > 0.05
    assert all(
        len(group) == 1 for group in correlated_groups(X, threshold=0.4).values()
    )


def test_numbers_as_categories():
    """Codes whose order says nothing."""
    random = np.random.default_rng(5)
    code = random.integers(0, 5, 200)
    X = np.column_stack([code, np.array([3, 0, 4, 1, 2])[code]])
    assert len(correlated_groups(X)) == 2
    assert correlated_groups(X, categorical_features=[0]) == {"x0+x1": [0, 1]}
    assert correlated_groups(X, categorical_features=[0, 1]) == {"x0+x1": [0, 1]}


def test_threshold_of_one_joins_exact_copies_alone():
    """Up to the rounding of the sums; constants are not copies of each other."""
    X = mixed(200)[["a", "near"]]
    X["again"], X["down"], X["first"], X["second"] = X["a"], -3 * X["a"], 1.0, 2.0
    groups = correlated_groups(X, threshold=1.0, method="pearson")
    expected = [["a", "again", "down"], ["near"], ["first"], ["second"]]
    assert list(groups.values()) == expected
    assert correlated_groups(X[["a"]]) == {"a": ["a"]}


def test_importances_of_groups():
    """The result is taken as `features`, by measures and by refits."""
    X = mixed()[["a", "near", "b", "alone"]]
    y = X["a"] + X["b"]
    groups = correlated_groups(X)
    model = LinearRegression().fit(X, y)
    measure = clone(PermutationImportance(features=groups)).fit(model, X, y)
    assert measure.features_ == ["a+near", "b", "alone"]
    assert measure.importances_[0] > measure.importances_[1] > 1.0
    lost = leave_out_importances(LinearRegression(), X, y, features=groups, cv=3)
    frame = lost.to_frame().set_index("feature")
    assert set(frame.index) == set(measure.features_)
    assert frame["importance"].idxmin() == "alone"


def test_x_is_not_written_to():
    """Neither arrays nor frames."""
    for X in (mixed(), mixed()[["a", "b", "gaps"]].to_numpy()):
        before = copy.deepcopy(X)
        correlated_groups(X, method="pearson")
        assert pd.DataFrame(X).equals(pd.DataFrame(before))


@pytest.mark.parametrize(
    ("X", "given", "error", "message"),
    [
        (sparse.eye_array(4), {}, TypeError, says("X … sparse matrix … toarray()")),
        (np.ones((2, 2)), {}, ValueError, "at least 3 rows.* got 2"),
        (np.ones((4, 0)), {}, ValueError, says("X … no columns")),
        (np.ones((4, 10_001), dtype=bool), {}, ValueError, "at most 10000.*got 10001"),
        (np.eye(4), {"threshold": 0.0}, ValueError, "'threshold'.*0.0"),
        (np.eye(4), {"threshold": 70}, ValueError, "'threshold'.*70"),
        (np.eye(4), {"method": "kendall"}, ValueError, "'method'.*kendall"),
        (
            np.eye(4),
            {"categorical_features": [9]},
            ValueError,
            says("Feature 9 … 4 features … 0 to 3"),
        ),
        (
            np.diag([np.inf, 1, 1]),
            {"method": "pearson"},
            ValueError,
            "infinity in 'x0'",
        ),
        (np.ones(4), {}, ValueError, "2-dimensional"),
    ],
)
def test_bad_input(X, given, error, message):
    """The parameter, the rule, what was got."""
    with pytest.raises(error, match=message):
        correlated_groups(X, **given)


def test_picture():
    """A bracket a joint, groups in colours, hidden columns counted."""
    pytest.importorskip("matplotlib")
    groups = correlated_groups(mixed())
    display = groups.plot()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert sorted(names) == sorted(mixed().columns)
    assert len(display.lines_) == len(names) - 1
    for line, joint in zip(display.lines_, display.linkage):
        assert line.get_xdata()[1] == 1.0 - joint[2]
    joined = [line for line in display.lines_ if line.get_xdata()[1] >= 0.7]
    colors = [line.get_color() for line in joined]
    assert len(joined) == sum(len(group) - 1 for group in groups.values())
    assert len(set(colors)) == sum(len(group) > 1 for group in groups.values())
    assert not set(colors) & {l.get_color() for l in display.lines_ if l not in joined}
    few = groups.plot(max_features=5, figsize=(3.4, 3.0))
    shown = [text.get_text() for text in few.ax_.get_yticklabels()]
    assert 2 <= len(shown) <= 5
    label = few.key_.get_text().replace("\n", " ")
    assert f"{13 - len(shown)} of 13 columns are not shown" in label
    assert "threshold 0.7" in label
    assert len(correlated_groups(mixed()[["a"]]).plot().lines_) == 0
