"""What fills in a removed column, against a regression and an enumeration."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from skvarimp._data.table import as_table
from skvarimp._refits.filled import MOST_COLUMNS, FilledColumns, _Column

RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.uniform(0.5, 2.0, 60)


def test_a_number_is_the_closest_to_that_of_a_linear_regression():
    """A penalty of 1e-6 moves a prediction by less than half a gap of the values."""
    X = RANDOM.randn(60, 3) * [1.0, 10.0, 0.1] + [5.0, -3.0, 100.0]
    X[:, 0] = np.round(X[:, 0] + 0.3 * X[:, 1] + 5 * X[:, 2], 1)
    others = X[:, 1:]
    model = LinearRegression().fit(others, X[:, 0], sample_weight=WEIGHTS)
    predicted = model.predict(others)
    gaps = np.sort(np.abs(predicted[:, np.newaxis] - X[:, 0]), axis=1)
    clear = gaps[:, -1] > 0
    nearest = np.abs(predicted[:, np.newaxis] - X[:, 0]).argmin(axis=1)
    donors = FilledColumns(as_table(X), WEIGHTS).donors([0])[:, 0]
    distance = np.abs(predicted - X[donors, 0])
    smallest = np.abs(predicted - X[nearest, 0])
    assert clear.all()
    np.testing.assert_allclose(distance, smallest, atol=1e-3)


def test_a_level_is_the_one_that_a_regression_of_indicators_finds_likeliest():
    """The mean of an indicator is the chance of its level."""
    levels = RANDOM.randint(0, 3, 60)
    x = levels + RANDOM.randn(60)
    X = pd.DataFrame({"level": pd.Categorical(np.array(list("abc"))[levels]), "x": x})
    indicators = 1.0 * (levels[:, np.newaxis] == np.arange(3))
    model = LinearRegression().fit(x[:, np.newaxis], indicators, sample_weight=WEIGHTS)
    likeliest = model.predict(x[:, np.newaxis]).argmax(axis=1)
    donors = FilledColumns(as_table(X), WEIGHTS).donors([0])[:, 0]
    assert np.array_equal(levels[donors], likeliest)


def test_two_columns_are_filled_in_from_the_third():
    """Each by itself, from what neither of them knows."""
    X = RANDOM.randn(60, 3) @ RANDOM.randn(3, 3)
    third = X[:, [2]]
    predicted = LinearRegression().fit(third, X[:, :2], WEIGHTS).predict(third)
    donors = FilledColumns(as_table(X), WEIGHTS).donors([0, 1])
    for column, own, wanted in zip(X.T, donors.T, predicted.T):
        smallest = np.abs(wanted[:, np.newaxis] - column).min(axis=1)
        np.testing.assert_allclose(np.abs(wanted - column[own]), smallest, atol=1e-4)


def test_units_change_nothing():
    """Not even those in which the squares of a column are infinite or 0."""
    X = RANDOM.randn(60, 3) @ RANDOM.randn(3, 3)
    donors = FilledColumns(as_table(X), WEIGHTS).donors([0, 1])
    for scale in (2.0**900, 2.0**-900):
        scaled = FilledColumns(as_table(X * [1.0, scale, scale]), WEIGHTS)
        assert np.array_equal(scaled.donors([0, 1]), donors)


def test_a_column_with_one_known_value_has_it_everywhere():
    """Its row is the only donor, wherever it stands; without any, the first row is."""
    X = RANDOM.randn(60, 3)
    X[:, 0] = np.nan
    assert not FilledColumns(as_table(X), WEIGHTS).donors([0]).any()
    X[7, 0] = 2.0
    assert np.all(FilledColumns(as_table(X), WEIGHTS).donors([0]) == 7)


def test_more_columns_than_a_matrix_holds_are_not_filled_in():
    """The limit itself is one that it holds."""
    X = RANDOM.randn(3, MOST_COLUMNS + 1)
    assert FilledColumns(as_table(X[:, 1:]), np.ones(3)).reason is None
    assert "1000 columns" in FilledColumns(as_table(X), np.ones(3)).reason


def test_a_column_is_seen_by_its_twenty_most_frequent_levels():
    """Level k of 25 has 30 - k rows; the last five are as if they were no level."""
    codes = np.repeat(np.arange(25), 30 - np.arange(25))
    X = pd.DataFrame({"level": pd.Categorical(codes), "x": RANDOM.randn(len(codes))})
    column = _Column(as_table(X), 0, np.ones(len(codes)))
    np.testing.assert_array_equal(column.seen.sum(axis=0), 30 - np.arange(20))
    np.testing.assert_array_equal(codes[column.rows], np.arange(20))


def test_a_constant_column_tells_nothing():
    """Others are filled in as they are without it."""
    X = RANDOM.randn(60, 3)
    beside = np.column_stack([X, np.full(60, 7.0)])
    donors = FilledColumns(as_table(beside), WEIGHTS).donors([0, 1])
    without = FilledColumns(as_table(X), WEIGHTS).donors([0, 1])
    np.testing.assert_array_equal(donors, without)
    assert np.unique(donors[:, 0]).size > 10
