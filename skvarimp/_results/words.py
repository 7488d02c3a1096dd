"""Numbers, lists and fitted models in plain English, for captions and summaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skvarimp._models.registry import answering

ORDINALS = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class Quantity:
    """What a number is, for labels and sentences.

    Attributes
    ----------
    label : str
        A few words for below an axis.
    definition : str, default=""
        What one number is, as the end of a sentence that begins with "Importance is".
    unit : str, default=""
        What comes behind a number, such as "squared units of y"; empty for a number
        that has no unit.
    share_of : str, default=""
        What a number is a share of; then it is written in percent.
    zero : bool, default=False
        Whether a feature that has nothing to do with y has 0 on average.
    nothing : float, default=0.0
        The number of a feature that does not matter.
    noun : str, default="feature"
        What has one number.
    moves : str, default=""
        What rises or falls with a feature, such as "prediction".
    """

    label: str
    definition: str = ""
    unit: str = ""
    share_of: str = ""
    zero: bool = False
    nothing: float = 0.0
    noun: str = "feature"
    moves: str = "prediction"


def count(n, noun):
    """Such as "1 feature", "3 features"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def listed(parts, last="and"):
    """Such as "a", "a and b", "a, b and c"."""
    parts = [str(part) for part in parts]
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def named(names, most=5, noun="feature"):
    """A list of names, of which the first few are named."""
    if len(names) <= most + 1:
        return listed(names)
    return listed([*names[:most], count(len(names) - most, f"other {noun}")])


def ordinal(n):
    """Such as "1st", "2nd", "11th"."""
    teen = 10 <= n % 100 <= 20
    return f"{n}{'th' if teen else ORDINALS.get(n % 10, 'th')}"


def score_in_words(name):
    """A score by its name, and its unit; a function may have none.

    Parameters
    ----------
    name : str

    Returns
    -------
    text, unit : str
        Such as "score r2" and "units of r2".
    """
    if name == "<lambda>":
        return "score", "units of the score"
    return f"score {name}", f"units of {name}"


def capitalized(text):
    """The text with a capital first letter; the others stay."""
    return text[:1].upper() + text[1:]


def written(values, like=None, percent=False):
    """Texts of numbers that are shown side by side, with the same decimal places.

    Parameters
    ----------
    values : ndarray
    like : ndarray, default=None
        Numbers whose largest has three digits, and whose smallest has two unless it is
        thousands of times smaller. None: the values.
    percent : bool, default=False
        Whether to write 0.25 as "25%".

    Returns
    -------
    ndarray of str, of the shape of `values`
    """
    factor, sign = (100.0, "%") if percent else (1.0, "")
    like = np.abs(values if like is None else like) * factor
    like = like[np.isfinite(like) & (like > 0)]
    first = int(np.floor(np.log10(like.max()))) if len(like) else 2
    last = int(np.floor(np.log10(like.min()))) if len(like) else 2
    places = min(max(2 - first, 1 - last), 5 - first)
    if places > 8 or first > 8:  # of numbers that are small or large
        digits = max(places + first, 2)
        texts = [f"{value:.{digits}e}" for value in np.ravel(values) * factor]
    else:
        texts = [_plain(v, max(places, 0)) for v in np.ravel(values) * factor]
    return np.reshape([text + sign for text in texts], np.shape(values))


def _plain(value, places):
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def model_in_words(estimator):
    """The class of a fitted model with its main size, such as "Ridge (3 coefficients)".

    Of a pipeline it is the last step, of a search the best estimator.

    Parameters
    ----------
    estimator : object or None
        None: no model is looked at.
    """
    if estimator is None:
        return ""
    last = final_estimator(estimator)
    kind = type(last).__name__
    if kind in {"function", "method", "builtin_function_or_method", "partial"}:
        name = getattr(getattr(last, "func", last), "__name__", "")
        return "a function" if name in ("", "<lambda>") else f"the function {name}"
    size = _size(last)
    return f"{kind} ({size})" if size else kind


def final_estimator(estimator):
    """What predicts in the end: behind pipelines, searches and transformed targets."""
    for _ in range(20):
        inner = getattr(estimator, "regressor_", None)
        if type(estimator).__name__ in SEARCHES:
            inner = answering(estimator)
        elif isinstance(getattr(estimator, "steps", None), list):
            steps = [step for _, step in estimator.steps if step != "passthrough"]
            inner = steps[-1] if steps else None
        if inner is None or isinstance(inner, str):
            return estimator
        estimator = inner
    return estimator


SEARCHES = {
    "FixedThresholdClassifier",
    "FrozenEstimator",
    "GridSearchCV",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "RandomizedSearchCV",
    "TunedThresholdClassifierCV",
}


def _size(model):
    """The main size of a fitted model, or nothing where none is known."""
    for size in (_trees, _leaves, _layers, _vectors, _coefficients, _members):
        try:
            found = size(model)
        except (AttributeError, TypeError, ValueError, KeyError):
            continue
        if found:
            return found
    return ""


def _trees(model):
    kind = type(model)
    library, name = kind.__module__.split(".")[0], kind.__name__
    if library == "xgboost":
        booster = model if name == "Booster" else model.get_booster()
        return count(booster.num_boosted_rounds(), "boosting round")
    if library == "lightgbm":
        booster = model if name == "Booster" else model.booster_
        return count(booster.num_trees(), "tree")
    if library == "catboost":
        return count(model.tree_count_, "tree")
    if name.startswith("HistGradientBoosting"):
        return count(model.n_iter_, "boosting round")
    members = np.ravel(np.asarray(model.estimators_, dtype=object))
    if len(members) and all(hasattr(member, "tree_") for member in members):
        return count(len(members), "tree")
    return ""


def _leaves(model):
    return count(int(model.get_n_leaves()), "leaf").replace("leafs", "leaves")


def _layers(model):
    units = [part.shape[1] for part in model.coefs_[:-1]]
    if not units:
        return ""
    what = "a hidden layer" if len(units) == 1 else "hidden layers"
    return f"{what} of {listed(units)} units"


def _vectors(model):
    return count(int(np.sum(model.n_support_)), "support vector")


def _coefficients(model):
    coefficients = model.coef_
    return count(int(np.prod(np.shape(coefficients))), "coefficient")


def _members(model):
    if isinstance(getattr(model, "n_neighbors", None), int):
        return count(model.n_neighbors, "neighbor")
    return count(len(model.estimators_), "member")
