"""Every grid against its definition, written out literally."""

import container_rows
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each, pairwise
from literal import sensitivity
from messages import says
from roundoff import roundoff
from scipy import sparse

from skvarimp import PartialDependenceImportance, SensitivityImportance
from skvarimp._data.base_table import is_missing
from skvarimp._data.table import Feature, as_table, is_frame
from skvarimp._response.conditional import product_move
from skvarimp._response.grid import QuantileGrid, make_move, values_alone

N = 17
RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.uniform(0.2, 2.0, N)
WEIGHTS[4] = 0.0
COLUMNS = {
    "continuous": RANDOM.randn(N),
    "ties": RANDOM.randint(0, 4, N).astype(float),
    "two": RANDOM.randint(0, 2, N).astype(float),
    "constant": np.full(N, 2.5),
    "missing": np.where(np.arange(N) % 5 == 0, np.nan, RANDOM.randn(N).round(1)),
}
X = np.column_stack(list(COLUMNS.values()))
GRIDS = ["all", "equidistant", "deciles", 3, 5, 1, [0.5, -1.0, 0.5]]


def response(X):
    """Two outputs; a missing value stands for 0.7 and switches a term on."""
    X = np.asarray(X, dtype=float)
    filled = np.where(np.isnan(X), 0.7, X)
    first = filled[:, 0] * (1 + filled[:, 1]) + filled[:, 4] * np.isnan(X[:, 4])
    second = np.sin(filled[:, 0] + filled[:, 2]) * filled[:, 3] + filled[:, 4] ** 2
    return np.column_stack([first, second])


def bins_of_sorted_rows(values, w, n_bins):
    """Bins of equal probability and their medians, row by row.

    Rows of one value stay together, in the bin that holds the middle of their mass.
    """
    order = np.argsort(values)
    values, w = values[order], w[order] / w.sum()
    distinct = sorted(set(values))
    if len(distinct) <= n_bins:
        return distinct, [w[values == v].sum() for v in distinct]
    members = {}
    for v in distinct:
        middle = w[values < v].sum() + w[values == v].sum() / 2
        b = min(int(middle * n_bins - 1e-9), n_bins - 1)
        members.setdefault(b, []).append(v)
    medians, chances = [], []
    for b in sorted(members):
        inside = np.isin(values, members[b])
        mass = w[inside].sum()
        # smallest and largest value with at most half of the mass on either side
        middle = [
            v
            for v in members[b]
            if w[inside & (values < v)].sum() <= mass / 2 + 1e-12
            and w[inside & (values > v)].sum() <= mass / 2 + 1e-12
        ]
        medians.append((min(middle) + max(middle)) / 2)
        chances.append(mass)
    return medians, chances


def literal_grid(column, weights, grid):
    """Values and probabilities by the definitions at `SensitivityImportance`."""
    column, w = column[weights > 0], weights[weights > 0]
    w = w / w.sum()
    known = ~np.isnan(column)
    values, share = column[known], w[known].sum()
    distinct = sorted(set(values))
    if isinstance(grid, list):
        grid_values, chances = grid, [1 / len(grid)] * len(grid)
    elif grid == "all":
        grid_values = distinct
        chances = [w[known][values == v].sum() / share for v in distinct]
    elif grid == "equidistant":
        low, high = min(values), max(values)
        grid_values = [low + s * (high - low) for s in (0, 0.25, 0.5, 0.75, 1)]
        grid_values = sorted(set(grid_values))
        chances = [1 / len(grid_values)] * len(grid_values)
    elif grid == "deciles":
        grid_values = sorted({np.quantile(distinct, q / 10) for q in range(11)})
        chances = [1 / len(grid_values)] * len(grid_values)
    else:
        grid_values, chances = bins_of_sorted_rows(values, w[known], grid)
    chances = [c * share for c in chances]
    if share < 1 - 1e-12:
        grid_values, chances = [*grid_values, np.nan], [*chances, 1 - share]
    return np.array(grid_values, dtype=float), np.array(chances)


