"""What the numbers of each measure are, and their unit, for the axes of pictures."""

IN_UNITS = "in units of the prediction"


def quantity(importance):
    """The quantity of a fitted importance and its unit, in words.

    Parameters
    ----------
    importance : importance instance

    Returns
    -------
    str
        "importance" of a class that is not known here.
    """
    for kind in type(importance).__mro__:
        if kind.__name__ in QUANTITIES:
            return QUANTITIES[kind.__name__](importance)
    return "importance"


def _sensitivity(imp):
    what = {
        "pairs": "mean change of the prediction between two values of the input",
        "observed": "mean change of the prediction when the input is replaced",
        "range": "range of the prediction as the input moves",
    }[imp.contrast]
    if imp.scale is None or imp.contrast == "observed":
        return f"{what}, {IN_UNITS}"
    of_what = "scores" if imp._watched == "decision_function" else "outcomes"
    if imp.contrast == "range":
        return f"{what}, share of the range of the {of_what}"
    return f"{what}, share of the mean difference between two {of_what}"


def _partial_dependence(imp):
    kinds = {"std": "standard deviation", "range": "range"}
    what = " or ".join(kinds[kind] for kind in sorted(set(imp.statistic_))[::-1])
    of_what = "the partial dependence"
    if imp.kind == "individual":
        of_what = "a row's prediction as the input moves"
    return f"{what} of {of_what}, {IN_UNITS}"


def _permutation(imp):
    (watched,) = imp.output_names_  # the loss or the score
    watched = watched.replace("_", " ")
    if imp.relative:
        return f"{watched} with the input replaced, times that without"
    if imp.scoring is not None:
        return f"score lost when the input is replaced ({watched})"
    return f"increase of the {watched} when the input is replaced"


def _impurity(imp):
    if imp.rows != "training":
        return "decrease of the loss on unseen rows by the splits on the input"
    unit = {
        "matlab": "per branch node",
        "rpart": "in units of the rows' weight",
        "sklearn": "share of all splits",
    }[imp.convention]
    return f"decrease of the impurity by the splits on the input, {unit}"


def _coefficients(imp):
    return {
        "t": "absolute t or Wald statistic of the coefficient",
        "standardized": "absolute coefficient, in standard deviations",
        "absolute": "absolute coefficient, per unit of the input",
        "gcv": "increase of the criterion of generalised cross-validation",
    }[imp.statistic]


QUANTITIES = {
    "SensitivityImportance": _sensitivity,
    "DerivativeImportance": lambda imp: (
        "root mean square slope times the input's standard deviation, " + IN_UNITS
    ),
    "PartialDependenceImportance": _partial_dependence,
    "ALEImportance": lambda imp: (
        "standard deviation of the accumulated local effect, " + IN_UNITS
    ),
    "SobolImportance": lambda imp: "share of the variance of the prediction",
    "PermutationImportance": _permutation,
    "FIRMImportance": lambda imp: (
        "standard deviation of the expected score given the input"
    ),
    "ImpurityImportance": _impurity,
    "InteractionImportance": lambda imp: {
        "h": "Friedman's H",
        "h_overall": "Friedman's H of the input with all others",
        "h_total": "share of the variance that interactions of any inputs have",
        "conditional_std": (
            "standard deviation of the importance of one input given the other, "
            + IN_UNITS
        ),
    }.get(imp.statistic_, "interaction"),
    "CoefficientImportance": _coefficients,
    "ConnectionWeightImportance": lambda imp: {
        "olden": "absolute sum of the products of weights to the output",
        "garson": "share of the absolute weights",
    }[imp.method],
    "FilterImportance": lambda imp: (
        f"score of the column by itself ({imp.score_name_})"
    ),
}
