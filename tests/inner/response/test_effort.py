"""How many rows and draws a feature may take, and what it draws next."""

import numpy as np
import pytest

from skvarimp._response.rounds import (
    AUTO_DRAWS,
    BLOCK_ROWS,
    LEAST_DRAWS,
    LEAST_ROWS,
    MOST_ROWS,
    MOST_TIMES,
    Effort,
    Stopping,
)

MANY = 10 * MOST_ROWS


def taken(effort, n_rows, limit):
    """All steps until the draws end, and how many predictions they took."""
    drawn = before = spent = 0
    steps = []
    while (step := effort.step(n_rows, (drawn, before), limit - spent)) is not None:
        first, last, before, more = step
        assert last > first
        assert more > 0
        steps.append(step)
        spent += (last - first) * more
        drawn, before = max(drawn, last), before + more
        assert len(steps) < 50
    return steps, spent


@pytest.mark.parametrize("tol", [None, "auto", 0.01])
@pytest.mark.parametrize("n_rows", [100, BLOCK_ROWS + 1, MANY])
def test_steps_without_a_limit_take_all_that_may_be_taken(tol, n_rows):
    """Rows come first, once each; then further draws of all of them."""
    effort = Effort(6, tol)
    steps, spent = taken(effort, n_rows, np.inf)
    rows = [step for step in steps if step[2] == 0]
    most = min(n_rows, MOST_ROWS) if tol == "auto" else n_rows
    assert [first for first, *_ in rows] == [0, *(last for _, last, *_ in rows[:-1])]
    assert rows[-1][1] == most
    sizes = [last - first for first, last, *_ in rows]
    for k, size in enumerate(sizes[:-1]):  # a block, or as many again
        assert size == BLOCK_ROWS * (1 if tol == "auto" or k == 0 else 2 ** (k - 1))
    again = [step for step in steps if step[2]]
    assert bool(again) == (tol == 0.01)
    before = 6
    for first, last, done, more in again:
        assert (first, last, done) == (0, n_rows, before)
        assert more <= before
        before += more
    assert before == (6 * MOST_TIMES if tol == 0.01 else 6)
    assert spent == effort.evaluations(n_rows) == most * before
    assert effort.most_draws == before


@pytest.mark.parametrize("further", [0, 1, 2, 3, 4, 5])
def test_further_draws_come_in_pairs_within_the_limit(further):
    """Of all rows; no fewer than the least number of draws."""
    effort, n_rows = Effort(6, 0.01), 100
    steps, spent = taken(effort, n_rows, (6 + further) * n_rows + n_rows - 1)
    assert steps[0] == (0, n_rows, 0, 6)
    more = further - further % 2
    expected = [] if more < LEAST_DRAWS else [(0, n_rows, 6, more)]
    assert steps[1:] == expected
    assert spent == n_rows * (6 + sum(step[3] for step in expected))


def test_as_many_rows_as_the_limit_allows():
    """Each with all of its draws."""
    steps, spent = taken(Effort(6, None), 1000, 6 * 70 + 5)
    assert steps == [(0, 70, 0, 6)]
    assert spent == 6 * 70


def test_few_evaluations_make_fewer_draws_of_each_row():
    """Where not all rows, or all of a block, can make all of theirs."""
    effort = Effort(6, None)
    for n_rows, needed in ((100, 600), (MANY, 6 * BLOCK_ROWS)):
        assert effort.within(needed, n_rows) == effort
        fewer = effort.within(needed - 1, n_rows)
        assert fewer == Effort(LEAST_DRAWS, None)
    assert Effort(1, None).within(0, 100) == Effort(1, None)
    assert effort.least_evaluations(MANY) == LEAST_DRAWS * LEAST_ROWS
    assert effort.least_evaluations(3) == LEAST_DRAWS * 3
    assert Effort(1, None).least_evaluations(3) == 3


def test_draws_of_a_measure():
    """Its own number, or the usual one."""
    from skvarimp import SensitivityImportance

    assert Effort.of(SensitivityImportance(tol=0.1)) == Effort(AUTO_DRAWS, 0.1)
    assert Effort.of(SensitivityImportance(n_draws=8)).n_draws == 8


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_errors_to_get_below(unit):
    """A third of the standard error, or half a percent of the largest importance."""
    importances = unit * np.array([[2.0], [0.1], [np.nan]])
    errors = unit * np.array([0.3, 0.003, np.nan])
    for tol, expected in (("auto", [0.1, 0.01, 0.01]), (0.02, [0.04] * 3)):
        stopping = Stopping(3, 1, tol, 1.0)
        stopping.outcome.importances, stopping.outcome.standard_errors = (
            importances,
            errors,
        )
        np.testing.assert_allclose(stopping.goals, unit * np.array(expected))


def test_cautious_errors_of_equal_draws():
    """What 2000 equal draws have missed, they saw at a rate of less than 3 / 2000.

    One more draw as large as the largest change is added to an error that is known.
    """
    stopping = Stopping(2, 1, "auto", 8.0)
    outcome = stopping.outcome
    outcome.n_draws, outcome.draw_share = np.array([2000, 2000]), np.full(2, 1 / 2000)
    outcome.monte_carlo_errors = np.array([0.0, 0.003])
    assert stopping.equal.tolist() == [True, False]
    expected = [8.0 * 3 / 2000, np.hypot(0.003, 8.0 / 2000)]
    np.testing.assert_allclose(stopping.errors, expected, rtol=1e-12)