@pytest.mark.parametrize(
    ("grid", "weights", "contrast"),
    pairwise(GRIDS, [None, WEIGHTS], ["pairs", "observed", "range"]),
)
def test_importance_over_every_grid(grid, weights, contrast):
    """Weights, ties, a constant and missing values: a double loop over the grid."""
    imp = SensitivityImportance(
        contrast=contrast, grid=grid, scale=None, estimation="exact"
    ).fit(response, X, sample_weight=weights)
    w = np.ones(N) if weights is None else weights
    rows = w > 0
    for j in range(X.shape[1]):
        values, chances = literal_grid(X[:, j], w, grid)
        expected = sensitivity(
            response, X[rows], (j,), contrast, w[rows], values[:, None], chances
        )
        np.testing.assert_allclose(
            imp.importances_per_output_[j],
            expected,
            rtol=1e-10,
            atol=roundoff(len(X), response(X)),
        )


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_values_and_probabilities(grid):
    """Ascending, missing last, probabilities of sum 1."""
    kept = WEIGHTS > 0
    w = WEIGHTS[kept] / WEIGHTS[kept].sum()
    table = as_table(X[kept])
    for j, name in enumerate(COLUMNS):
        move = make_move(table, w, Feature(name, (j,)), grid)
        values, chances = literal_grid(X[:, j], WEIGHTS, grid)
        merged, where = np.unique(values, return_inverse=True)
        np.testing.assert_allclose(move.values, merged, rtol=1e-13)
        np.testing.assert_allclose(
            move.probabilities, np.bincount(where, chances), rtol=1e-12
        )
        assert move.probabilities.sum() == pytest.approx(1.0)


def test_bins_of_equal_size_are_split_sorted_values():
    """Without ties and weights: numpy's own split of the sorted column."""
    v = np.random.RandomState(1).permutation(np.arange(12.0)) ** 2
    move = make_move(as_table(v[:, None]), np.full(12, 1 / 12), Feature("v", (0,)), 4)
    parts = np.array_split(np.sort(v), 4)
    np.testing.assert_allclose(move.values, [np.median(p) for p in parts])
    np.testing.assert_allclose(move.probabilities, [0.25] * 4)


def test_bins_converge_to_all_values():
    """The more bins, the closer to the exact importance; equal at all distinct."""
    v = np.random.RandomState(2).randn(200, 2)
    parameters = dict(scale=None, estimation="exact", features=[0])

    def model(X):
        return np.tanh(X[:, 0]) * X[:, 1]

    exact = SensitivityImportance(**parameters).fit(model, v).importances_[0]
    gaps = []
    for k in (2, 8, 32, 200):
        binned = SensitivityImportance(grid=k, **parameters).fit(model, v)
        gaps.append(abs(binned.importances_[0] - exact) / exact)
    assert gaps[0] > 0.1 > gaps[1] > gaps[2]
    assert gaps[2] < 0.02
    assert gaps[3] < 1e-12


def test_equidistant_is_the_papers_five_values():
    """Huh & Lee, section 5, step 1: 0, .25, .5, .75, 1 of an input on [0, 1]."""
    seen = []

    def model(X):
        seen.append(X[:, 0].copy())
        return X[:, 0]

    v = np.random.RandomState(0).uniform(size=(30, 1))
    v[[3, 8]] = [[0.0], [1.0]]
    imp = SensitivityImportance(contrast="range", scale=None).fit(model, v)
    assert sorted(set(np.concatenate(seen[1:]))) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert imp.importances_[0] == pytest.approx(1.0, rel=1e-14)


# --- categorical features, groups, several grids at once --------------------------

LEVELS = np.array(["low", "high", "mid", "high"], dtype=object)
EFFECT = {"low": -1.0, "mid": 0.5, "high": 2.0, None: 0.25}


def mixed_frame(library):
    """String, category, boolean and integer columns, missing values among them."""
    random = np.random.RandomState(3)
    strings = LEVELS[random.randint(0, 4, N)]
    strings[[2, 9]] = None
    numbers = random.randn(N)
    columns = {
        "text": list(strings),
        "flag": [bool(b) for b in random.randint(0, 2, N)],
        "code": [int(c) for c in random.choice([10, 20, 30], N)],
        "number": list(numbers),
    }
    if library == "pandas":
        frame = pd.DataFrame(columns)
        frame["code"] = frame["code"].astype("category")
        return frame
    return pl.DataFrame(columns)


