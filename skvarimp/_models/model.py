"""A fitted model's response as a function of X: (n_samples, n_outputs) float64."""

import warnings

import numpy as np
from sklearn.base import is_classifier as sklearn_is_classifier

from skvarimp._data.validation import check_finite_response, check_fitted, has_tags
from skvarimp._models.native_boosters import is_native, rows_for
from skvarimp._running.arithmetic import users_code

RESPONSE_METHODS = ("predict_proba", "decision_function", "predict")


def is_classifier(estimator):
    """Whether a model is a classifier: its tags say so, or it has `classes_`.

    A boosting library's own model is none: its `predict` returns scores.
    """
    if is_native(estimator):
        return False
    if has_tags(estimator):
        return sklearn_is_classifier(estimator)
    return hasattr(estimator, "classes_")


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

    Attributes
    ----------
    method : str
        The method in use; "__call__" for a bare callable.
    classifier : bool
    classes : ndarray or None
        Classes of a single-output classifier.
    output_names : list of str
        Known after the first call.
    """

    def __init__(self, estimator, response_method="auto", prefer=RESPONSE_METHODS):
        check_fitted(estimator)
        self.estimator = estimator
        self.classifier = is_classifier(estimator)
        self.method = _choose_method(
            estimator, response_method, self.classifier, prefer
        )
        self.classes = None
        self._class_lists = None  # one array of classes an output column
        if self.classifier:
            self._read_classes()
        self.output_names = None

    def _read_classes(self):
        classes = getattr(self.estimator, "classes_", None)
        if classes is None:
            raise ValueError(
                f"{type(self.estimator).__name__} is a classifier without `classes_`. "
                "Pass a callable that returns its scores instead."
            )
        if isinstance(classes, list) and np.ndim(classes[0]) > 0:
            self._class_lists = [np.asarray(c) for c in classes]
        else:
            self.classes = np.asarray(classes)
            self._class_lists = [self.classes]

    @property
    def kind(self):
        """ "value", "probability", "label" or "score": what the outputs are.

        Decides what an importance is compared with (`scale="auto"`).
        """
        if not self.classifier or self.method == "__call__":
            return "score" if self.method == "decision_function" else "value"
        return {"predict_proba": "probability", "predict": "label"}.get(
            self.method, "score"
        )

    def raw(self, X):
        """The method's own output, warnings about missing feature names aside."""
        with warnings.catch_warnings(), users_code():
            warnings.filterwarnings("ignore", message="X does not have valid feature")
            warnings.filterwarnings("ignore", message="X has feature names")
            return getattr(self.estimator, self.method)(rows_for(self.estimator, X))

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
        outputs = self._outputs(self.raw(X))
        if outputs.shape[0] != X.shape[0]:
            raise ValueError(
                f"The model returned {outputs.shape[0]} values for {X.shape[0]} rows; "
                "its response must have one row a row of X."
            )
        if not np.isfinite(outputs.sum()):
            if callable(where):
                bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
                where = where(bad[0]) if len(bad) else ""
            check_finite_response(outputs, where)
        return outputs

    def _outputs(self, raw):
        if self.kind == "label":
            return self._indicators(raw)
        if self.kind == "probability":
            return self._probabilities(raw)
        outputs = _numbers(raw)
        if outputs.ndim == 1:
            outputs = outputs[:, np.newaxis]
        if outputs.ndim != 2 or outputs.shape[1] == 0:
            raise ValueError(
                "The model's response must have shape (n_samples,) or (n_samples, "
                f"n_outputs), got {np.shape(raw)}."
            )
        if self.output_names is None:
            self.output_names = self._score_names(outputs.shape[1])
        return outputs

    def _score_names(self, n_outputs):
        if self.classes is not None:
            if n_outputs == 1 and len(self.classes) == 2:
                return [str(self.classes[1])]
            if n_outputs == len(self.classes):
                return [str(c) for c in self.classes]
        return ["y"] if n_outputs == 1 else [f"y{o}" for o in range(n_outputs)]

    def _probabilities(self, raw):
        """Probabilities side by side, a two-class output's first class dropped."""
        blocks = raw if isinstance(raw, list) else [raw]
        blocks = [_numbers(block) for block in blocks]
        if self.output_names is None and len(blocks) == 1:
            self._notice_labels(blocks[0])
        if len(blocks) == 1 and len(self._class_lists) > 1:
            # multilabel probabilities of one class an output, (n_samples, n_outputs)
            if self.output_names is None:
                self.output_names = [f"y{o}" for o in range(blocks[0].shape[1])]
            return blocks[0]
        self._check_columns(blocks)
        if self.output_names is None:
            self.output_names = self._class_names(self._class_lists)
        kept = [b[:, 1:] if b.shape[1] == 2 else b for b in blocks]
        return np.ascontiguousarray(np.hstack(kept))

    def _check_columns(self, blocks):
        """Raise ValueError unless each output has one column a class."""
        for block, classes in zip(blocks, self._class_lists, strict=False):
            if block.ndim != 2 or block.shape[1] != len(classes):
                raise ValueError(
                    f"`predict_proba` of {type(self.estimator).__name__} must have one "
                    f"column for each of its {len(classes)} classes, got shape "
                    f"{block.shape}."
                )

    def _notice_labels(self, block):
        """Rows of probabilities that do not sum to 1 are those of several labels."""
        if block.ndim != 2:
            return
        n_labels = block.shape[1]
        if n_labels > 1 and not np.allclose(block.sum(axis=1), 1.0, atol=1e-6):
            self._class_lists, self.classes = [np.array([0, 1])] * n_labels, None

    def _indicators(self, raw):
        """One indicator a class of each label column, the first of two dropped."""
        labels = np.asarray(raw)
        if labels.ndim == 1:
            labels = labels[:, np.newaxis]
        if len(self._class_lists) != labels.shape[1]:  # several labels, 0 or 1 each
            self._class_lists = [np.array([0, 1])] * labels.shape[1]
        lists = self._class_lists
        if self.output_names is None:
            self.output_names = self._class_names(lists)
        columns = [
            labels[:, o, np.newaxis] == _shown(classes)[np.newaxis, :]
            for o, classes in enumerate(lists)
        ]
        return np.hstack(columns).astype(np.float64)

    @staticmethod
    def _class_names(lists):
        if len(lists) == 1:
            return [str(c) for c in _shown(lists[0])]
        return [
            f"y{o}: {c}" for o, classes in enumerate(lists) for c in _shown(classes)
        ]

    def class_indicators(self, y):
        """y as indicators of the outputs' classes, (n_samples, n_outputs) or None.

        None where the outputs do not stand for classes of y one by one.
        """
        y = y if y.ndim == 2 else y[:, np.newaxis]
        lists = self._class_lists
        if lists is None or len(lists) != y.shape[1]:
            return None
        check_known_labels(y, lists)
        return class_indicators(y, lists)

    @property
    def class_lists(self):
        """One array of classes a column of y; None where there are no classes."""
        return self._class_lists


