"""Fuzzed calls of everything public; each checks its own result."""

import warnings

import numpy as np
from fuzz_containers import chance, chosen, datasets
from fuzz_inputs import ODD, features, models, parameters, targets, weights
from fuzz_models import MODELS, bounded, unfitted
from fuzz_options import (
    CONDITIONAL,
    NAMES,
    OPTIONS,
    SELECTOR_OPTIONS,
    SUITED,
    WITH_FEATURES,
    conditions,
)
from fuzz_refits import refits_call
from fuzz_rows import rows_call
from fuzz_sequences import sequence_call
from fuzz_verdict import judge, require
from hypothesis import strategies as st
from sklearn.feature_selection import SelectFromModel

import skvarimp
from skvarimp import feature_functions, filters


def some_importance(draw, name, data=None, odd_one_in=40):
    """An unfitted instance with fuzzed parameters."""
    given = draw(parameters(OPTIONS[name], odd_one_in))
    if name == "FilterImportance" and "score_func" not in given:
        given["score_func"] = filters.group_statistic
    if data is not None and name in WITH_FEATURES and chance(draw, 4):
        given["features"] = draw(features(data))
    if name in CONDITIONAL and chance(draw, 3):
        given["conditional"] = draw(conditions(data))
    return getattr(skvarimp, name)(**given)


def some_problem(draw, suited=None):
    """Data, y, weights and a model."""
    plain = not chance(draw, 3)
    data = draw(datasets(plain))
    y = draw(targets(data, plain))
    return data, y, draw(weights(data)), draw(models(data, y, suited))


def name_of(importance):
    """Name of an object's class."""
    return type(importance).__name__


SIGNED = {"FilterImportance", "PermutationImportance", "ShapleyImportance"}


def check_importances(importance, ours):
    """What every fitted importance promises: numbers, or our warning why not."""
    values = importance.importances_
    require(values.ndim == 1, "importances_ is not one-dimensional")
    said = bool(ours)
    require(said or not np.isnan(values).any(), f"silent NaN in importances_: {values}")
    infinite = np.isinf(values).any() and name_of(importance) != "FilterImportance"
    require(not infinite, f"infinite importances_: {values}")
    relative = getattr(importance, "relative", False)
    training = getattr(importance, "rows", "training") == "training"
    signed = name_of(importance) in SIGNED or not training
    if not (relative or signed):
        require(not (values < 0).any(), f"negative importances_: {values}")
    require(
        sorted(importance.ranking_) == list(range(1, len(values) + 1)),
        "ranking_ is no permutation",
    )
    errors = importance.standard_errors_
    if errors is not None:
        require(errors.shape == values.shape, "standard_errors_ of another shape")
        require(not np.isinf(errors).any(), f"infinite standard_errors_: {errors}")
        require(not (errors < 0).any(), f"negative standard_errors_: {errors}")
    if getattr(importance, "keep_rows", False) is True:
        kept = importance.influences_
        require(kept.shape[1:] == values.shape, "influences_ of another shape")
    frame = importance.to_frame()
    columns = {"feature", "importance", "standard_error", "rank"}
    if getattr(importance, "directions_", None) is not None:
        columns.add("direction")
    if getattr(importance, "monte_carlo_errors_", None) is not None:
        columns |= {"monte_carlo_error"}
    columns |= set(importance._further_columns())
    require(set(frame.columns) == columns, "to_frame() of other columns")
    require(len(frame) == len(values), "to_frame() of another length")


def importance_call(draw, part):
    """Fit any importance class on anything."""
    name = NAMES[part]
    data, y, weight, model = some_problem(draw, SUITED.get(name))
    importance = some_importance(draw, name, data)
    if name in {"ImpurityImportance", "CoefficientImportance"} and chance(draw, 4):
        data.X = None
    extra = {}
    if name == "ImpurityImportance" and chance(draw, 6):
        extra["tree_weights"] = chosen(draw, [*ODD, [1.0] * 5, [1.0] * 4])
    if chance(draw, 10):
        names = [f"c{j}" for j in range(data.p)]
        extra["feature_names"] = chosen(draw, [names, names, names[:-1], *ODD])
    drawn = chance(draw, 25)

    def call(ours):
        importance.fit(model, data.X, y, sample_weight=weight, **extra)
        check_importances(importance, ours)
        if drawn:
            draw_and_close(importance.plot)

    state = (importance, model, data, y, weight, extra)
    judge(call, (data.X, y, weight), state, may_draw(importance))


