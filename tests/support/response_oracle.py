"""A fast response against the black box: every reduction, grid, group and weight."""

import numpy as np

from skvarimp._data.table import resolve_features
from skvarimp._measures.problem import Request, make_problem
from skvarimp._response import probe as _probe
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.losses import (
    AbsoluteErrorLoss,
    Loss,
    OwnShare,
    SquaredErrorLoss,
    TotalShare,
    values_of,
)
from skvarimp._response.mean_curves import IndividualFlatness, PartialDependence
from skvarimp._response.reductions import Observed, Outcome, Pairs, Range
from skvarimp._response.rounds import DrawnUnits
from skvarimp._response.walk import finished_positions, run_walk


def reductions(problem, every):
    """Every reduction, or the first four."""
    n_rows, n_groups = problem.table.n_samples, 7
    wanted = [
        Pairs(),
        Observed(),
        Range(),
        PartialDependence.over("std", n_rows, n_groups),
        PartialDependence.over("range", n_rows, n_rows),
        PartialDependence.over("auto", n_rows, n_groups),
        IndividualFlatness("std"),
        IndividualFlatness("auto"),
        AbsoluteErrorLoss(values_of).reduction(False),
        SquaredErrorLoss(values_of).reduction(True),
        TotalShare(),
        OwnShare.over("variance", n_rows, n_rows),
    ]
    return wanted if every else wanted[:4]


def walks_asked(problem, features, grids, n_full):
    """Yield (features, requests): all grids, each move once.

    All reductions over the first `n_full` grids, four over the others; the scale
    differs by output. Groups and categories go through all values also where a grid is
    named, and so do the features that a dict does not name: the first walk has their
    moves.
    """
    scale = 1.0 + np.arange(len(problem.base))
    for g, grid in enumerate(grids):
        wanted = reductions(problem, every=g < n_full)
        scales = [np.ones(1) if isinstance(r, Loss) else scale for r in wanted]
        request = Request(grid, wanted, scales)
        if g == 0:
            # the range alone is reduced for many columns at once
            yield features, [request, Request("equidistant", [Range()], [scale])]
            continue
        moves = [make_move(problem.table, problem.weights, e, grid) for e in features]
        others = [
            e for e, m in zip(features, moves) if grid == "all" or m.codes is None
        ]
        if others:
            yield others, [request]


class RememberedCurves(BlackBoxResponse):
    """The black box, which is asked once about each feature and grid of a problem."""

    def __init__(self, problem):
        super().__init__(problem.model, len(problem.base))
        self._problem, self._known = problem, {}

    def curves(self, rows, move):
        """See `Response.curves`."""
        assert rows.table is self._problem.table
        donors = None if move.donors is None else move.donors.tobytes()
        own = move.codes is None
        key = move.feature, donors, own, repr(np.asarray(move.values).tolist())
        if key not in self._known:
            self._known[key] = super().curves(self._problem.rows, move)
        return self._known[key][:, rows.index]


def problem_of(model, X, weights=None, method="auto"):
    """The problem, any y, and the fast response."""
    problem = make_problem(model, X, None, weights, method)
    problem.y = np.random.RandomState(5).randn(*problem.base.T.shape)
    return problem, _probe.fast_response(problem.model, problem.table)


def check_equal(
    model, X, weights=None, method="auto", features=None, grids=None, n_full=1
):
    """Assert that a fast response equals the black box, see `walks_asked`.

    Relative 1e-9 per feature plus 1e-12 of the response's scale.
    """
    problem, fast = problem_of(model, X, weights, method)
    assert not fast.path.startswith("black box")
    return check_response(problem, fast, features, grids, n_full)


def check_response(problem, fast, features=None, grids=None, n_full=1):
    """Assert that a response equals the problem's model in everything; see above."""
    slow = RememberedCurves(problem)
    table = problem.table
    features = resolve_features(features, table.names, table.n_columns)
    grids = ["all", 4] if grids is None else grids
    size = np.abs(problem.base).max() + np.ptp(problem.base)
    for feature in features:
        move = make_move(table, problem.weights, feature, grids[0])
        a, b = fast.curves(problem.rows, move), slow.curves(problem.rows, move)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * size)
        a = fast.mean_curves(problem.rows, move)
        b = slow.mean_curves(problem.rows, move)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * size)
    for some, asked in walks_asked(problem, features, grids, n_full):
        with np.errstate(divide="ignore", invalid="ignore"):  # ratios to a loss of 0
            a = run_walk(problem.walk(fast, some, asked))
            b = run_walk(problem.walk(slow, some, asked))
        for r, (of_fast, of_slow) in enumerate(zip(a, b)):
            for reduction, x, z in zip(asked[r].reductions, of_fast, of_slow):
                name = f"{asked[r].grid} {type(reduction).__name__}"
                _close(x.importances, z.importances, size, name)
                # of squares near 0: half of the digits are rounding
                _close(x.standard_errors, z.standard_errors, 1e3 * size, name)
                assert (x.curves is None) == (z.curves is None)
                for of_x, of_z in zip(x.curves or [], z.curves or []):
                    if of_z is not None:
                        _close(of_x, of_z, size, name)
        if some is features:
            _same_of_some_rows(problem, fast, slow, features, asked)
    return fast


def beside_black_box(problem, fast, features, requests):
    """(outcome of a response, that of the black box) of each reduction asked for."""
    slow = RememberedCurves(problem)
    walks = (problem.walk(response, features, requests) for response in (fast, slow))
    for of_fast, of_slow in zip(*map(run_walk, walks)):
        yield from zip(of_fast, of_slow)


def _same_of_some_rows(problem, fast, slow, features, asked):
    """Numbers of some rows, as estimates from drawn rows ask for."""
    from dataclasses import replace

    rows = np.arange(1, problem.table.n_samples, 2)
    size = np.abs(problem.base).max() + np.ptp(problem.base)
    shares = problem.weights[rows] / problem.weights[rows].sum()
    found, of_drawn = [], DrawnUnits.of_drawn(problem.units, rows, shares)
    for response in (fast, slow):
        walk = problem.walk(response, features, [asked[0]])
        wanted = [[r for r in asked[0].reductions[:3]]]
        part = replace(
            walk,
            rows=replace(walk.rows.alone(rows, of_drawn), y=None),
            reductions=wanted,
            scales=[asked[0].scales[:3]],
            keep_rows=True,
        )
        outcomes = [Outcome.unknown(len(features), len(s)) for s in part.scales[0]]
        for positions, numbers in finished_positions(part):
            for outcome, new in zip(outcomes, numbers):
                outcome.store(list(positions), new)
        found.append(outcomes)
    for of_fast, of_slow in zip(*found):
        _close(of_fast.importances, of_slow.importances, size, "importances")
        _close(of_fast.contributions, of_slow.contributions, size, "rows")
        of_errors = of_fast.standard_errors, of_slow.standard_errors
        _close(*of_errors, 1e3 * size, "errors")  # as those of all rows


def _close(a, b, size, name):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * size, err_msg=name)
