"""One word per notion: what parameters are called, and what they are not called.

The page "Glossary" is made from `NOTIONS`, and `tests/package/test_vocabulary.py`
compares every public signature with both tables.
"""

from pathlib import Path

# word -> (what it is, other words that nobody uses for it)
NOTIONS = {
    "rows": (
        "The rows that are evaluated: all, or those out of bag, unseen or held out",
        ("subset", "rows_used", "sample", "samples", "which_rows"),
    ),
    "response_method": (
        "The number that is watched: probabilities, decision function or prediction",
        ("response", "output", "method_name", "predict_method", "watch"),
    ),
    "scale": (
        "What importances are divided by, so that models can be compared",
        ("scaled", "normalise", "normalized", "normalisation", "relative_to", "unit"),
    ),
    "n_draws": (
        "How many donors each row draws",
        ("n_donors", "n_samples", "draws"),
    ),
    "n_repeats": (
        "How often an order of the features, or a refit, is repeated",
        ("n_iterations", "n_times", "repeats", "n_replicates"),
    ),
    "max_evaluations": (
        "The largest number of rows that a model may be asked to predict",
        ("budget", "max_calls", "max_evals", "n_evaluations", "max_predictions"),
    ),
    "confidence": (
        "The share of samples in which an interval holds the truth",
        ("level", "confidence_level", "coverage", "ci"),
    ),
    "cv": (
        "The folds that rows are held out in: a number, a splitter or splits",
        ("n_folds", "n_splits", "splitter", "k_fold"),
    ),
    "groups": (
        "Labels of rows that belong together",
        ("group", "clusters", "blocks", "subjects"),
    ),
    "features": (
        "The features: columns, or groups of columns that move together",
        ("columns", "entries", "variables", "inputs", "feature_idx"),
    ),
    "feature_names": (
        "Names for the columns of an array",
        ("column_names", "labels", "columns_names"),
    ),
    "categorical_features": (
        "The columns whose values have no order besides those that say so",
        ("categories", "cat_features", "categorical", "nominal"),
    ),
    "grid": (
        "The values that a feature moves through",
        ("values_to_try", "n_values", "n_cells", "points", "bins_of"),
    ),
    "n_bins": (
        "The number of bins of equal probability",
        ("n_quantiles", "n_intervals", "resolution"),
    ),
    "estimation": (
        "Whether numbers are exact or estimated from draws",
        ("approximate", "algorithm", "sampling"),
    ),
    "tol": ("The error of drawing at which draws stop", ("tolerance", "precision")),
    "conditional": (
        "What the rows that a feature's values come from have in common",
        ("subgroups", "given", "partition"),
    ),
    "keep_rows": (
        "Whether the numbers of single rows are kept",
        ("store_rows", "return_rows", "keep_influences", "influences"),
    ),
    "importance": ("A fitted measure that a function or a display reads", ()),
    "measure": (
        "The measure that a selector or a function clones and fits",
        ("importance_getter",),
    ),
    "measures": ("The measures that a comparison clones and fits", ()),
    "loss": ("What a row costs, compared with y", ("loss_function", "objective")),
    "scoring": ("A scorer of all rows together", ("scorer", "metric")),
    "removal": ("What becomes of columns that are left out", ("drop", "replacement")),
    "sample_weight": ("Weights of the rows", ("sample_weights", "row_weights")),
    "callbacks": ("Who is told of progress and may stop the work", ("progress",)),
    "n_jobs": ("The number of joblib's workers", ("n_workers", "n_threads")),
    "random_state": ("The source of what is random", ("seed", "rng")),
}

# What single classes and functions ask for.
PARTICULAR = {
    "X",
    "adjust",
    "alpha",
    "arguments",
    "ax",
    "cohorts",
    "column",
    "conditional_fit_rows",
    "contrast",
    "convention",
    "covariance",
    "criterion",
    "curve_errors",
    "estimator",
    "estimators",
    "facts",
    "feature_functions",
    "first",
    "frac",
    "importance_threshold",
    "k",
    "kind",
    "kwargs",
    "literal",
    "max_iter",
    "max_models",
    "method",
    "min_features_to_select",
    "n_columns",
    "n_fits",
    "n_iter",
    "n_iter_no_change",
    "n_permutations",
    "names",
    "operands",
    "order",
    "pairs",
    "params",
    "parts",
    "path",
    "per_output",
    "performance_threshold",
    "reader",
    "relative",
    "result",
    "score_func",
    "score_params",
    "search",
    "second",
    "standardize",
    "statistic",
    "step",
    "strata",
    "surrogate_cuts",
    "surrogates",
    "threshold",
    "title",
    "top",
    "tree_weights",
    "triples",
    "value",
    "weights",
    "within",
    "y",
}


def write_vocabulary(app):
    """The table of words, for the glossary."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 25 75", ""]
    rows = [("Parameter", "What it is")]
    rows += [(f"``{word}``", f"{what}.") for word, (what, _) in sorted(NOTIONS.items())]
    for row in rows:
        lines += [f"   {'*' if c == 0 else ' '} - {cell}" for c, cell in enumerate(row)]
    target = Path(app.srcdir) / "generated" / "vocabulary.inc"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join([*lines, ""]))