def may_draw(importance):
    """Whether NumPy's global generator is asked for: `random_state=None` or so."""
    parameters = getattr(importance, "get_params", dict)()
    return parameters.get("random_state", 0) is None or "score_func" in parameters


def draw_and_close(plot, *arguments, **options):
    """Draw, render, close."""
    import matplotlib.pyplot as plt

    try:
        plot(*arguments, **options)
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
    finally:
        plt.close("all")


def compare_call(draw, part):
    """`compare_importances` of several models and measures."""
    data, y, weight, model = some_problem(draw)
    other = draw(models(data, y))
    measures = [
        some_importance(draw, chosen(draw, NAMES), data)
        for _ in range(draw(st.integers(0, 2)))
    ]
    given = chosen(draw, [measures or None, dict(enumerate(measures)), None])
    estimators = chosen(draw, [[model], {"a": model, "b": other}, model])
    if chance(draw, 10):
        given, estimators = "x", chosen(draw, [{}, None, estimators])

    def call(ours):
        table = skvarimp.compare_importances(
            estimators, data.X, y, given, sample_weight=weight
        )
        for fitted in table.fitted.values():
            check_importances(fitted, ours)
        if part == -1:
            draw_and_close(table.plot)

    state = (estimators, given, data, y, weight)
    judge(call, (data.X, y, weight), state, draws=True)


def some_estimator(draw, measure):
    """An unfitted model, most often one that the measure serves."""
    if chance(draw, 12):
        return chosen(draw, [None, bounded, 3, "ridge"])
    return unfitted(chosen(draw, SUITED.get(measure, list(MODELS))))


def selector_call(draw, part):
    """The selectors, and what they delegate."""
    data = draw(datasets(not chance(draw, 3)))
    y = draw(targets(data, not chance(draw, 3)))
    kinds = [None, lambda e, X, y: np.arange(X.shape[1]), "odd", *NAMES]
    kind = chosen(draw, kinds)
    estimator = some_estimator(draw, kind)
    importance = some_importance(draw, kind) if kind in OPTIONS else kind
    name = chosen(draw, list(SELECTOR_OPTIONS))
    given = draw(parameters(SELECTOR_OPTIONS[name], 40))
    selector = getattr(skvarimp, name)(estimator, importance, **given)
    weight = draw(weights(data))
    given = {} if weight is None else {"sample_weight": weight}
    drawn = chance(draw, 25)

    def call(ours):
        selector.fit(data.X, y, **given)
        if name == "AllRelevantSelector":
            require(selector.support_.shape == (data.p,), "support_ of another shape")
            if drawn:
                draw_and_close(selector.plot)
            return
        require(selector.support_.any(), "nothing is kept")
        require(selector.support_.sum() == selector.n_features_, "counts differ")
        require(np.all(np.isfinite(selector.path_["score"])), "a score is NaN")
        selector.predict(data.X)
        selector.transform(data.X)
        if drawn:
            draw_and_close(selector.plot_path)

    judge(call, (data.X, y, weight), (selector, data, y, weight), draws=True)