def on_frame(X):
    """A model that reads the columns as they are."""
    get = X.get_column if hasattr(X, "get_column") else X.__getitem__
    text = [EFFECT[None if v is None or v != v else v] for v in get("text").to_list()]
    flag = np.array(get("flag").to_list(), dtype=float)
    code = np.array(get("code").to_list(), dtype=float) / 10
    number = np.array(get("number").to_list(), dtype=float)
    return np.array(text) * (1 + flag) + code * number


def as_objects(frame):
    """The same rows as an object array, for the double loop."""
    get = frame.get_column if hasattr(frame, "get_column") else frame.__getitem__
    columns = [get(c).to_list() for c in ("text", "flag", "code", "number")]
    columns[0] = [None if v is None or v != v else v for v in columns[0]]
    rows = np.empty((N, 4), dtype=object)
    for j, column in enumerate(columns):
        rows[:, j] = column
    return rows


def on_objects(X):
    """`on_frame` for object rows."""
    return np.array(
        [[EFFECT[t] * (1 + float(b)) + float(c) / 10 * float(x)] for t, b, c, x in X]
    )


@pytest.mark.parametrize(
    ("library", "grid", "contrast"),
    pairwise(
        ["pandas", "polars"],
        ["all", "equidistant", "deciles", 2],
        ["pairs", "observed", "range"],
    ),
    ids=str,
)
def test_categorical_features_and_groups_take_all_levels(library, grid, contrast):
    """Under every named grid, jointly in a group, whatever the columns' types."""
    frame = mixed_frame(library)
    features = {"text": "text", "flag": "flag", "code": 2, "both": ["text", "number"]}
    imp = SensitivityImportance(
        contrast=contrast,
        grid=grid,
        scale=None,
        estimation="exact",
        features=features,
        categorical_features=["code"],
    ).fit(on_frame, frame, sample_weight=WEIGHTS)
    kept = WEIGHTS > 0
    rows = as_objects(frame)[kept]
    for e, columns in enumerate([(0,), (1,), (2,), (0, 3)]):
        expected = sensitivity(on_objects, rows, columns, contrast, WEIGHTS[kept])
        np.testing.assert_allclose(imp.importances_[e], expected[0], rtol=1e-10)


def test_category_of_numbers_is_categorical():
    """A pandas category stays one even if its levels are numbers; types are kept."""
    frame = mixed_frame("pandas")
    seen = set()

    def model(X):
        seen.add((str(X["code"].dtype), str(X["flag"].dtype)))
        return np.asarray(X["code"].astype(float))

    imp = SensitivityImportance(contrast="range", scale=None, features=["code", "flag"])
    imp.fit(model, frame)
    assert seen == {("category", "bool")}
    assert imp.importances_.tolist() == [20.0, 0.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_levels_given_by_the_user(library):
    """A dict feature names levels, equally likely; missing keeps its frequency."""
    frame = mixed_frame(library)
    imp = SensitivityImportance(
        scale=None,
        grid={"text": ["low", "high"], "flag": [True]},
        estimation="exact",
    ).fit(on_frame, frame)
    rows = as_objects(frame)
    missing = 2 / N
    expected = sensitivity(
        on_objects,
        rows,
        (0,),
        "pairs",
        None,
        [("low",), ("high",), (None,)],
        [(1 - missing) / 2, (1 - missing) / 2, missing],
    )
    np.testing.assert_allclose(imp.importances_[0], expected[0], rtol=1e-10)
    assert imp.importances_[1] == 0  # one value: nothing moves
    others = sensitivity(on_objects, rows, (3,), "pairs")
    np.testing.assert_allclose(imp.importances_[3], others[0], rtol=1e-10)


def test_group_with_values_given():
    """Rows of the array are joint values, equally likely, repeated ones more so."""
    given = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [1.0, 0.0]])
    imp = SensitivityImportance(
        scale=None, features=[0, [0, 1]], grid={"x0+x1": given}, estimation="exact"
    ).fit(response, X)
    expected = sensitivity(response, X, (0, 1), "pairs", None, given, [0.25] * 4)
    np.testing.assert_allclose(imp.importances_per_output_[1], expected, rtol=1e-10)


