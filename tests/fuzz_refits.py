"""Fuzzed calls of what refits an estimator: stability over folds, null importances."""

import numpy as np
from fuzz_containers import chance, chosen, datasets
from fuzz_inputs import parameters, targets, weights
from fuzz_verdict import judge, require

import skvarimp

COMMON = {
    "n_jobs": [None],
    "random_state": [0, np.random.default_rng(0), None],
    "groups": [None, "rows", "one"],
}
FOLDS = {"cv": [2, 3, None, 50, ()], "rows": ["held_out", "training"], **COMMON}
NULLS = {
    "n_permutations": [3, 1],
    "n_repeats": [1, 2],
    "cv": [None, 2, 50],
    "strata": [None, "rows", "one"],
    **COMMON,
}


def refits_call(draw, some_importance, some_estimator, names, draw_and_close):
    """Either function on anything, and its display now and then."""
    data = draw(datasets(not chance(draw, 3)))
    y = draw(targets(data, not chance(draw, 3)))
    kind = chosen(draw, [*names, "odd", lambda e, X, y: np.arange(X.shape[1])])
    estimator = some_estimator(draw, kind)
    importance = some_importance(draw, kind) if kind in names else kind
    function, options = chosen(
        draw,
        [
            (skvarimp.importance_across_folds, FOLDS),
            (skvarimp.null_importances, NULLS),
        ],
    )
    given = draw(parameters(options, 15)) | {"sample_weight": draw(weights(data))}
    if function is skvarimp.null_importances:
        given = {"n_permutations": 3} | given
    for name in ("groups", "strata"):
        if isinstance(given.get(name), str):
            labels = {"rows": np.arange(data.n) // 2, "one": np.zeros(data.n, int)}
            given[name] = labels.get(given[name], given[name])
    drawn = chance(draw, 20)

    def call(ours):
        result = function(estimator, data.X, y, importance, **given)
        require(bool(ours) or not np.isnan(result.importances).any(), "silent NaN")
        result.to_frame()
        if drawn:
            draw_and_close(result.plot)

    judge(call, (data.X, y), (function, estimator, importance, given, data, y), True)