def importance_estimator_call(draw, part):
    """`ImportanceEstimator`, alone and within `SelectFromModel`."""
    data = draw(datasets(not chance(draw, 3)))
    y = draw(targets(data, not chance(draw, 3)))
    name = chosen(draw, [*NAMES, None])
    estimator = some_estimator(draw, name)
    importance = "odd" if name is None else some_importance(draw, name, data)
    model = skvarimp.ImportanceEstimator(estimator, importance)
    weight = draw(weights(data))
    given = {} if weight is None else {"sample_weight": weight}

    def call(ours):
        model.fit(data.X, y, **given)
        values = model.feature_importances_
        said = bool(ours) or not np.isnan(values).any()
        require(said, f"silent NaN: {model}, {values}")
        model.predict(data.X)
        if not given and len(values) == model.n_features_in_:
            selector = SelectFromModel(model, threshold=-np.inf, prefit=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    selector.transform(data.X)
                except (ValueError, TypeError):  # scikit-learn's own refusals
                    return

    judge(call, (data.X, y, weight), (model, data, y, weight), draws=True)


def filter_call(draw, part):
    """The filters themselves."""
    data = draw(datasets(draw(st.booleans())))
    y = draw(targets(data))
    name = chosen(draw, filters.__all__)
    options = {
        "lowess_r2": {"frac": [0.5, 1.0, 0.01], "n_iter": [0, 2], "n_fits": [20, 2]},
        "group_statistic": {"groups": ["y", "x", "levels"]},
        "auc": {},
    }[name]
    given = draw(parameters(options, 4))

    def call(ours):
        result = getattr(filters, name)(data.X, y, **given)
        scores, *p_values = result if isinstance(result, tuple) else (result,)
        require(np.shape(scores) == (data.X.shape[1],), "one score per column")
        require(not np.isnan(scores).any(), f"silent NaN: {scores}")
        for p in p_values:
            require(np.all((p >= 0) & (p <= 1)), f"p-values {p}")

    judge(call, (data.X, y), (name, given, data, y))


def feature_function_call(draw, part):
    """Feature functions with odd arguments, called on odd tables."""
    data = draw(datasets())
    names = [n for n in feature_functions.__all__ if n != "FeatureFunction"]
    name = chosen(draw, names)
    plain = [0, 1, "x0", "x1", -1, 0.5, feature_functions.Not(0), [1.0, 2.0], {0: 1.0}]
    members = [7, *ODD] if chance(draw, 5) else plain
    arguments = [chosen(draw, members) for _ in range(draw(st.integers(1, 3)))]
    if name in {"Not", "Linear"}:
        arguments = arguments[:1]

    def call(ours):
        function = getattr(feature_functions, name)(*arguments)
        repr(function)
        function.label(None, data.p)
        values = function(data.X)
        require(np.shape(values) == (data.X.shape[0],), "one value per row")

    judge(call, (data.X,), (name, arguments, data))


def display_call(draw, part):
    """Displays of fitted importances, and built by hand from anything."""
    from fuzz_displays import draw_something

    judge(*draw_something(draw, draw_and_close, some_importance, NAMES))


def refits(draw, part):
    """`importance_across_folds`, `null_importances` and `leave_out_importances`."""
    refits_call(draw, some_importance, some_estimator, NAMES, draw_and_close)


def rows(draw, part):
    """Intervals, ranks, differences and cohorts of importances."""
    rows_call(draw, some_importance, some_problem, check_importances, draw_and_close)


CALLS = {
    "importance": importance_call,
    "compare": compare_call,
    "selector": selector_call,
    "importance_estimator": importance_estimator_call,
    "refits": refits,
    "rows": rows,
    "filter": filter_call,
    "feature_function": feature_function_call,
    "sequence": sequence_call,
    "display": display_call,
}
CALLED = {
    *OPTIONS,
    *SELECTOR_OPTIONS,
    "ImportanceEstimator",
    "Comparison",
    "compare_importances",
    "importance_across_folds",
    "Importances",
    "FoldImportances",
    "FoldsDisplay",
    "importance_across_candidates",
    "CandidateImportances",
    "CandidatesDisplay",
    "null_importances",
    "NullImportances",
    "NullDisplay",
    "leave_out_importances",
    "LeaveOutImportances",
    "rank_intervals",
    "RankIntervals",
    "RanksDisplay",
    "DifferencesDisplay",
    "ImportanceDifferences",
    "CohortImportances",
    "importance_difference",
    "importance_by_cohort",
    "ImportanceDisplay",
    "ComparisonDisplay",
    "CurvesDisplay",
    "MatrixDisplay",
    "OligomerVectorizer",
    "weighted_degree_kernel",
    "OligomerWeights",
    "PositionalOligomerImportance",
    "oligomer_frequencies",
    "MotifProfile",
    "MotifDisplay",
    "OligomerHeatmapDisplay",
    "SequenceLogoDisplay",
}
