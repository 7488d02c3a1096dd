"""A fitted model's response as a function of X: (n_samples, n_outputs) float64.

Models of boosting libraries that take no arrays or frames are met here alone:
`lightgbm.Booster` and `catboost.CatBoost` predict rows in any container, and
`xgboost.Booster` insists on its own. Nothing here imports a library: the user who holds
one of its models has imported it.
"""

import sys

import numpy as np
from sklearn.utils import get_tags

from skvarimp._data import values
from skvarimp._data.table import RESPONSE_METHODS, has_tags
from skvarimp._data.validation import check_finite_response, check_not_tiny
from skvarimp._running.guards import spend, users_code


def is_classifier(estimator):
    """Whether a model is a classifier: its tags say so, or else its `classes_`.

    Tags that name no kind of model leave it to `classes_` together with probabilities
    or scores of them. A boosting library's own model is none: its `predict` returns
    scores.
    """
    if is_native(estimator):
        return False
    tagged = has_tags(estimator)
    kind = get_tags(estimator).estimator_type if tagged else None
    if kind is not None:
        return kind == "classifier"
    if getattr(estimator, "classes_", None) is None:
        return False
    return not tagged or any(hasattr(estimator, m) for m in RESPONSE_METHODS[:2])


class Model:
    """The watched response of a fitted estimator or callable.

    Parameters
    ----------
    estimator : object
        Has the response method, or is callable: f(X) -> (n_samples,) or
        (n_samples, n_outputs).
    response_method : {"auto", "predict_proba", "decision_function", "predict"}
    prefer : tuple of str
        Order in which "auto" looks for a classifier's method.
    target_names : sequence of str
        Names of the columns of y, if it has any.

    Attributes
    ----------
    method : str
        The method in use; "__call__" for a bare callable.
    classifier : bool
    clusters : bool
        Whether the response is the number of a cluster, which is a label.
    class_lists : list of ndarray or None
        Classes (or clusters) of each column of y; None where there are none.
    output_names : list of str or None
        Known after the first call.
    """

    def __init__(
        self,
        estimator,
        response_method="auto",
        prefer=RESPONSE_METHODS,
        target_names=(),
    ):
        self.estimator, self.target_names = estimator, target_names
        self.classifier = is_classifier(estimator)
        self.method = _choose_method(
            estimator, response_method, self.classifier, prefer
        )
        self.clusters = self.method == "predict" and _names_clusters(estimator)
        self.class_lists = None
        if self.classifier:
            self.class_lists = self._read_classes()
        elif self.clusters:
            self.class_lists = _clusters_of(estimator)
        self.output_names = None

    def _read_classes(self):
        classes = getattr(self.estimator, "classes_", None)
        if classes is None:
            raise ValueError(
                f"{type(self.estimator).__name__} is a classifier without `classes_`. "
                "Pass a callable that returns its scores instead."
            )
        return values.class_lists(classes)

    @property
    def kind(self):
        """ "value", "probability", "label" or "score": what the outputs are.

        Decides what an importance is compared with (`scale="auto"`).
        """
        if self.clusters:
            return "label"
        if not self.classifier or self.method == "__call__":
            return "score" if self.method == "decision_function" else "value"
        return {"predict_proba": "probability", "predict": "label"}.get(
            self.method, "score"
        )

    def raw(self, X, hear_names=False):
        """The method's own output, perhaps with warnings about feature names."""
        spend(X.shape[0])
        with users_code(hear_names):
            return getattr(self.estimator, self.method)(rows_for(self.estimator, X))

    def unmoved(self, X):
        """The response at rows of the user's own, with warnings about feature names."""
        raw = self.raw(X, hear_names=True)
        outputs = self._checked(raw, X, "at the rows of X")
        if self.kind in {"value", "score"}:
            check_not_tiny(outputs)
        return outputs

    def __call__(self, X, where="at the rows of X"):
        """The response at X, checked to be finite and of one length.

        Parameters
        ----------
        X : object
            Rows in the container the model takes.
        where : str or callable
            Completes the error message about a non-finite output; a callable gets
            the position of the first offending row.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        return self._checked(self.raw(X), X, where)

    def _checked(self, raw, X, where):
        known = self.output_names
        outputs = self._outputs(raw, X)
        if outputs.shape[0] != X.shape[0]:
            raise ValueError(
                f"The model returned {outputs.shape[0]} values for {X.shape[0]} rows; "
                f"its response must have one row per row of X.{_of_text(outputs, X)}"
            )
        if known is not None and outputs.shape[1] != len(known):
            raise ValueError(
                f"The model returned {outputs.shape[1]} outputs, and {len(known)} in "
                f"the first call ({known}). Its response must have the same outputs "
                "for all rows."
            )
        if not np.isfinite(outputs.sum()):
            if callable(where):
                bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
                where = where(bad[0]) if len(bad) else ""
            check_finite_response(outputs, where)
        return outputs

    def _outputs(self, raw, X):
        if self.kind == "label":
            outputs, names = self._indicators(raw)
        elif self.kind == "probability":
            outputs, names = self._probabilities(raw, X)
        else:
            outputs = values.as_columns(_numbers(raw))
            if outputs.ndim != 2 or outputs.shape[1] == 0:
                raise ValueError(
                    "The model's response must have shape (n_samples,) or (n_samples, "
                    f"n_outputs), got {np.shape(raw)}."
                )
            names = self._score_names(outputs.shape[1])
        if self.output_names is None:
            self.output_names = names
        return outputs

    def _score_names(self, n_outputs):
        if self.classifier and len(self.class_lists) == 1:
            (classes,) = self.class_lists
            for shown in (values.watched(classes), classes):
                if n_outputs == len(shown):
                    return [str(c) for c in shown]
        return values.target_names(n_outputs, self.target_names)

    def _probabilities(self, raw, X):
        """Probabilities side by side, a two-class output's first class dropped."""
        blocks = raw if isinstance(raw, list) else [raw]
        blocks = [_numbers(block) for block in blocks]
        if self.output_names is None and len(blocks) == 1:
            self._notice_labels(blocks[0], X)
        lists = self.class_lists
        if len(blocks) == 1 and len(lists) > 1:
            # multilabel probabilities of one class per output, (n_samples, n_outputs)
            names = values.target_names(blocks[0].shape[1], self.target_names)
            return blocks[0], names
        for block, classes in zip(blocks, lists, strict=False):
            if block.ndim != 2 or block.shape[1] != len(classes):
                raise ValueError(
                    f"`predict_proba` of {type(self.estimator).__name__} must have one "
                    f"column for each of its {len(classes)} classes, got shape "
                    f"{block.shape}."
                )
        kept = [b[:, 1:] if b.shape[1] == 2 else b for b in blocks]
        names = values.output_names(lists, self.target_names)
        return np.ascontiguousarray(np.hstack(kept)), names

    def _notice_labels(self, block, X):
        """Probabilities that do not sum to 1 may be those of several labels.

        Classifiers of several labels then predict several columns. Others, such as one
        against the rest, predict one class of one target, perhaps as one column.
        """
        several = block.ndim == 2 and block.shape[1] > 1 and len(self.class_lists) == 1
        if not several or np.allclose(block.sum(axis=1), 1.0, atol=1e-6):
            return
        predict = getattr(self.estimator, "predict", None)
        spend(X.shape[0])
        with users_code():
            several = predict is not None and values.as_columns(predict(X)).shape[1] > 1
        if several:
            self.class_lists = [np.array([0, 1])] * block.shape[1]

    def _indicators(self, raw):
        """One indicator per class of each label column, the first of two dropped."""
        predicted = values.as_columns(raw)
        if self.class_lists is None:  # clusters whose numbers the model does not list
            self.class_lists = [values.encoded(column)[0] for column in predicted.T]
        if len(self.class_lists) != predicted.shape[1]:  # several labels, 0 or 1 each
            self.class_lists = [np.array([0, 1])] * predicted.shape[1]
        lists = self.class_lists
        outputs = values.indicators(predicted, lists, strict=False)
        return outputs, values.output_names(lists, self.target_names)

    def class_indicators(self, y):
        """y as indicators of the outputs' classes, (n_samples, n_outputs) or None.

        None where the outputs do not stand for classes of y one by one.
        """
        n_columns = values.as_columns(y).shape[1]
        if self.class_lists is None or len(self.class_lists) != n_columns:
            return None
        return values.indicators(y, self.class_lists)


