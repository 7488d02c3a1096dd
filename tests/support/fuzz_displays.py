"""Fuzzed displays: drawn from fitted measures, and from what users may put in."""

import numpy as np
from fuzz_containers import chosen, datasets
from fuzz_inputs import ODD, models, targets
from hypothesis import strategies as st

from skvarimp import ComparisonDisplay, CurvesDisplay, ImportanceDisplay, MatrixDisplay

LABELS = [["a", "b", "c"], ["$x_1$", "", "a\nb"], ["w" * 200, "é", "b"], [1, 2, 3], []]


def draw_something(draw, draw_and_close, some_importance, names):
    """A call that draws, the objects it must leave alone, and its description."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    scale = chosen(draw, [1.0, 0.0, 1e300, 1e-310, np.nan, np.inf])
    values = rng.standard_normal(3) * (scale if scale else 0.0)
    labels = chosen(draw, LABELS)
    ends = np.outer(values, [1, 2])
    errors = chosen(draw, [None, ends, np.full((3, 2), np.nan), np.ones(2), -1.0])
    which = draw(st.integers(0, 5))
    if which == 0:
        shown = chosen(draw, [values, values.tolist(), values[:0], "abc", None])
        given = {"max_features": chosen(draw, [30, 1, *ODD])}
        state = (ImportanceDisplay, shown, labels, errors, given)

        def call(ours):
            display = ImportanceDisplay(shown, labels, intervals=errors)
            draw_and_close(display.plot, **given)

        return call, (values,), state
    if which == 1:
        grid = chosen(draw, [values, np.array(["a", "b", "c"]), [0, 1, 2], values[:0]])
        averages = chosen(draw, [values[:, None], np.ones((3, 2)), np.ones((2, 1))])
        curves = chosen(
            draw, [[("age", grid, averages)], [], [("$", grid, averages)] * 2]
        )
        deciles = chosen(draw, [None, {"age": values}, {}])
        outputs = chosen(draw, [["y"], ["y", "z"], []])

        def call(ours):
            draw_and_close(CurvesDisplay(curves, outputs, deciles).plot)

        return call, (values,), (CurvesDisplay, curves, outputs, deciles)
    if which == 2:
        square = np.tile(values, (3, 1))
        matrix = chosen(draw, [square, np.ones((3, 2)), [], [[1.0]]])
        label = chosen(draw, ["strength", "$", ""])

        def call(ours):
            draw_and_close(MatrixDisplay(matrix, labels, label).plot)

        return call, (values,), (MatrixDisplay, matrix, labels, label)
    if which == 3:
        importances = chosen(
            draw,
            [{"m": {"a": values, "b": values}}, {"m": {"a": values}}, {}, {"m": {}}],
        )

        def call(ours):
            draw_and_close(ComparisonDisplay(importances, labels).plot)

        return call, (values,), (ComparisonDisplay, importances, labels)
    data = draw(datasets(plain=True))
    y = draw(targets(data, plain=True))
    model = draw(models(data, y))
    name = chosen(draw, names)
    importance = some_importance(draw, name, data)
    method = chosen(
        draw, ["plot", "plot_curves", "plot_association", "curves", "matrix"]
    )
    given = {} if method == "plot" else {"max_features": chosen(draw, [1, *ODD])}

    def call(ours):
        importance.fit(model, data.X, y)
        if method == "curves":
            draw_and_close(CurvesDisplay.from_importance, importance, **given)
        elif method == "matrix":
            draw_and_close(MatrixDisplay.from_importance, importance, **given)
        elif hasattr(importance, method):
            draw_and_close(getattr(importance, method), **given)

    return call, (data.X, y), (importance, method, given, model, data, y), True
