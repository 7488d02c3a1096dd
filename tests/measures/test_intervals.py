"""One fit, one interval: every table and picture of a fit shows the same ends."""

import numpy as np
import pytest
from combinations import each, half
from notebook_bars import bars_behind
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge

from skvarimp import (
    ALEImportance,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
    compare_importances,
    importance_by_cohort,
    rank_intervals,
)

pd = pytest.importorskip("pandas")
random = np.random.default_rng(0)
X = pd.DataFrame(random.exponential(size=(60, 3)), columns=list("abc"))
Y = X["a"] ** 2 + X["b"] + 0.1 * random.standard_normal(60)
FOREST = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y)
LINEAR = LinearRegression().fit(X, Y)
HOW = [
    {"estimation": "exact"},
    {"estimation": "sampled", "random_state": 0},
    {"estimation": "sampled", "tol": 0.1, "n_draws": 300, "random_state": 0},
    {"estimation": "rows", "random_state": 0},
    {"estimation": "exact", "contrast": "range"},
]


def ends(frame):
    """Lower and upper ends, (n_features, 2), in the order of the features' names."""
    frame = frame if frame.index.name == "feature" else frame.set_index("feature")
    return frame.sort_index()[["lower", "upper"]].to_numpy()


def drawn(container, names):
    """Ends of the lines of a picture, of bars that stand in the order of `names`."""
    (lines,) = container.lines[2]
    order = np.argsort(names)
    return np.array([of_one[:, 0] for of_one in lines.get_segments()])[order]


@pytest.mark.parametrize(
    ("how", "weighted"),
    half(each(HOW, [False, True])),
    ids=lambda how: "-".join(map(str, how.values())) if isinstance(how, dict) else how,
)
def test_one_fit_one_interval(how, weighted):
    """With rows kept or not, in all that shows an interval."""
    plt = pytest.importorskip("matplotlib.pyplot")
    weights = np.arange(60) % 4 + 0.5 if weighted else None
    keeping, not_keeping = (
        SensitivityImportance(keep_rows=keep, **how) for keep in (True, False)
    )
    expected = None
    for measure in (keeping, not_keeping):
        measure.fit(FOREST, X, Y, sample_weight=weights)
        if expected is None:
            expected = ends(measure.interval())
            assert np.all(expected[:, 0] < expected[:, 1])
        close = {"rtol": 1e-12, "atol": 1e-15}
        np.testing.assert_allclose(ends(measure.interval()), expected, **close)
        table = measure.to_frame(confidence=0.95)
        np.testing.assert_allclose(ends(table), expected, **close)
        per_output = measure.to_frame(per_output=True, confidence=0.95)
        np.testing.assert_allclose(ends(per_output), expected, **close)

        if measure.keep_rows != weighted:
            continue  # pictures, which take long, of one of the two
        names = measure.to_frame()["feature"]
        bars = measure.plot()
        np.testing.assert_allclose(drawn(bars.errors_, names), expected, **close)
        outputs = measure.plot(per_output=True)
        (of_output,) = outputs.errors_.values()
        np.testing.assert_allclose(drawn(of_output, names), expected, **close)
        compared = compare_importances(
            {"forest": FOREST}, X, Y, {"s": measure}, sample_weight=weights
        )
        (of_model,) = compared.plot().errors_.values()
        np.testing.assert_allclose(drawn(of_model, names), expected, **close)

        plt.close("all")

        for shown, order in (
            (measure, measure.features_),
            (compared, compared.features),
        ):
            (numbers,) = bars_behind(shown).values()
            found = numbers[1:].reshape(2, 3)[:, np.argsort(order)].T
            np.testing.assert_allclose(found, expected, **close)

    ranks, importances = rank_intervals(keeping).to_frame(), keeping.to_frame()
    assert ranks["importance"].tolist() == importances["importance"].tolist()
    assert np.all(ends(ranks)[:, 0] <= expected[:, 0])  # they hold together: wider
    assert np.all(ends(ranks)[:, 1] >= expected[:, 1])


