"""`Importances`: what every fit has found, and what functions return."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import false_discovery_control

from skvarimp._data.frames import feature_frame, frame_of
from skvarimp._data.statistics import holm, ranking
from skvarimp._data.validation import check_confidence
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.html import importances_html
from skvarimp._results.intervals import Sampling, interval_ends, one_sided_pvalues
from skvarimp._results.sentences import caption_of, lines_of, summary_of
from skvarimp._results.words import Quantity, count
from skvarimp._types import Axes, Floats, Frame, Integers


@dataclass(frozen=True)
class Circumstances:
    """What was measured on which rows, for sentences and tables.

    Attributes
    ----------
    model : str, default=""
        The model with its main size; empty without a model.
    n_samples : int, default=None
        Rows of positive weight that were measured on; None: not known.
    rows : str, default="row"
        What these rows are.
    weighted : bool, default=False
        Whether their weights differ.
    n_groups : int, default=None
        Groups of rows that may depend on each other; None: rows are independent.
    how : tuple of str, default=()
        Estimation and path, for notebooks.
    no_errors : str, default=""
        Why there are no standard errors, or what to do about it.
    fixed : str, default="the model is held fixed"
        What intervals do not cover.
    """

    model: str = ""
    n_samples: int | None = None
    rows: str = "row"
    weighted: bool = False
    n_groups: int | None = None
    how: tuple[str, ...] = ()
    no_errors: str = ""
    fixed: str = "the model is held fixed"


IMPORTANCE, NOTHING_KNOWN = Quantity("importance"), Circumstances()


@dataclass(eq=False, repr=False)
class Importances:
    """Importances of the features of X, with all that is known of them.

    Every fitted measure holds one as `result_`, and functions return one, perhaps of a
    subclass with what is its own.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        One number each; NaN where it is not known.
    per_output : ndarray of shape (n_features, n_outputs), default=None
        The importances for each output, whose mean they are. None: one output.
    output_names : list of str, default=("y",)
        Names of the outputs.
    standard_errors : ndarray of shape (n_features,), default=None
        Sampling errors with the model held fixed; None or NaN: not known.
    drawing_errors : ndarray of shape (n_features,), default=None
        What drawing adds to the errors; None: nothing was drawn.
    directions : ndarray of shape (n_features,), default=None
        Which way predictions go as values rise: 1 only up, -1 only down, NaN for
        features without an order.
    influences : ndarray of shape (n_samples, n_features), default=None
        How much each row moves each importance.
    row_effects : ndarray of shape (n_samples, n_features), default=None
        Each row's prediction minus its mean as the feature moves.
    errors_per_output : ndarray of shape (n_features, n_outputs), default=None
        Standard errors of the outputs.
    skewness : ndarray of shape (n_features,), default=None
        Of the sampling errors, where it is known.
    degrees_of_freedom : float, default=inf
        Of Student's distribution, for tests.
    sampling : object, default=None
        What the rows and the measure's range say of intervals. None: they are Student's
        of `degrees_of_freedom`, wherever they reach.
    further : dict, default=None
        Name -> one value per feature: further columns of the table.
    confidence : float, default=0.95
        Of intervals where none is asked for, and of sentences.
    quantity : Quantity, default=None
        What the numbers are, in words.
    circumstances : Circumstances, default=None
        The model and the rows.
    rows : object, default=None
        Influences of the rows of positive weight, from which ranks are computed.
    frame_library : str, default="pandas"
        Library of the frames that are made: that of X.

    Attributes
    ----------
    ranking : ndarray of shape (n_features,)
        Rank of each importance, 1 = most important; ties in the order given, NaN last.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import PermutationImportance
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    >>> model = LinearRegression().fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> found = PermutationImportance().fit(model, X, [0.0, 1.0, 2.0, 3.0]).result_
    >>> found.features, found.importances.round(3)
    (['x0', 'x1'], array([2.5, 0. ]))
    >>> found.ranking
    array([1, 2])
    """

    features: list[str]
    importances: Floats
    _: KW_ONLY
    per_output: Floats | None = None
    output_names: list[str] = field(default_factory=lambda: ["y"])
    standard_errors: Floats | None = None
    drawing_errors: Floats | None = None
    directions: Floats | None = None
    influences: Floats | None = None
    row_effects: Floats | None = None
    errors_per_output: Floats | None = None
    skewness: Floats | None = None
    degrees_of_freedom: float = np.inf
    sampling: Any = None
    further: dict[str, Any] = field(default_factory=dict)
    confidence: float = 0.95
    quantity: Quantity = IMPORTANCE
    circumstances: Circumstances = NOTHING_KNOWN
    rows: Any = None
    frame_library: str = "pandas"
    ranking: Integers = field(init=False)

    _title = "Importances"  # of the table in a notebook
    _interval_noun = "interval"  # of sentences

    def __post_init__(self):
        if self.per_output is None:
            self.per_output = self.importances[:, np.newaxis]
        if self.sampling is None:
            self.sampling = Sampling(self.degrees_of_freedom)
        self.ranking = ranking(self._ranked())

    @property
    def drawn(self) -> Floats:
        """Errors of drawing, 0 where nothing was drawn, of shape (n_features,)."""
        errors = self.drawing_errors
        return np.zeros(len(self.importances)) if errors is None else errors

    def _ranked(self):
        """What the features are ordered by, the largest first, (n_features,)."""
        return self.importances

    @classmethod
    def _from(cls, found: Importances, **more: Any) -> Self:
        """This kind of result, with what another has found, and with more."""
        names = [part.name for part in fields(Importances) if part.init]
        return cls(**({name: getattr(found, name) for name in names} | more))

    def __repr__(self) -> str:
        label, noun = self.quantity.label, self.quantity.noun
        features = f" of {count(len(self.features), noun)}" if noun else ""
        return f"<{type(self).__name__}: {label}{features}; see summary()>"

    def _repr_html_(self) -> str:
        return importances_html(self, self._title)

    def interval(self, confidence: float | None = None) -> Frame:
        """Confidence interval of each importance, with the model held fixed.

        Parameters
        ----------
        confidence : float, default=None
            Share of samples in which an interval contains the true importance. None:
            the attribute `confidence`, 0.95.

        Returns
        -------
        frame of shape (n_features, 4)
            Columns feature, importance, lower and upper, most important first.

        Raises
        ------
        ValueError
            If there are no standard errors.

        Notes
        -----
        By Student's distribution, with as many degrees of freedom as the rows' weights
        leave. Where donors or rows were drawn, the error of drawing is added to the
        standard error. Corrected for the skewness of the estimate by the third moment
        of the influences (Hall 1992) where they are known; a side is at most twice as
        long for that. No end lies where the importance cannot be. Each interval holds
        by itself; `rank_intervals` gives intervals that hold together.
        """
        if self.standard_errors is None:
            raise ValueError(
                f"An interval needs standard errors. {self.circumstances.no_errors}"
            )
        lower, upper = self.ends(confidence)
        return self._frame(
            {"importance": self.importances, "lower": lower, "upper": upper}
        )

    def ends(self, confidence: float | None = None) -> Floats:
        """Ends of the intervals, for pictures and tables.

        Parameters
        ----------
        confidence : float, default=None
            As in `interval`.

        Returns
        -------
        ndarray of shape (2, n_features)
            Lower and upper ends; NaN where no error is known.
        """
        confidence = self.confidence if confidence is None else confidence
        check_confidence(confidence)
        if self.standard_errors is None:
            return np.full((2, len(self.importances)), np.nan)
        ends = interval_ends(
            self.importances,
            self.standard_errors,
            self.skewness,
            self.drawn,
            self.sampling,
            confidence,
        )
        return np.array(ends)

    def ends_per_output(self, confidence: float | None = None) -> Floats:
        """Ends of the intervals of each output.

        Parameters
        ----------
        confidence : float, default=None
            As in `interval`.

        Returns
        -------
        ndarray of shape (2, n_features, n_outputs)
            NaN where no error is known. Of several outputs they are not corrected for
            skewness.
        """
        values, errors = self.per_output, self.errors_per_output
        if values.shape[1] == 1:
            return self.ends(confidence)[:, :, np.newaxis]
        confidence = self.confidence if confidence is None else confidence
        check_confidence(confidence)
        if errors is None:
            return np.full((2, *values.shape), np.nan)
        sampling = replace(self.sampling, highest=np.inf)
        ends = interval_ends(
            values.ravel(), errors.ravel(), None, 0.0, sampling, confidence
        )
        return np.reshape(ends, (2, *values.shape))

    def pvalues(self, adjust: Literal["holm", "fdr"] | None = None) -> Floats:
        """One-sided p-values of "not positive", where the importance of noise is 0.

        Parameters
        ----------
        adjust : {"holm", "fdr"}, default=None
            "holm": the chance of any false discovery among those below alpha is at
            most alpha. "fdr": of those with at most q, a share of at most q is expected
            to be noise (Benjamini and Hochberg). None: each by itself.

        Returns
        -------
        ndarray of shape (n_features,)
            Where the error is 0, 0 for a positive importance and 1 for others; NaN
            where no error is known.

        Raises
        ------
        ValueError
            If the importance of noise is not 0, or there are no standard errors.
        """
        return adjusted(self._pvalues(), adjust)

    def _pvalues(self):
        if not self.quantity.zero:
            raise ValueError(
                "There is no p-value: the importance is positive even for a column "
                "that tells nothing. Use PermutationImportance()."
            )
        if self.standard_errors is None:
            raise ValueError(
                f"A p-value needs standard errors. {self.circumstances.no_errors}"
            )
        errors = np.hypot(self.standard_errors, self.drawn)
        return one_sided_pvalues(self.importances, errors, self.degrees_of_freedom)

    def to_frame(
        self, confidence: float | None = None, per_output: bool = False
    ) -> Frame:
        """Table of the importances, most important first.

        Parameters
        ----------
        confidence : float, default=None
            Adds the columns lower and upper, the ends of `interval` at this confidence
            (NaN where there is no standard error).
        per_output : bool, default=False
            Whether to list each output by itself, in place of their mean.

        Returns
        -------
        frame of shape (n_features, n_columns)
            Columns feature, importance, standard_error (NaN where there is none),
            monte_carlo_error (of random draws, only where there were some), rank,
            further ones of the measure, and direction (of the measures that have
            directions, for one output), in the frame library X came in (pandas for
            arrays). With `per_output` one row per feature and output, and the columns
            feature, output, importance, standard_error (NaN for several outputs of
            drawn numbers and of some measures) and rank within the output.
        """
        if per_output:
            return self._frame_of_outputs(confidence)
        return self._frame(self._columns(confidence))

    def _columns(self, confidence):
        """The columns of the table but the names; intervals only if asked for."""
        errors = self.standard_errors
        if errors is None:
            errors = np.full(len(self.features), np.nan)
        columns = {"importance": self.importances, "standard_error": errors}
        if self.drawing_errors is not None:
            columns["monte_carlo_error"] = self.drawing_errors
        if confidence is not None:
            columns["lower"], columns["upper"] = self.ends(confidence)
        columns["rank"] = self.ranking
        further = self._further_columns()
        complete = further.pop("complete", None)
        columns |= further
        if self.directions is not None:
            columns["direction"] = self.directions
        if complete is not None:
            columns["complete"] = complete
        return columns

    def _further_columns(self):
        """Columns of the table that this kind of result adds, name -> values."""
        return dict(self.further)

    def _lines(self):
        """Ends of lines in a notebook, (2, n_features), and what they are."""
        return self.ends(), f"lines: {self.confidence:.0%} intervals"

    def _beside(self):
        """Further columns of a table in a notebook, heading -> texts."""
        return {}

    def _marks_in_words(self):
        """What the marks of a picture are, as a sentence, or nothing."""
        return lines_of(self)

    def _conclusions(self):
        """Sentences of a summary that this kind of result adds."""
        return []

    def _frame(self, columns):
        """Table of the features with these columns, most important first."""
        return feature_frame(self.features, self.ranking, columns, self.frame_library)

    def _frame_of_outputs(self, confidence):
        values, n_outputs = self.per_output, len(self.output_names)
        errors = self.errors_per_output
        if errors is None:
            errors = np.full(values.shape, np.nan)
        order = np.argsort(self.ranking, kind="stable")
        ranks = np.column_stack([ranking(column) for column in values.T])
        columns = {
            "feature": [self.features[e] for e in np.repeat(order, n_outputs)],
            "output": [str(name) for name in self.output_names] * len(order),
            "importance": values[order].ravel(),
            "standard_error": errors[order].ravel(),
        }
        if confidence is not None:
            lower, upper = self.ends_per_output(confidence)
            columns["lower"] = lower[order].ravel()
            columns["upper"] = upper[order].ravel()
        columns["rank"] = ranks[order].ravel()
        return frame_of(columns, self.frame_library)

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

    def caption(self) -> str:
        """One or two sentences for below a figure.

        Returns
        -------
        str
            What a number is and its unit, the model, the rows, and what lines are.
        """
        return caption_of(self)

    def summary(self, top: int = 5) -> str:
        """A short paragraph on what was found.

        Parameters
        ----------
        top : int, default=5
            How many features are named with their importances.

        Returns
        -------
        str
            What was measured; the most important features with 95% intervals; which
            ranks are settled for all features at once; what cannot be told from noise;
            which way predictions go. Without influences of single rows
            (``keep_rows=True``) fewer ranks are settled, because it is not known how
            the errors of two features go together.
        """
        return summary_of(self, top)


def adjusted(pvalues, adjust):
    """P-values adjusted for the number of features; NaN stays.

    Parameters
    ----------
    pvalues : ndarray of shape (n_features,)
    adjust : {"holm", "fdr"} or None

    Returns
    -------
    ndarray of shape (n_features,)
    """
    methods = {"holm": holm, "fdr": false_discovery_control}
    if adjust is None:
        return pvalues
    if adjust not in methods:
        raise ValueError(f"`adjust` must be 'holm', 'fdr' or None, got {adjust!r}.")
    known, result = ~np.isnan(pvalues), np.full(len(pvalues), np.nan)
    if known.any():
        result[known] = methods[adjust](pvalues[known])
    return result