BAD_GRIDS = [
    ({"nobody": [1.0]}, "`grid` names 'nobody', which is not among the 2 features"),
    ({"x0": "deciles"}, "must map 'x0' to an array of values, got 'deciles'"),
    ({"x0": [[1.0]]}, "non-empty 1-d array"),
    ({"x0": []}, "non-empty 1-d array"),
    ({"x0": [np.nan]}, "must be finite numbers"),
    ({"x0": ["a"]}, "must be finite numbers"),
    ([np.inf], "must be finite numbers"),
]


@pytest.mark.parametrize(("grid", "message"), BAD_GRIDS)
def test_bad_grids_raise_before_the_model_is_moved(grid, message):
    """Bad values of the last feature too are found before any moved row is asked."""
    asked = []

    def model(X):
        asked.append(len(X))
        return X[:, 0]

    Z = X[:, [1, 0]]
    with pytest.raises(ValueError, match=message):
        SensitivityImportance(scale=None, grid=grid).fit(model, Z)
    assert sum(asked) <= len(Z)


def test_bad_grids_of_levels_groups_and_infinity():
    """Levels that do not occur, groups of another width, infinite columns."""
    frame = mixed_frame("pandas")
    imp = SensitivityImportance(scale=None, grid={"text": ["huge"]})
    with pytest.raises(
        ValueError, match=says("'text' … 'huge' … 'high', 'low', 'mid', nan")
    ):
        imp.fit(on_frame, frame)
    imp = SensitivityImportance(scale=None, features=[[0, 1]], grid=[[1.0]])
    with pytest.raises(ValueError, match=r"shape \(k, 2\)"):
        imp.fit(response, X)
    Z = X[:, :2].copy()
    Z[0, 1] = np.inf
    for grid in ("equidistant", "deciles"):
        imp = SensitivityImportance(scale=None, grid=grid, estimation="exact")
        with pytest.raises(ValueError, match=f"'{grid}' needs finite.*'x1'"):
            imp.fit(lambda X: X[:, 0], Z)


@pytest.mark.parametrize("weights", ["equal", "given"])
@pytest.mark.parametrize("j", range(X.shape[1]))
def test_distinct_values_are_those_of_the_whole_grid(j, weights):
    """The short way by a sort gives the values and probabilities of `make_move`."""
    keep = WEIGHTS > 0
    w = np.ones(keep.sum()) if weights == "equal" else WEIGHTS[keep]
    w, feature = w / w.sum(), Feature("a", (j,))
    for table in (as_table(X[keep]), as_table(pd.DataFrame(X[keep]).astype(object))):
        move = make_move(table, w, feature, "all")
        alone = values_alone(table, w, feature)
        np.testing.assert_array_equal(alone.values, move.values)
        np.testing.assert_allclose(alone.probabilities, move.probabilities, rtol=1e-14)
        assert (alone.categorical, alone.ordered) == (move.categorical, move.ordered)


@pytest.mark.parametrize("grid", [3, "equidistant", {"x0": [0.1, 0.7]}])
def test_grids_of_single_precision_hold_what_the_model_is_given(grid):
    """An array of single precision rounds a value put into it; the grid says so."""
    single = X[:, :1].astype(np.float32)
    seen = []

    def watched(X):
        seen.append(X[:, 0])
        return X[:, 0].astype(np.float64)

    imp = PartialDependenceImportance(grid=grid).fit(watched, single)
    values = imp.curves_["x0"][0]
    assert np.isin(values, np.concatenate(seen)).all()
    assert np.array_equal(values, values.astype(np.float32))


CONTAINERS = {
    "pandas": container_rows.frame("pandas"),
    "pandas extension": container_rows.frame("pandas extension"),
    "polars": container_rows.frame("polars"),
    "objects": container_rows.frame("pandas").to_numpy(dtype=object),
    "array": X,
    "integers": np.arange(60).reshape(12, 5) % 7,
    "truths": np.arange(60).reshape(12, 5) % 7 > 3,
    "sparse": sparse.csr_array(np.arange(60).reshape(12, 5) % 3.0),
}


