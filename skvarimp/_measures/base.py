"""`BaseImportance`: what every importance class has in common."""

from __future__ import annotations

from numbers import Integral
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.statistics import mean_over_outputs
from skvarimp._data.table import (
    check_features_seen,
    check_fitted,
    in_partitions,
    resolve_columns,
    resolve_features,
    taken,
)
from skvarimp._data.validation import CONSTRAINTS, check_no_data, validate_params
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.html import DOCUMENTATION, measure_html
from skvarimp._models.declared import declared_categories
from skvarimp._results.importances import Circumstances, Importances
from skvarimp._results.intervals import Sampling
from skvarimp._results.words import Quantity, model_in_words
from skvarimp._running.guards import no_overflow, whole_fit
from skvarimp._running.private_sklearn import CallbackSupportMixin
from skvarimp._types import AnyEstimator, Axes, Floats, Frame, Integers, Matrix

# What is watched, by the kind of the model's outputs, and its unit.
PREDICTIONS = {
    "value": "prediction",
    "probability": "predicted probability",
    "score": "decision score",
    "label": "indicator of the predicted class",
}
UNITS = {
    "value": "units of the prediction",
    "probability": "units of probability",
    "score": "units of the decision score",
    "label": "shares of rows",
}


class View:
    """A fitted attribute that shows what `result_` holds.

    Parameters
    ----------
    of_result : str
        Its name there.
    if_kept : bool, default=False
        Whether there is no such attribute where the result holds None.
    """

    def __init__(self, of_result, if_kept=False):
        self._get, self._if_kept = attrgetter(f"result_.{of_result}"), if_kept

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, measure, owner):
        if measure is None:
            return self
        name = type(measure).__name__
        if "result_" not in vars(measure):
            raise AttributeError(f"{name!r} object has no {self._name!r} before `fit`")
        value = self._get(measure)
        if value is None and self._if_kept:
            raise AttributeError(f"{name!r} object has kept no {self._name!r}")
        return value


def view(of_result: str, if_kept: bool = False) -> Any:
    """A `View`, for a type checker of any type."""
    return View(of_result, if_kept)


