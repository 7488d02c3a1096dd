"""A fitted model's response as a function of X: (n_samples, n_outputs) float64.

Models of boosting libraries that take no arrays or frames are met here alone:
`lightgbm.Booster` and `catboost.CatBoost` predict rows in any container, and
`xgboost.Booster` insists on its own. Nothing here imports a library: the user who holds
one of its models has imported it.
"""

import sys
from contextlib import contextmanager

import numpy as np
from sklearn.utils import get_tags

from skvarimp._data.table import RESPONSE_METHODS, has_tags
from skvarimp._models import labels
from skvarimp._running.guards import OverBudget, budget, users_code
from skvarimp._running.memory import call_slices


def is_classifier(estimator):
    """Whether a model is a classifier: its tags say so, or else its `classes_`.

    Tags that name no kind of model leave it to `classes_` together with probabilities
    or scores of them. A boosting library's own model is none: its `predict` returns
    scores.
    """
    if rule_of(estimator, NATIVE):
        return False
    tagged = has_tags(estimator)
    kind = get_tags(estimator).estimator_type if tagged else None
    if kind is not None:
        return kind == "classifier"
    if getattr(estimator, "classes_", None) is None:
        return False
    return not tagged or any(hasattr(estimator, m) for m in RESPONSE_METHODS[:2])


@contextmanager
def frames_named(estimator, X):
    """Say what a model needs that fails on the user's rows: a frame, or tensors.

    Parameters
    ----------
    estimator : object
    X : object
        The user's rows.
    """
    try:
        yield
    except OverBudget:
        raise
    except Exception as error:
        if any(c.__module__.startswith("torch.nn.") for c in type(estimator).__mro__):
            raise TypeError(
                f"{type(estimator).__name__} takes tensors of torch, but X is a "
                f"{type(X).__name__} ({error}). Pass a function that converts: "
                "lambda X: model(torch.as_tensor(np.asarray(X), dtype=torch.float32))"
                ".detach().numpy()."
            ) from error
        names = getattr(estimator, "feature_names_in_", None)
        if names is None or hasattr(X, "columns") or hasattr(X, "column_names"):
            raise
        raise ValueError(
            f"{type(estimator).__name__} was fitted on a frame with the columns "
            f"{names.tolist()[:5]!r:.120} and fails on a {type(X).__name__}: {error} "
            "Pass a frame, such as pandas.DataFrame(X, columns=names): `feature_names` "
            "names columns in results only."
        ) from error


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
    y : object, default=None
        As the user passed it: a frame names the outputs.

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
        self, estimator, response_method="auto", prefer=RESPONSE_METHODS, y=None
    ):
        self.estimator, self.target_names = estimator, names_in(y)
        self.classifier = is_classifier(estimator)
        self.method = _choose_method(
            estimator, response_method, self.classifier, prefer
        )
        self.clusters = self.method == "predict" and _names_clusters(estimator)
        self.class_lists = None
        if self.classifier:
            self.class_lists = labels.classes_of(estimator)
        elif self.clusters:
            self.class_lists = _clusters_of(estimator)
        self.output_names = None

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
        budget().spend(X.shape[0])
        with users_code(hear_names):
            return getattr(self.estimator, self.method)(rows_for(self.estimator, X))

    def unmoved(self, table, share=map):
        """The response at every row of the user's own, (n_outputs, n_samples).

        The model gets copies. A large X, perhaps a memory map, goes block by block;
        the first of them may warn about feature names. `share` is called with a
        function and the other blocks; threads may stand behind it.
        """
        parts = call_slices(table.n_samples, table.n_columns)
        rows = [np.arange(part.start, part.stop) for part in parts]
        X = table.copy() if len(parts) <= 1 else table.take(rows[0]).native
        if self.clusters and self.class_lists is None and len(parts) > 1:
            return self._clusters_unmoved(table, rows)
        with frames_named(self.estimator, table.native):
            outputs = [np.ascontiguousarray(self(X, hear_names=True).T)]
        if len(parts) > 1:
            outputs += share(lambda part: self(table.take(part).native).T, rows[1:])
        outputs = np.hstack(outputs)
        if self.kind in {"value", "score"}:
            check_not_tiny(outputs.T)
        return outputs

    def _clusters_unmoved(self, table, blocks):
        """The response where the numbers of clusters come from all rows.

        The model does not list them, and the first block alone may lie in a few
        clusters, if the rows are sorted.
        """
        found = []
        for part in blocks:
            raw = self.raw(table.take(part).native, hear_names=not found)
            found.append(np.array(raw))
        one = np.concatenate(found)
        return np.ascontiguousarray(self._checked(one, table.native, "").T)

    def __call__(self, X, where="at the rows of X", hear_names=False):
        """The response at X, checked to be finite and of one length.

        Parameters
        ----------
        X : object
            Rows in the container the model takes.
        where : str or callable
            Completes the error message about a non-finite output; a callable gets
            the position of the first offending row.
        hear_names : bool
            Whether warnings about feature names reach the user.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        return self._checked(self.raw(X, hear_names), X, where)

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
            if not np.all(np.isfinite(outputs)):  # else only their sum is infinite
                raise ValueError(
                    f"The model's output is NaN or infinite {where}. Importances are "
                    "means of its output: check the model at this input."
                )
        return outputs

    def _outputs(self, raw, X):
        if self.kind == "label":
            outputs, names = self._indicators(raw)
        elif self.kind == "probability":
            outputs, names = self._probabilities(raw, X)
        else:
            outputs = _numbers(raw)
            outputs = outputs[:, np.newaxis] if outputs.ndim == 1 else outputs
            if outputs.ndim != 2 or outputs.shape[1] == 0:
                raise ValueError(
                    "The model's response must have shape (n_samples,) or (n_samples, "
                    f"n_outputs), got {np.shape(raw)}."
                )
            names, n_outputs = None, outputs.shape[1]
            if self.classifier:
                names = labels.shown_names(self.class_lists, n_outputs)
            names = names or target_names(n_outputs, self.target_names)
        if self.output_names is None:
            self.output_names = names
        return outputs

    def _probabilities(self, raw, X):
        """Probabilities side by side, a two-class output's first class dropped."""
        blocks = raw if isinstance(raw, list) else [raw]
        blocks = [_numbers(block) for block in blocks]
        if self.output_names is None and labels.are_several(self, blocks, X):
            self.class_lists = [np.array([0, 1])] * blocks[0].shape[1]
        lists = self.class_lists
        if len(blocks) == 1 and len(lists) > 1:
            # multilabel probabilities of one class per output, (n_samples, n_outputs)
            names = target_names(blocks[0].shape[1], self.target_names)
            return blocks[0], names
        names = output_names(lists, self.target_names)
        return labels.probabilities(self.estimator, blocks, lists), names

    def _indicators(self, raw):
        """One indicator per class of each label column, the first of two dropped."""
        predicted = labels.as_columns(raw)
        if self.class_lists is None:  # clusters whose numbers nobody knows
            self.class_lists = [labels.encoded(column)[0] for column in predicted.T]
        if len(self.class_lists) != predicted.shape[1]:  # several labels, 0 or 1 each
            self.class_lists = [np.array([0, 1])] * predicted.shape[1]
        lists = self.class_lists
        outputs = labels.indicators(predicted, lists, strict=False)
        return outputs, output_names(lists, self.target_names)

    def class_indicators(self, y):
        """y as indicators of the outputs' classes, (n_samples, n_outputs) or None.

        None where the outputs do not stand for classes of y one by one.
        """
        n_columns = labels.as_columns(y).shape[1]
        if self.class_lists is None or len(self.class_lists) != n_columns:
            return None
        return labels.indicators(y, self.class_lists)


