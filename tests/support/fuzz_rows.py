"""Fuzzed calls of what reads the rows that an importance keeps."""

import numpy as np
from fuzz_containers import chance, chosen
from fuzz_inputs import ODD
from fuzz_verdict import judge, require
from hypothesis import strategies as st

import skvarimp

CONFIDENCES = [0.95, 0.5, 0.999, *ODD]
FUNCTIONS = {
    "interval": lambda first, second, given: first.interval(given),
    "rank_intervals": lambda first, second, given: skvarimp.rank_intervals(
        first, confidence=given
    ).to_frame(),
    "difference": lambda first, second, given: skvarimp.importance_difference(
        first, second, confidence=given
    ).to_frame(),
    "by_cohort": lambda first, second, given: skvarimp.importance_by_cohort(
        first, given
    ).to_frame(),
}


@st.composite
def cohorts(draw, n):
    """Labels of rows, most often good ones."""
    good = [
        np.arange(n) % 2,
        np.zeros(n),
        np.array(["a", "b"])[np.arange(n) % 2],
        (np.arange(n) // 2).tolist(),
        np.arange(n),
    ]
    if not chance(draw, 4):
        return chosen(draw, good)
    odd = [np.zeros(n + 1), np.zeros((n, 1)), [None] * n, np.full(n, np.nan), "ab"]
    return chosen(draw, [*ODD, *odd])


def rows_call(draw, some_importance, some_problem, check_importances, draw_and_close):
    """Fit two measures that keep their rows, and ask what the rows say."""
    names = [
        name
        for name in skvarimp.__all__
        if name.endswith("Importance")
        and "keep_rows" in getattr(skvarimp, name)().get_params(deep=False)
    ]
    name = chosen(draw, names)
    data, y, weight, model = some_problem(draw)
    first = some_importance(draw, name, data).set_params(keep_rows=True)
    second = some_importance(draw, chosen(draw, [name, *names]), data)
    second.set_params(keep_rows=not chance(draw, 20))
    asked = chosen(draw, list(FUNCTIONS))
    given = draw(cohorts(data.n)) if asked == "by_cohort" else chosen(draw, CONFIDENCES)
    other = data.X[::-1] if chance(draw, 4) and hasattr(data.X, "strides") else data.X
    drawn = chance(draw, 25)

    def call(ours):
        first.fit(model, data.X, y, sample_weight=weight)
        check_importances(first, ours)
        if asked == "difference":
            second.fit(model, other, y, sample_weight=weight)
        table = FUNCTIONS[asked](first, second, given)
        check_table(table)
        if drawn:
            draw_and_close(first.plot)

    judge(
        call, (data.X, y, weight), (first, second, asked, given, data, y, weight), True
    )


def check_table(table):
    """Bounds in order, errors that are not negative, probabilities."""
    columns = {name: np.asarray(table[name]) for name in table.columns}
    if "lower" in columns:
        crossed = columns["lower"] > columns["upper"]
        require(not crossed.any(), f"bounds in disorder:\n{table}")
    if "standard_error" in columns:
        require(not (columns["standard_error"] < 0).any(), f"negative error:\n{table}")
    for name in {"p_value", "adjusted_p_value"} & columns.keys():
        p = columns[name]
        require(np.all(np.isnan(p) | (p >= 0) & (p <= 1)), f"{name}:\n{table}")
    if "lowest_rank" in columns:
        least, rank, most = (
            columns[n] for n in ("lowest_rank", "rank", "highest_rank")
        )
        inside = (least >= 1) & (least <= rank) & (rank <= most)
        require(inside.all(), f"ranks outside of their intervals:\n{table}")