class BaseImportance(CallbackSupportMixin, BaseEstimator):
    """Importances of the features of X to a fitted model.

    A subclass lists its own parameters in `_parameter_constraints` and implements
    `_fit(estimator, X, y, sample_weight)`, which ends by calling `_store`. If it has
    standard errors, `_takes_groups` is True and `_fit` takes `groups`, too.
    """

    _doc_link_module = "skvarimp"
    _doc_link_template = DOCUMENTATION

    # What `fit` sets, and what shows parts of it.
    result_: Importances
    importances_: Floats = view("importances")
    importances_per_output_: Floats = view("per_output")
    standard_errors_: Floats | None = view("standard_errors")
    monte_carlo_errors_: Floats | None = view("drawing_errors")
    ranking_: Integers = view("ranking")
    n_groups_: int | None = view("circumstances.n_groups")
    directions_: Floats | None = view("directions")
    influences_: Floats = view("influences", if_kept=True)
    row_effects_: Floats = view("row_effects", if_kept=True)
    features_: list[str] = view("features")
    output_names_: list[str] = view("output_names")

    # `estimator` is the object examined and the names are those of its columns: neither
    # is metadata to route. Groups go to splitters, and here only if it is requested.
    __metadata_request__fit = {  # noqa: RUF012 scikit-learn's form
        "estimator": UNUSED,
        "feature_names": UNUSED,
        "groups": False,
    }

    _parameter_constraints: dict = {}  # noqa: RUF012 scikit-learn's form

    _shared_constraints = CONSTRAINTS

    # Whether infinity is a proper importance, as F of a perfect column is.
    _may_be_infinite = False

    # For sentences: the model, the rows, whether they are weighted, what is predicted.
    _model_name, _n_samples, _weighted = "", None, False
    _moves, _outputs = "value", ()

    # Whether X and y must be the rows the model was fitted on; selectors ask.
    _reads_training_rows = False

    # Whether there are standard errors, and `_fit` takes `groups`.
    _takes_groups = False

    # Why a measure with these parameters keeps no rows, and what to do; or None.
    _without_rows = None

    # Whether the importance of nothing has mean 0, so that it can be tested.
    _may_be_negative = False

    def _not_per_column(self):
        """Why this measure does not give one number per column of X, or None."""

    @whole_fit
    @no_overflow()
    def fit(
        self,
        estimator: AnyEstimator,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        feature_names: ArrayLike | None = None,
    ) -> Self:
        """Compute the importances of a fitted model on data.

        Parameters
        ----------
        estimator : object or None
            Fitted model; it is not modified. None for `FilterImportance`, which needs
            no model, and for `FIRMImportance` to take y as the score.
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows to evaluate the model on, in a container that the model takes. Some
            measures also take a Dask DataFrame or Array, with y and weights in the
            same partitions.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Observed target, where the measure needs one. `FIRMImportance` without a
            model takes numbers as they are, and other values as indicators of the
            classes (of two classes, the second).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Importances treat integer weights as repeated rows.
            Standard errors do not depend on the scale of the weights, so give counts
            as repeated rows where errors matter.
        groups : array-like of shape (n_samples,), default=None
            Labels of rows that may depend on each other, such as the visits of one
            patient. Importances do not change. Standard errors, and all intervals,
            tests and ranks that follow from them, are those of independent groups. For
            measures with standard errors.
        feature_names : array-like of shape (n_features,), default=None
            Names for the columns of an array or a sparse matrix, such as a pipeline's
            ``pipeline[:-1].get_feature_names_out()``; a frame has its own.

        Returns
        -------
        self : object
            The fitted instance.
        """
        X, y, sample_weight, groups = self._started(
            estimator, X, y, sample_weight, groups, feature_names
        )
        more = {} if groups is None else {"groups": groups}
        self._fit(estimator, X, y, sample_weight, **more)
        return self

    def _started(self, estimator, X, y, sample_weight, groups, feature_names):
        """Check the parameters and forget the last fit; the data as `taken` says."""
        validate_params(self)
        check_no_data(estimator)
        if groups is not None and not self._takes_groups:
            raise ValueError(
                "`groups` says which rows depend on each other, for standard errors. "
                f"This {type(self).__name__} has none. Leave `groups` out."
            )
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._about(estimator, X, sample_weight)
        return taken([self], X, y, sample_weight, groups, feature_names)

    def _html_repr(self):
        """What a notebook shows: the importances once there are any."""
        if hasattr(self, "importances_"):
            return measure_html(self)
        return estimator_html_repr(self)

    def _set_features(self, table, features, estimator=None):
        """Resolve `features` against X; sets what fit knows about X's columns."""
        self._set_input(table.n_columns, table.names, table.library)
        if estimator is not None:
            check_fitted(estimator, table)
            check_features_seen(estimator, table)
        named = getattr(self, "categorical_features", None)
        self._categorical = resolve_columns(named, table.names, table.n_columns)
        declared = declared_categories(estimator, table.n_columns, table.names)
        self._categorical |= {j for j in declared if not table.has_levels(j)}
        features = resolve_features(features, table.names, table.n_columns)
        self._feature_columns = [feature.columns for feature in features]
        return features

    def _set_input(self, n_features, names=None, library="pandas"):
        self.n_features_in_, self._frame_library = n_features, library
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _store(
        self,
        importances_per_output,
        feature_names,
        output_names,
        standard_errors=None,
        errors_per_output=None,
        units=None,
        skewness=None,
        directions=None,
        drawing_errors=None,
    ):
        """Set `result_`, of which the common attributes are views.

        Parameters
        ----------
        importances_per_output : array-like of shape (n_features, n_outputs)
        feature_names, output_names : list of str
        standard_errors : array-like of shape (n_features,), default=None
        errors_per_output : ndarray of shape (n_features, n_outputs), default=None
            Of one output they are the standard errors.
        units : Units, default=None
            The independent rows of the standard errors, for Student's quantile.
        skewness : ndarray of shape (n_features,), default=None
            Of the sampling errors, where it is known.
        directions : ndarray of shape (n_features, n_outputs), default=None
        drawing_errors : ndarray of shape (n_features,), default=None
        """
        per_output = np.asarray(importances_per_output, dtype=np.float64)
        if np.any(np.isinf(per_output)) and not self._may_be_infinite:
            raise FloatingPointError("overflow encountered in a matrix product")
        if standard_errors is not None:
            standard_errors = np.asarray(standard_errors)
            if per_output.shape[1] == 1:
                errors_per_output = standard_errors[:, np.newaxis]
        one_direction = None
        if directions is not None:
            self.directions_per_output_ = directions
            one_direction = directions[:, 0] if directions.shape[1] == 1 else None
        found = self.result_ = Importances(
            list(feature_names),
            mean_over_outputs(per_output),
            per_output=per_output,
            output_names=list(output_names),
            standard_errors=standard_errors,
            drawing_errors=drawing_errors,
            directions=one_direction,
            errors_per_output=errors_per_output,
            skewness=skewness,
            degrees_of_freedom=np.inf if units is None else units.freedom,
            frame_library=self._frame_library,
        )
        if units is not None:
            found.sampling = Sampling.of(units, self._lowest(), self._highest())
        found.further = self._further_columns()
        found.quantity = self._in_words()
        found.circumstances = self._circumstances(units)

    def _lowest(self):
        """The smallest importance that can be."""
        return -np.inf if self._may_be_negative else 0.0

    def _highest(self):
        """The largest importance that can be, one or (n_features,)."""
        return np.inf

    def _circumstances(self, units):
        """The model and the rows of this fit, in words."""
        known = vars(self)
        how = [known.get(name) for name in ("estimation_", "response_path_")]
        name = type(self).__name__
        way_out = "importance_across_folds shows how much refits differ"
        return Circumstances(
            model=self._model_name,
            n_samples=self._n_samples,
            weighted=self._weighted,
            n_groups=None if units is None else units.n_groups,
            how=tuple(str(part) for part in how if part),
            no_errors=f"This {name} has none. {self._without_rows or way_out}.",
        )

    def _about(self, estimator, X, sample_weight):
        """Keep what sentences say of the model and the rows."""
        self._model_name = model_in_words(estimator)
        self._n_samples, self._weighted = None, False
        if X is None or in_partitions(X):  # whose rows are counted later
            return
        if not hasattr(X, "__len__") and not hasattr(X, "shape"):
            return
        shape = getattr(X, "shape", None)
        n = shape[0] if shape else len(X)
        if not isinstance(n, Integral):  # not known
            return
        self._n_samples = int(n)
        if sample_weight is None:
            return
        try:
            weights = np.asarray(sample_weight)
        except ValueError:  # of no shape, which the validation says
            return
        if weights.shape == (n,) and weights.dtype.kind in "fiub":
            positive = weights[weights > 0].astype(np.float64)
            self._n_samples = len(positive)
            self._weighted = len(positive) > 0 and bool(np.ptp(positive) > 0)

    def to_frame(
        self, per_output: bool = False, *, confidence: float | None = None
    ) -> Frame:
        """Table of the importances, most important first.

        Parameters
        ----------
        per_output : bool, default=False
            Whether to list each output by itself, in place of their mean.
        confidence : float, default=None
            Adds the columns lower and upper, the ends of `interval` at this confidence
            (NaN where there is no standard error).

        Returns
        -------
        frame of shape (n_features, n_columns)
            Columns feature, importance, standard_error (NaN where there is none),
            monte_carlo_error (of random draws, only where there were some), rank,
            explained (`explained_`, only with `conditional`) and direction
            (`directions_`, of the measures that have them, for one output), in the
            frame library X came in (pandas for arrays). After a stopped fit, complete
            (bool) says which features have final numbers, not NaN or a running
            estimate. With `per_output` one row per feature and output, and the columns
            feature, output, importance, standard_error (NaN for several outputs of
            drawn numbers and of some measures) and rank within the output.
        """
        check_is_fitted(self, "importances_")
        return self.result_.to_frame(confidence, per_output)

    def interval(self, confidence: float = 0.95) -> Frame:
        """Confidence interval of each importance, with the model held fixed.

        By Student's distribution, with as many degrees of freedom as the rows' weights
        leave. Where donors or rows were drawn, the error of drawing is added to the
        standard error. Corrected for the skewness of the estimate by the third moment
        of the influences (Hall 1992) where they are known: with ``keep_rows=True``, and
        where the importance is computed by moving the input of single rows in one
        place; a side is at most twice as long for that. No end lies where the
        importance cannot be, such as below 0 for a mean size. Bars, comparisons and
        tables show these intervals. Each holds by itself; `rank_intervals` gives
        intervals that hold together.

        Parameters
        ----------
        confidence : float, default=0.95
            Share of samples in which an interval contains the true importance.

        Returns
        -------
        frame of shape (n_features, 4)
            Columns feature, importance, lower and upper, most important first.

        Raises
        ------
        ValueError
            If there are no standard errors.
        """
        check_is_fitted(self, "importances_")
        return self.result_.interval(confidence)

    def caption(self) -> str:
        """One or two sentences for below a figure of the importances.

        Returns
        -------
        str
            What a number is and its unit, the model, the rows, and what lines are.
        """
        check_is_fitted(self, "importances_")
        return self.result_.caption()

    def summary(self, top: int = 5) -> str:
        """A short paragraph on the importances.

        Parameters
        ----------
        top : int, default=5
            How many features are named with their importances.

        Returns
        -------
        str
            As `Importances.summary`.
        """
        check_is_fitted(self, "importances_")
        return self.result_.summary(top)

    def _further_columns(self):
        """Name -> one value per feature, the columns of its own."""
        return {}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters, and of a fitted measure the estimation and response path."""
        text, known = super().__repr__(N_CHAR_MAX), vars(self)
        told = [known[n] for n in ("estimation_", "response_path_") if n in known]
        return f"<{text}: {', '.join(told)}>" if told else text

    def plot(
        self, ax: Axes | None = None, *, per_output: bool = False, **kwargs: Any
    ) -> ImportanceDisplay | ComparisonDisplay:
        """Draw the importances as horizontal bars, most important on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        per_output : bool, default=False
            Whether to draw a bar per output beside each other.
        **kwargs : dict
            Passed to `ImportanceDisplay.from_importance`, or to
            `ComparisonDisplay.from_outputs`.

        Returns
        -------
        display : ImportanceDisplay or ComparisonDisplay
            Holds `ax_` and `figure_`.
        """
        if per_output:
            return ComparisonDisplay.from_outputs(self, ax=ax, **kwargs)
        return ImportanceDisplay.from_importance(self, ax=ax, **kwargs)

    def _quantity(self):
        """What the fitted importances are, and their unit, in words."""
        return "importance"

    def _in_words(self):
        """The `Quantity` of the fitted importances, for captions and summaries.

        A measure of one's own may say more than the label.
        """
        return self._says("")

    def _says(self, definition, **words):
        """A `Quantity` of a definition and the label, of what the model predicts."""
        given = {"zero": bool(self._may_be_negative), "moves": self._prediction}
        return Quantity(self._quantity(), definition, **(given | words))

    @property
    def _prediction(self):
        """What the model predicts, in words."""
        outputs = self._outputs
        if self._moves == "probability" and len(outputs) == 1:
            return f"predicted probability of {outputs[0]}"
        return PREDICTIONS[self._moves]

    @property
    def _unit(self):
        """The unit of what the model predicts."""
        return UNITS[self._moves]
