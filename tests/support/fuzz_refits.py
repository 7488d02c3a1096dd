"""Fuzzed calls of what refits: folds, permuted y, left-out columns, candidates."""

import numpy as np
from fuzz_containers import chance, chosen, datasets
from fuzz_inputs import features, parameters, targets, weights
from fuzz_verdict import judge, require
from sklearn.model_selection import GroupKFold, KFold

import skvarimp

COMMON = {
    "n_jobs": [None],
    "random_state": [0, np.random.default_rng(0), None],
    "groups": [None, "rows", "one"],
    "params": [None, None, {}, {"nothing": [1.0]}, "groups"],
}
FOLDS = {"cv": [2, 3, None, 50, ()], "rows": ["held_out", "training"], **COMMON}
NULLS = {
    "n_permutations": [3, 1],
    "n_repeats": [1, 2],
    "cv": [None, 2, 50],
    "strata": [None, "rows", "one"],
    **COMMON,
}
LEFT_OUT = {
    "loss": [
        "auto",
        "squared_error",
        "absolute_error",
        "log_loss",
        "zero_one",
        lambda y, f: np.abs(np.asarray(f, dtype=float).reshape(len(y), -1)).sum(1),
        lambda y, f: 1.0,
    ],
    "cv": [2, 3, None, 50, KFold(2, shuffle=True, random_state=0), GroupKFold(2), ()],
    "removal": ["constant", "drop", "auto"],
    **COMMON,
}
CANDIDATES = {
    "within": ["one_standard_error", 0.0, 0.5],
    "max_models": [20, 1],
    "scoring": [None, None, "r2", lambda e, X, y: 0.0],
    "cv": [2, 3, 50, KFold(2, shuffle=True, random_state=0), ()],
    **COMMON,
}
FUNCTIONS = {
    skvarimp.importance_across_folds: FOLDS,
    skvarimp.importance_across_candidates: CANDIDATES,
    skvarimp.null_importances: NULLS,
    skvarimp.leave_out_importances: LEFT_OUT,
}


def refits_call(draw, some_importance, some_estimator, names, draw_and_close):
    """Either function on anything, and its display now and then."""
    data = draw(datasets(not chance(draw, 3)))
    y = draw(targets(data, not chance(draw, 3)))
    kind = chosen(draw, [*names, "odd", lambda e, X, y: np.arange(X.shape[1])])
    estimator = some_estimator(draw, kind)
    importance = some_importance(draw, kind) if kind in names else kind
    function = chosen(draw, list(FUNCTIONS))
    given = draw(parameters(FUNCTIONS[function], 15))
    given |= {"sample_weight": draw(weights(data))}
    asked = [importance]
    if function is skvarimp.null_importances:
        given = {"n_permutations": 3} | given
    if function is skvarimp.leave_out_importances:
        asked = []
        given |= {"features": draw(features(data)) if chance(draw, 3) else None}
    if function is skvarimp.importance_across_candidates:
        # refitted in folds, so that the estimator need not be fitted here
        given, asked = {"cv": 2, "measure": importance} | given, []
        scores = chosen(draw, [[0.1, 0.3], [0.2], 0.2, [np.nan, 0.1], "high"])
        estimator = {"one": (estimator, [0.1, 0.2]), "two": (estimator, scores)}
    for name in ("groups", "strata"):
        if isinstance(given.get(name), str):
            labels = {"rows": np.arange(data.n) // 2, "one": np.zeros(data.n, int)}
            given[name] = labels.get(given[name], given[name])
    drawn = chance(draw, 20)

    def call(ours):
        result = function(estimator, data.X, y, *asked, **given)
        require(bool(ours) or not np.isnan(result.importances).any(), "silent NaN")
        result.to_frame()
        if drawn:
            draw_and_close(result.plot)

    state = function, estimator, importance, given, data, y
    judge(call, (data.X, y), state, draws=True)
