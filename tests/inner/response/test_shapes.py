"""Every reduction over every shape of curves, and one more of each."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from own_reduction import SquaredPairs
from response_oracle import beside_black_box, problem_of
from roundoff import roundoff
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.svm import SVR

from skvarimp._data.table import Feature
from skvarimp._measures.problem import Request
from skvarimp._response.basis import Basis
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.line import Lines, StraightLines
from skvarimp._response.losses import (
    AbsoluteErrorLoss,
    LogLoss,
    Loss,
    SquaredErrorLoss,
    values_of,
)
from skvarimp._response.mean_curves import IndividualFlatness, PartialDependence
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.rows import Rows
from skvarimp._response.shape import (
    Cells,
    Chunk,
    Dense,
    Shape,
    _mass_below,
    reduced,
)
from skvarimp._response.steps import StepCurves, Steps

N = 60
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(N, 3)
Y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.2 * RANDOM.randn(N)
THREE = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
WEIGHTS /= WEIGHTS.sum()


class Products(Shape):
    """A shape of one's own: each row's curve is a multiple of one curve."""

    def __init__(self, rows, cells, factors, curve):
        super().__init__(rows, cells)
        self.factors, self.curve = factors, curve

    def sums(self, weights):
        """Known without any row's curve."""
        return ((self.factors @ weights)[..., np.newaxis] * self.curve)[np.newaxis]

    def parts(self):
        """The curves by their values."""
        moved = self.factors[:, :, np.newaxis] * self.curve
        ice = moved + self.rows.base[:, :, np.newaxis]
        yield Chunk(self.rows, self.cells, ice[np.newaxis])


def shapes_of_models():
    """(name, kind of shape, shape, the same curves by their values)."""
    models = [
        ("straight lines", StraightLines, Ridge().fit(X, Y)),
        ("two lines", StraightLines, Ridge().fit(X, np.column_stack([Y, -2 * Y]))),
        ("logistic", Lines, LogisticRegression(C=9).fit(X, Y > 0)),
        ("exponential", Lines, PoissonRegressor().fit(X, np.exp(Y))),
        ("softmax", Basis, LogisticRegression(C=9).fit(X, THREE)),
        ("machine", Basis, SVR(C=5.0).fit(X, Y)),
        ("parabolas", Basis, KernelRidge(kernel="poly", degree=2).fit(X, np.c_[Y, -Y])),
    ]
    for name, kind, model in models:
        problem, response = problem_of(model, X)
        walk = problem.walk(response, [Feature("x0", (0,))], [Request("all", [], [])])
        move, rows = walk.moves[0], replace(problem.rows, weights=WEIGHTS)
        (shape,) = response.shapes(rows, move)
        ice = BlackBoxResponse(problem.model, len(problem.base)).curves(rows, move)
        yield name, kind, shape, Dense(rows, Cells.of(move), ice[np.newaxis])


def other_shapes():
    """Steps, and the shape of one's own."""
    random = np.random.RandomState(2)
    base, y = random.randn(2, N), random.randn(N, 2)
    probabilities = np.random.RandomState(1).rand(1, 9)
    probabilities /= probabilities.sum()
    rows = Rows(None, np.arange(N), WEIGHTS, base, None, y)
    given = rows, Cells(probabilities)
    counts = random.randint(0, 4, N)
    positions = [np.sort(random.permutation(8)[:c] + 1) for c in counts]
    steps = Steps(
        random.randn(2, N),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(positions).astype(int),
        random.randn(2, counts.sum()),
        9,
    )
    every = np.arange(N)
    ice = base[:, :, np.newaxis] + steps.by_group(np.ones(N), every, N)
    dense = Dense(*given, ice[np.newaxis])
    yield "steps", StepCurves, StepCurves(*given, steps), dense
    factors, curve = random.randn(2, N), random.randn(9)
    ice = base[:, :, np.newaxis] + factors[:, :, np.newaxis] * curve
    dense = Dense(*given, ice[np.newaxis])
    yield "one's own", Products, Products(*given, factors, curve), dense


SHAPES = [*shapes_of_models(), *other_shapes()]
REDUCTIONS = [
    Pairs(),
    Observed(),
    Range(),
    PartialDependence.over("std", N, 7),
    PartialDependence.over("range", N, N),
    IndividualFlatness("std"),
    SquaredErrorLoss(values_of).reduction(False),
    AbsoluteErrorLoss(values_of).reduction(False),
    Loss(lambda y, f: np.mean(np.sign(y[:, 0].T[..., None] - f), 0)),
    Loss(lambda y, f: np.mean(np.exp(-f / 9), 0), smooth=True),
    SquaredPairs(),
]