def test_the_error_of_drawing_is_in_every_interval():
    """Two draws a row: wider than the sampling error alone, with rows kept or not."""
    for keep in (False, True):
        measure = SensitivityImportance(
            estimation="sampled", n_draws=4, keep_rows=keep, random_state=0
        ).fit(FOREST, X, Y)
        table = measure.to_frame(confidence=0.95).set_index("feature").loc[["a", "b"]]
        assert np.all(table["monte_carlo_error"] > 0)
        both = np.hypot(table["standard_error"], table["monte_carlo_error"])
        assert np.all(table["upper"] - table["lower"] > 2 * 1.96 * both)


@pytest.mark.parametrize(
    "measure",
    [
        ALEImportance(),
        PermutationImportance(rows="oob"),
        ImpurityImportance(rows="oob"),
        SobolImportance(order="first"),
    ],
    ids=lambda measure: type(measure).__name__,
)
def test_intervals_exist_wherever_standard_errors_do(measure):
    """And take Student's quantile, of 59 degrees of freedom, where not corrected."""
    measure.fit(FOREST, X, Y)
    table = measure.to_frame(confidence=0.9).set_index("feature")
    np.testing.assert_allclose(ends(measure.interval(0.9)), ends(table), rtol=1e-12)
    if measure.result_.skewness is None:
        half = 1.6710930321 * table["standard_error"]  # Student's 95th percentile
        np.testing.assert_allclose(table["upper"] - table["importance"], half)


def test_without_standard_errors_there_are_no_intervals():
    """The frame has NaN, the interval says what to do; bars have no lines."""
    plt = pytest.importorskip("matplotlib.pyplot")
    measure = ImpurityImportance().fit(FOREST)
    table = measure.to_frame(confidence=0.95)
    assert table[["lower", "upper"]].isna().all(axis=None)
    assert measure.plot().errors_ is None
    plt.close("all")
    with pytest.raises(ValueError, match=r"needs standard errors.*across_folds"):
        measure.interval()
    with pytest.raises(ValueError, match="confidence == 95"):
        measure.to_frame(confidence=95)


def test_a_cohort_of_all_rows_has_the_interval_of_the_importance():
    """Of exact and of drawn numbers, the error of drawing included."""
    for how in HOW[:2]:
        measure = SensitivityImportance(keep_rows=True, **how).fit(LINEAR, X, Y)
        table = importance_by_cohort(measure, ["all"] * 60, confidence=0.9).to_frame()
        np.testing.assert_allclose(
            ends(table), ends(measure.interval(0.9)), rtol=1e-9, atol=1e-12
        )


def test_columns_in_batches_have_the_same_intervals():
    """Stored values of sparse columns stand for rows, the other rows for one more."""
    rng = np.random.default_rng(1)
    some = sparse.random_array((80, 300), density=0.1, rng=rng, format="csc")
    weights = np.arange(80) % 3 + 0.5
    ridge = Ridge().fit(some, some @ np.arange(300.0))
    for contrast in ("pairs", "observed"):
        fits = [
            SensitivityImportance(
                contrast=contrast, scale=None, estimation="exact", keep_rows=keep
            ).fit(ridge, rows, sample_weight=weights)
            for rows, keep in ((some, False), (some, True), (some.toarray(), False))
        ]
        expected, *others = (ends(fit.interval()) for fit in fits)
        size = np.abs(expected).max()
        for found in others:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)


def test_joint_intervals_at_another_confidence():
    """As if the ranks had been asked for at that confidence."""
    imp = SensitivityImportance(keep_rows=True, scale=None).fit(LINEAR, X)
    wide, narrow = (rank_intervals(imp, confidence=c) for c in (0.99, 0.8))
    np.testing.assert_array_equal(narrow.ends(0.99), wide.joint_ends)
    np.testing.assert_array_equal(narrow.ends(0.8), narrow.joint_ends)
    assert np.all(wide.joint_ends[1] > narrow.joint_ends[1])