def _names_clusters(estimator):
    """Whether `predict` returns numbers of clusters (or of mixture components)."""
    if not has_tags(estimator):
        return False
    return get_tags(estimator).estimator_type in {"clusterer", "density_estimator"}


def _clusters_of(estimator):
    """The numbers of the clusters as a list of one array; None if they are not kept."""
    inner = _last_step(estimator)
    if hasattr(inner, "labels_"):
        return [labels.encoded(inner.labels_)[0]]
    if hasattr(inner, "subcluster_labels_"):  # of Birch
        return [labels.encoded(inner.subcluster_labels_)[0]]
    for one_each in ("weights_", "cluster_centers_"):
        if hasattr(inner, one_each):
            return [np.arange(len(getattr(inner, one_each)))]
    return None


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
    for package, rules_of_package in rules.items():
        if name in rules_of_package and is_exactly(thing, package, name):
            return rules_of_package[name]
    return None


def is_exactly(thing, package, name):
    """Whether an object's type is the one that a package exports under a name.

    A subclass is another type, which may compute something else.
    """
    module = sys.modules.get(package)  # not imported: no instance can exist
    return module is not None and getattr(module, name, None) is type(thing)


def names_in(y):
    """Names of the columns of y, a list of str; empty if it is no frame."""
    return [str(name) for name in getattr(y, "columns", ())]


def target_names(n_columns, names=()):
    """The names in y if there are so many, else "y" of one column and y0, y1, ..."""
    if len(names) == n_columns:
        return list(names)
    return ["y"] if n_columns == 1 else [f"y{o}" for o in range(n_columns)]


def output_names(lists, names=()):
    """Names of the indicators: classes, of several columns of y after the column."""
    if len(lists) == 1:
        return [str(c) for c in labels.watched(lists[0])]
    names = target_names(len(lists), names)
    return [
        f"{n}: {c}" for n, classes in zip(names, lists) for c in labels.watched(classes)
    ]


SMALLEST_SPREAD = 1e-150  # its square is a normal float64


def check_not_tiny(outputs):
    """Raise ValueError if the outputs vary, but too little to be squared.

    Squares below the smallest float64 are 0, and so would every importance be.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_outputs)
    """
    spread = np.ptp(outputs, axis=0).max(initial=0.0)
    if 0 < spread < SMALLEST_SPREAD:
        raise ValueError(
            f"The response varies by {spread:.3g} only over the rows of X, and squares "
            "of such numbers are 0 in float64 arithmetic. Rescale it."
        )