@pytest.mark.parametrize("case", SHAPES, ids=[name for name, *_ in SHAPES])
def test_every_reduction_over_every_shape(case):
    """The states are those of the curves' values."""
    _, kind, shape, dense = case
    assert type(shape) is kind
    size = np.abs(dense.ice).max()
    for one, other in zip(reduced(REDUCTIONS, shape), reduced(REDUCTIONS, dense)):
        one = one.on_cells()
        for name in ("rows", "cells", "sketch", "apart"):
            of_shape, of_values = getattr(one, name), getattr(other, name)
            if of_shape is not None and of_values is not None:
                np.testing.assert_allclose(
                    of_shape, of_values, rtol=1e-9, atol=1e-11 * size, err_msg=name
                )


@pytest.mark.parametrize("steepness", [0.5, 2.0, 8.0, 60.0])
def test_log_loss_of_smooth_links(steepness):
    """Nodes where the loss is smooth, values where probabilities are clipped."""
    for y in (THREE > 0, THREE):
        model = LogisticRegression(C=100.0, max_iter=1000).fit(X, y)
        model.coef_ *= steepness / np.abs(X @ model.coef_.T).max()
        problem, response = problem_of(model, X, WEIGHTS)
        problem.y = y.astype(int)
        loss = LogLoss(problem.model.class_lists).reduction(relative=False)
        request = Request("all", [loss], [np.ones(1)])
        features = [Feature(f"x{j}", (j,)) for j in range(3)]
        for fast, slow in beside_black_box(problem, response, features, [request]):
            for name in ("importances", "standard_errors"):
                np.testing.assert_allclose(
                    getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-12
                )


def test_steep_curves_keep_no_wide_basis():
    """Nearly a step: more nodes would be needed than there are cells."""
    random = np.random.RandomState(0)
    wide = random.randn(400, 2)
    model = LogisticRegression().fit(wide, wide[:, 0] > 0)
    model.coef_ *= 1e4
    problem, response = problem_of(model, wide)
    walk = problem.walk(response, [Feature("x0", (0,))], [Request("all", [], [])])
    (shape,) = response.shapes(walk.rows, walk.moves[0])
    (state,) = reduced([PartialDependence.over("std", 400, 50)], shape)
    assert state.basis is None
    assert state.sketch.shape[-2:] == (50, 400)


def test_steps_of_blocks_are_joined_in_the_order_of_the_rows():
    """Blocks of several rows, of one row, and without a step."""
    random, parts, dense = np.random.RandomState(0), [], []
    for counts in ([2, 0, 3], [1], [0, 0], [4, 1]):
        positions = [np.sort(random.permutation(5)[:c] + 1) for c in counts]
        first, jumps = random.randn(2, len(counts)), random.randn(2, sum(counts))
        starts = np.append(0, np.cumsum(counts))
        where = np.concatenate(positions).astype(int)
        parts.append(Steps(first, starts, where, jumps, 6))
        curves = np.repeat(first[:, :, np.newaxis], 6, axis=2)
        for i, (begin, end) in enumerate(pairwise(starts)):
            for at, jump in zip(where[begin:end], jumps[:, begin:end].T):
                curves[:, i, at:] += jump[:, np.newaxis]
        dense.append(curves)
    joined, n_rows = Steps.joined(parts), 8
    found = joined.by_group(np.ones(n_rows), np.arange(n_rows), n_rows)
    expected = np.concatenate(dense, axis=1)
    np.testing.assert_allclose(found, expected, atol=roundoff(5, expected))


@pytest.mark.parametrize("equal", [True, False])
def test_masses_below_of_sorted_curves(equal):
    """Once for all curves where the cells are equally probable, else for each."""
    curves = np.random.RandomState(0).randn(2, 3, 4, 5)
    chances = np.full(5, 0.2) if equal else np.array([0.1, 0.2, 0.2, 0.2, 0.3])
    chances = np.broadcast_to(chances, (2, 1, 1, 5))
    order = np.argsort(curves, axis=-1)
    found = _mass_below(chances, order + 5 * np.arange(24).reshape(2, 3, 4, 1))
    assert found.shape == ((1, 1, 1, 4) if equal else (2, 3, 4, 4))
    for at in np.ndindex(2, 3, 4):
        of_curve = np.broadcast_to(found, (2, 3, 4, 4))[at]
        expected = [chances[0, 0, 0, order[at][: k + 1]].sum() for k in range(4)]
        np.testing.assert_allclose(of_curve, expected, rtol=1e-15)
