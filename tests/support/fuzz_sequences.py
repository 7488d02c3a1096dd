"""Fuzzed calls of `skvarimp.sequence`."""

import functools
import warnings

import numpy as np
import pandas as pd
from fuzz_containers import chance, chosen
from fuzz_inputs import ODD, parameters
from fuzz_models import bounded
from fuzz_verdict import judge, require
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from skvarimp.sequence import (
    MotifDisplay,
    MotifProfile,
    OligomerHeatmapDisplay,
    OligomerVectorizer,
    OligomerWeights,
    PositionalOligomerImportance,
    SequenceLogoDisplay,
    oligomer_frequencies,
    weighted_degree_kernel,
)

ALPHABETS = ["ACGT", "AB", "A", "aAbB", "ACGTN", "", "AA", "é€", "A\x00", 3, None]


def some_sequences(draw, length):
    """Sequences of one length, or something else."""
    n = chosen(draw, [6, 2, 1, 0])
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    letters = chosen(draw, ["ACGT", "ACGT", "AB", "ACGTN", "acgt", "A", "é€\U0001f600"])
    rows = ["".join(rng.choice(list(letters), length)) for _ in range(n)]
    return chosen(
        draw,
        [
            rows,
            rows,
            np.array(rows, dtype=str),
            np.array(rows, dtype=object),
            pd.Series(rows, dtype="string"),
            pd.Series(rows, index=np.arange(n)[::-1], dtype=object),
            pd.Series(rows, dtype="category"),
            [row.encode() for row in rows],
            np.array([row.encode() for row in rows]),
            [*rows, "A"],
            [*rows, None],
            [*rows, 3],
            [*rows, ""],
            np.array([list(row) for row in rows]),
            pd.DataFrame({"a": rows}),
            "ACGT",
            None,
            rng.standard_normal((n, 2)),
            sparse.csr_array(np.eye(2)),
            (row for row in rows),
            [[rows]],
        ],
    )