def _numbers(raw):
    """A response as float64, or an error that says it is none."""
    if np.iscomplexobj(raw):
        raise ValueError("The model's response is complex; it must be real numbers.")
    try:
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "The model's response must be an array of numbers, one row a row of X, got "
            f"{raw!r:.60}. Watch a score or a probability instead."
        ) from None


def check_known_labels(y, class_lists):
    """Refuse labels that are not among the model's classes.

    Parameters
    ----------
    y : ndarray of shape (n_samples, n_columns)
    class_lists : list of ndarray
    """
    for c, classes in enumerate(class_lists):
        unknown = ~(y[:, c, np.newaxis] == classes).any(axis=1)
        if unknown.any():
            label = y[unknown, c].tolist()[0]
            raise ValueError(
                f"y has the label {label!r}, which is not among the model's classes "
                f"{classes.tolist()}."
            )


def class_indicators(y, class_lists):
    """One indicator a class of each column of y, the first of two classes dropped.

    Parameters
    ----------
    y : ndarray of shape (n_samples, n_columns)
    class_lists : list of ndarray

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
    """
    columns = [
        y[:, c, np.newaxis] == _shown(classes)[np.newaxis, :]
        for c, classes in enumerate(class_lists)
    ]
    return np.hstack(columns).astype(np.float64)


def _shown(classes):
    """Classes that get an output: the second of two, else all."""
    return classes[1:] if len(classes) == 2 else classes


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