def _names_clusters(estimator):
    """Whether `predict` returns numbers of clusters (or of mixture components)."""
    if not has_tags(estimator):
        return False
    return get_tags(estimator).estimator_type in {"clusterer", "density_estimator"}


def _clusters_of(estimator):
    """The numbers of the clusters as a list of one array; None if they are not kept."""
    inner = _last_step(estimator)
    if hasattr(inner, "labels_"):
        return [values.encoded(inner.labels_)[0]]
    weights = getattr(inner, "weights_", None)
    return None if weights is None else [np.arange(len(weights))]


def _last_step(estimator):
    """The model that gives the outputs of searches and pipelines."""
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        found = getattr(estimator, "best_estimator_", None)
        estimator = estimator.steps[-1][1] if found is None else found
    return estimator


def _of_text(outputs, X):
    """What to do where a vectorizer took a frame for a list of its column names."""
    if outputs.shape[0] != X.shape[1] or not hasattr(X, "columns"):
        return ""
    return (
        " A text vectorizer reads a frame as the list of its column names: pass the "
        "model behind the vectorizer and the transformed rows, with `feature_names`."
    )


def _numbers(raw):
    """A response as float64, or an error that says it is none.

    Always a copy: wrappers of native code may write the next response into the same
    array.
    """
    try:
        outputs = np.asarray(raw)
        if outputs.dtype.kind != "c":
            return np.array(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        first = next(np.asarray(raw, dtype=object).flat, raw)
        raise ValueError(
            "The model's response must be an array of numbers, one row per row of X, "
            f"got values such as {first!r}. Watch a score or a probability instead."
        ) from None
    raise ValueError("The model's response is complex; it must be real numbers.")


def _choose_method(estimator, response_method, classifier, prefer):
    if response_method == "auto":
        for method in prefer if classifier else ("predict",):
            if hasattr(estimator, method):
                return method
    elif hasattr(estimator, response_method):
        return response_method
    elif response_method != "predict" or not callable(estimator):
        has = [m for m in RESPONSE_METHODS if hasattr(estimator, m)]
        raise ValueError(
            f"{type(estimator).__name__} has no `{response_method}`. "
            + (f"Use response_method={has[0]!r}." if has else "It has no response.")
        )
    if callable(estimator):
        return "__call__"
    raise TypeError(
        f"`estimator` must have one of {', '.join(RESPONSE_METHODS)}, or be a callable "
        f"X -> response, got {type(estimator).__name__}."
    )


# What they call models whose `predict` returns scores, whatever the target was.
NATIVE = {
    "xgboost": {"Booster": True},
    "lightgbm": {"Booster": True},
    "catboost": {"CatBoost": True},
}


def is_native(estimator):
    """Whether a model is a library's own, which has no classes, not a wrapper."""
    return bool(rule_of(estimator, NATIVE))


# Models whose `predict` returns scores that order the rows of one query.
RANKERS = {
    "xgboost": "XGBRanker",
    "lightgbm": "LGBMRanker",
    "catboost": "CatBoostRanker",
}


def is_ranker(estimator):
    """Whether a model, perhaps behind steps, is a library's ranker."""
    model = _last_step(estimator)
    return any(is_exactly(model, *ranker) for ranker in RANKERS.items())


def missing_marker(booster):
    """The number that stands for a missing value in an `xgboost.Booster`'s rows.

    The booster does not keep it. If it was trained with another number than NaN, the
    user can say so by ``booster.set_attr(missing=-999)``.
    """
    said = booster.attr("missing")
    return float("nan") if said is None else float(said)


def rows_for(estimator, X):
    """X as a model takes it: a `DMatrix` for `xgboost.Booster`, else X itself.

    The types that the booster was trained with tell which columns hold categories.
    """
    if not is_exactly(estimator, "xgboost", "Booster"):
        return X
    options = {"enable_categorical": True, "missing": missing_marker(estimator)}
    if not hasattr(X, "columns"):
        options["feature_types"] = estimator.feature_types
        options["feature_names"] = estimator.feature_names
    return sys.modules["xgboost"].DMatrix(X, **options)


def rule_of(thing, rules):
    """The rule for an object's exact type, or None.

    Parameters
    ----------
    thing : object
    rules : dict
        Package -> name of a type -> rule.
    """
    name = type(thing).__name__
    for package, of_package in rules.items():
        if name in of_package and is_exactly(thing, package, name):
            return of_package[name]
    return None


def is_exactly(thing, package, name):
    """Whether an object's type is the one that a package exports under a name.

    A subclass is another type, which may compute something else.
    """
    module = sys.modules.get(package)  # not imported: no instance can exist
    return module is not None and getattr(module, name, None) is type(thing)


def replaced(thing, methods=("transform", "inverse_transform")):
    """The first of some methods that was replaced on this instance, or None."""
    return next((method for method in methods if method in vars(thing)), None)