def some_weights(draw, length):
    """Weights built by hand, or a model to unfold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    order = chosen(draw, [1, 2, 3])
    rows = length - order + 1
    if rows < 1:
        return bounded
    kind = draw(st.integers(0, 5))
    if kind <= 2:
        table = rng.standard_normal((rows, 4**order))
        table *= chosen(draw, [1.0, 1e300, 1e-300, 0.0])
        return OligomerWeights({order: table})
    x = ["".join(rng.choice(list("ACGT"), length)) for _ in range(12)]
    y = np.arange(12) % chosen(draw, [2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == 3:
            steps = OligomerVectorizer(order), LogisticRegression()
            return make_pipeline(*steps).fit(x, y)
        if kind == 4:
            kernel = functools.partial(weighted_degree_kernel, degree=order)
            return chosen(draw, [SVC, SVR])(kernel=kernel).fit(np.array(x), y)
        gram = weighted_degree_kernel(x, degree=order)
        return SVC(kernel="precomputed").fit(gram, y)


def sequence_call(draw, part):
    """Any class or function of the subpackage."""
    length = chosen(draw, [6, 3, 1, 0])
    X = some_sequences(draw, length)
    which = chosen(draw, list(_CALLS))
    call, state = _CALLS[which](draw, X, length)
    judge(call, (X,), (which, X, state))


def _vectorizer(draw, X, length):
    options = {
        "max_order": [2, 1, 3, 60],
        "alphabet": ALPHABETS,
        "normalize": [True, False],
        "unknown": ["error", "ignore"],
    }
    given = {"max_order": 2} | draw(parameters(options))
    other = some_sequences(draw, length)

    def call(ours):
        vectorizer = OligomerVectorizer(**given)
        features = vectorizer.fit_transform(X)
        require(np.all(np.isfinite(features.data)), "a feature is not finite")
        require(len(vectorizer.get_feature_names_out()) == features.shape[1], "names")
        vectorizer.transform(other)

    return call, (given, other)


def _kernel(draw, X, length):
    options = {
        "degree": [2, 1, 3, 50],
        "shift": [0, 1, 100],
        "normalize": [True, False],
        "alphabet": ALPHABETS,
        "unknown": ["error", "ignore"],
    }
    given = {"degree": 2} | draw(parameters(options))
    Y = chosen(draw, [None, some_sequences(draw, length)])

    def call(ours):
        kernel = weighted_degree_kernel(X, Y, **given)
        require(np.all(np.isfinite(kernel)), "the kernel is not finite")

    return call, (given, Y)


def _frequencies(draw, X, length):
    options = {
        "order": [1, 2, 50],
        "per_position": [False, True],
        "pseudocount": [0.0, 1.0, 1e308],
        "alphabet": ALPHABETS,
        "unknown": ["error", "ignore"],
    }
    given = {"order": 1} | draw(parameters(options))

    def call(ours):
        frequencies = oligomer_frequencies(X, **given)
        require(np.all(np.isfinite(frequencies)), "a frequency is not finite")

    return call, given


def _weights(draw, X, length):
    options = {
        "tables": [
            {1: np.ones((max(length, 1), 4))},
            {2: np.ones((max(length - 1, 1), 16))},
            {1: [[1e308] * 4], "2": [[0.0] * 16]},
            {1: [["a"] * 4]},
            {1: [[np.nan] * 4]},
            {1: np.ones((2, 3))},
            {40: np.ones((1, 1))},
            {1: sparse.csc_array(np.ones((max(length, 1), 4)))},
            [(1, np.ones((1, 4)))],
            {1: np.ones((1, 4)) * 1j},
            {1: np.ones((0, 4))},
        ],
        "intercept": [0.0, 1e308],
        "alphabet": ALPHABETS,
        "unknown": ["error", "ignore"],
    }
    given = {"tables": {1: np.ones((max(length, 1), 4))}} | draw(parameters(options, 5))
    oligomer = chosen(draw, ["A", "AC", "a", "", "ZZ", "ACGTACGT", None, 3, b"A", "é"])
    method = chosen(draw, ["decision_function", "weights_of", "motif_profile"])

    def call(ours):
        weights = OligomerWeights(**given)
        argument = X if method == "decision_function" else oligomer
        result = getattr(weights, method)(argument)
        if isinstance(result, np.ndarray):
            require(not np.isnan(result).any(), "a weight is NaN")

    return call, (given, method, oligomer)


def _unfolded(draw, X, length):
    model = some_weights(draw, length)
    options = {
        "degree": [None, 2, 1],
        "shift": [0, 1],
        "normalize": [True, False],
        "alphabet": ALPHABETS,
        "unknown": ["error", "ignore"],
        "sample_weight": [None, np.ones(12), np.zeros(12), np.ones(3), "a"],
    }
    given = draw(parameters(options))

    def call(ours):
        weights = OligomerWeights.from_estimator(model, X, **given)
        for table in weights.tables.values():
            require(np.all(np.isfinite(table.data)), "a weight is not finite")

    return call, (model, given)


def _importance(draw, X, length):
    weights = some_weights(draw, length)
    options = {
        "order": [1, 2, 3, 30],
        "markov_order": [0, 1, 2, 9],
        "background": [
            "uniform",
            "empirical",
            [0.25] * 4,
            [0.7, 0.1, 0.1, 0.1],
            [1.0, 0.0, 0.0, 0.0],
            [0.5, 0.6, 0.0, 0.0],
            [0.5, 0.5],
            [-0.5, 0.5, 0.5, 0.5],
            [np.nan] * 4,
            np.full(16, 1 / 16),
            np.full((max(length, 1), 4), 0.25),
            [["a"]],
            [[1], [2, 3]],
        ],
    }
    given = {"order": 1} | draw(parameters(options))
    X = chosen(draw, [None, X])
    oligomer = chosen(draw, ["A", "AC", "", "ZZ", None, 3])
    other = chosen(draw, [1, 2, *ODD])

    def call(ours):
        importance = PositionalOligomerImportance(**given).fit(weights, X)
        require(np.all(np.isfinite(importance.importances_)), "importances_ not finite")
        require(len(importance.to_frame()) == importance.importances_.size, "to_frame")
        for ask in (
            lambda: importance.score_of(oligomer),
            lambda: importance.max_by_order(other),
            lambda: importance.motif_profile(oligomer),
        ):
            judge(lambda _, ask=ask: ask(), (), (importance, oligomer, other))

    return call, (given, weights, X, oligomer, other)


def _displays(draw, X, length):
    from fuzz_calls import draw_and_close

    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    values = rng.standard_normal((3, 4)) * chosen(draw, [1.0, 0.0, 1e300, 1e-310])
    matrix = chosen(draw, [values, values[:0], values[:, :0], values.tolist()])
    names = chosen(draw, [list("ACGT"), [], ["$", "é", "", "A"], "ACGT"])
    band = chosen(draw, [values[0], values[0] * np.nan, np.zeros(0)])
    profile = MotifProfile(
        "AC", "importance", np.arange(len(band)), band, band, band, band, abs(band)
    )
    displays = OligomerHeatmapDisplay(matrix, names), MotifDisplay(profile)
    display = chosen(draw, [*displays, SequenceLogoDisplay(matrix, names)])
    if isinstance(display, OligomerHeatmapDisplay) and chance(draw, 2):
        n = chosen(draw, [5, *ODD])
        weights = some_weights(draw, length)

        def call(ours):
            fitted = PositionalOligomerImportance(1).fit(weights, None)
            plot = OligomerHeatmapDisplay.from_importance
            draw_and_close(plot, fitted, n_oligomers=n)

        return call, (weights, n)
    return lambda ours: draw_and_close(display.plot), (display, matrix, names, band)


_CALLS = {
    "vectorizer": _vectorizer,
    "kernel": _kernel,
    "frequencies": _frequencies,
    "weights": _weights,
    "unfolded": _unfolded,
    "importance": _importance,
    "displays": _displays,
}