@pytest.mark.parametrize(("container", "second_grid"), each(CONTAINERS, [3, "all"]))
def test_two_features_move_at_once(container, second_grid):
    """Every value of one meets every value of the other; levels keep their type."""
    table = as_table(CONTAINERS[container])
    n = table.n_samples
    first, second = (
        make_move(table, np.full(n, 1 / n), feature, grid)
        for feature, grid in [
            (Feature("pair", (0, 1)), "all"),
            (Feature("last", (table.n_columns - 1,)), second_grid),
        ]
    )
    both = product_move(first, second)
    chances = np.outer(first.probabilities, second.probabilities)
    np.testing.assert_array_equal(both.probabilities, chances.ravel())
    rows, cells = (a.ravel() for a in np.indices((n, both.n_cells)))
    moved = as_table(table.moved(*both.replaced(rows, cells)))
    k, l = np.divmod(cells, second.n_cells)
    values = first.rows_of_values(k), second.rows_of_values(l)
    expected = {j: table.column(j)[rows] for j in range(table.n_columns)}
    expected |= dict(zip(both.feature.columns, np.hstack(values).astype(object).T))
    for j, of_column in expected.items():
        for found, value in zip(moved.column(j), of_column):
            missing = is_missing(found), is_missing(value)
            assert missing == (True, True) or found == value
        if j in both.feature.columns and table.has_levels(j):
            assert moved.has_levels(j)
    if is_frame(table.native):
        assert list(moved.types())[:2] == list(table.types())[:2]


def test_joint_values_in_the_middle_of_bins_stand_for_the_others():
    """Of the bins of equal probability; the last value may fill several."""
    pairs = np.array([(a, b) for a in range(3) for b in range(4)], dtype=float)
    weights = np.append(np.full(11, 0.05), 0.45)
    both = Feature("both", (0, 1))
    move = QuantileGrid(4, 4)(as_table(pairs), weights, both, frozenset())
    # the middles of four bins, 0.125, 0.375, 0.625 and 0.875, lie in these values
    np.testing.assert_array_equal(move.values, pairs[[2, 7, 11]])
    np.testing.assert_allclose(move.probabilities, [0.25, 0.25, 0.5])


@pytest.mark.parametrize("n_missing", [0, 7])
def test_each_row_goes_with_the_bin_that_holds_it(n_missing):
    """Each of 4 bins has 15 of 60 values; missing values are a cell of their own."""
    x = np.append(np.random.RandomState(0).permutation(60), np.full(n_missing, np.nan))
    n = len(x)
    move = QuantileGrid(4)(
        as_table(x[:, np.newaxis]), np.full(n, 1 / n), Feature("x0", (0,)), frozenset()
    )
    bins = np.where(np.isnan(x), 4, x // 15)
    assert np.array_equal(move.nearest, bins)
    np.testing.assert_array_equal(move.values[:4], [7.0, 22.0, 37.0, 52.0])


@pytest.mark.parametrize("grid", [3, "deciles", [0.1, 0.7]])
@pytest.mark.parametrize("kinds", [["null"], ["NaN", "null"]])
def test_nulls_are_cells_with_their_own_chances(grid, kinds):
    """Behind the known values, whose chances are those beside NaN."""
    random = np.random.RandomState(0)
    x, weights = random.rand(30), random.dirichlet(np.ones(30))
    missing = np.repeat([0, 1, 2], [20, 7, 3]) % (len(kinds) + 1)
    plain = np.where(missing, np.nan, x)[:, np.newaxis]
    feature = Feature("x0", (0,))
    expected = make_move(as_table(plain), weights, feature, grid)
    values = [
        None if kind and kinds[kind - 1] == "null" else np.nan if kind else float(v)
        for v, kind in zip(x, missing)
    ]
    frame = pl.DataFrame({"x0": pl.Series(values, dtype=pl.Float64)})
    move = make_move(as_table(frame), weights, feature, grid)
    n = len(expected.values) - 1
    assert np.isnan(expected.values).tolist() == [False] * n + [True]
    np.testing.assert_array_equal(move.values[:n], expected.values[:n])
    masses = [weights[missing == k + 1].sum() for k in range(len(kinds))]
    np.testing.assert_allclose(move.probabilities[:n], expected.probabilities[:n])
    np.testing.assert_allclose(np.sort(move.probabilities[n:]), np.sort(masses))
    for donor, mass in zip(move.donors[n:, 0], move.probabilities[n:]):
        assert mass == pytest.approx(masses[missing[donor] - 1], rel=1e-12)
    assert (move.donors[:n] == -1).all()
