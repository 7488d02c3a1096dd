"""`FoldImportances`: what `importance_across_folds` returns, and how it is pooled.

Fold k measures theta_k on its held-out rows, whose share of the weight is W_k. Where
the folds hold out every row once, the pooled importance is sum_k W_k theta_k, and row i
of fold k has the influence psi_i + theta_k - theta on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skvarimp._data.statistics import Units
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.html import bars, numbers, texts
from skvarimp._display.refits import FoldsDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import drawing_errors
from skvarimp._refits.results import ResultWithErrors
from skvarimp._results.intervals import Sampling, interval_ends, one_sided_pvalues
from skvarimp._types import Axes, Floats


@dataclass(frozen=True, eq=False)
class Pooled:
    """Pooled importances and their errors.

    Attributes
    ----------
    importances : ndarray of shape (n_features,)
    standard_errors : ndarray of shape (n_features,)
        Sampling errors with the fitted models held fixed.
    drawing_errors : ndarray of shape (n_features,)
        Of random draws; 0 where nothing was drawn.
    skewness : ndarray of shape (n_features,)
        Of the sampling errors.
    freedom : float
        Degrees of freedom of Student's distribution, of tests.
    sampling : Sampling
        For intervals.
    may_be_negative : bool
        Whether an importance of nothing has mean 0, so that it can be tested.
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    drawing_errors: np.ndarray
    skewness: np.ndarray
    freedom: float
    sampling: Sampling
    may_be_negative: bool

    @classmethod
    def of(cls, folds, held_out, weights, groups):
        """From the parts that `part_of_fold` gives for each fold.

        Parameters
        ----------
        folds : list of (ndarray, ndarray, ndarray, bool)
        held_out : list of ndarray of int
            The rows of each fold.
        weights : ndarray of shape (n_samples,)
        groups : array-like of shape (n_samples,) or None
            Labels of rows that depend on each other.
        """
        theta = np.stack([of_fold for of_fold, *_ in folds])
        drawn = np.stack([errors for _, _, errors, _ in folds])
        shares = np.array([weights[rows].sum() for rows in held_out])
        shares = shares / shares.sum()
        pooled = shares @ theta
        weights = weights / np.concatenate([weights[r] for r in held_out]).sum()
        kept = weights > 0
        psi = np.zeros((len(weights), len(pooled)))
        for (of_fold, influences, *_), rows in zip(folds, held_out):
            psi[rows] = influences + (of_fold - pooled)
        labels = None if groups is None else np.asarray(groups)[kept]
        units, psi = Units.of(weights[kept], labels), psi[kept].T
        errors = units.error(psi)
        skewness = units.skewness(psi, errors)
        drawn = np.sqrt(shares**2 @ drawn**2)
        signed = folds[0][-1]
        sampling = Sampling.of(units, -np.inf if signed else 0.0)
        of_errors = errors, drawn, skewness, units.freedom
        return cls(pooled, *of_errors, sampling, signed)


def not_poolable(measure, rows, held_out, n_samples):
    """Why the importances of folds cannot be pooled; None where they can.

    Parameters
    ----------
    measure : object
    rows : {"held_out", "training"}
    held_out : list of ndarray of int
        The rows of each fold.
    n_samples : int
    """
    name = type(measure).__name__
    if not isinstance(measure, BaseImportance):
        return "only measures of skvarimp tell what single rows add"
    if rows == "training" or measure._reads_training_rows:
        return "the importances are those of training rows"
    if "keep_rows" not in measure.get_params(deep=False):
        return f"{name} has no influences of single rows"
    if getattr(measure, "scoring", None) is not None:
        return "a score is no mean over rows: use `loss`"
    if measure._without_rows:
        return f"{name}: {measure._without_rows}"
    times = np.bincount(np.concatenate(held_out), minlength=n_samples)
    if not np.all(times == 1):
        return "the folds do not hold out every row exactly once"
    return None


def part_of_fold(measure):
    """What a measure fitted with `keep_rows` says of its fold, see `Pooled.of`."""
    influences = np.nan_to_num(measure.influences_)  # NaN where a row has weight 0
    how = drawing_errors(measure), measure._may_be_negative
    return measure.importances_, influences, *how


@dataclass(frozen=True, eq=False, repr=False)
class FoldImportances(ResultWithErrors):
    """Importances of an estimator refitted on every fold.

    Made by :func:`importance_across_folds`.

    Attributes
    ----------
    feature_names : list of str
        Names of the features.
    importances : ndarray of shape (n_folds, n_features)
        Importances of each fold, in the measure's unit.
    importances_per_output : ndarray of shape (n_folds, n_features, n_outputs)
        The same for each output of the estimator.
    output_names : list of str
        Names of the outputs.
    frame_library : str, default="pandas"
        Library of the frames that `to_frame` makes.

    Notes
    -----
    `ranking` is that of the mean over the folds. `to_frame` has the columns feature,
    mean, sd, lowest and highest importance, and mean_rank, best_rank and worst_rank
    over the folds. Where the folds are pooled, it also has the pooled importance,
    standard_error, lower and upper (95% interval), and p_value, holm_p_value and
    fdr_p_value where there are any. `interval` is of the pooled importances, with the
    fitted models held fixed, and is corrected for skewness as
    `BaseImportance.interval`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import importance_across_folds
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> folds = importance_across_folds(LinearRegression(), X, X[:, 0])
    >>> folds.ranks[:, 0]
    array([1., 1., 1., 1., 1.])
    """

    feature_names: list[str]
    importances: Floats
    importances_per_output: Floats
    output_names: list[str]
    frame_library: str = "pandas"
    _pooled: Pooled | None = None
    _not_pooled: str = "they were not made by `importance_across_folds`"

    def __repr__(self) -> str:
        n_folds, n_features = np.shape(self.importances)
        return (
            f"<importances of {n_features} features over {n_folds} folds: to_frame()>"
        )

    @property
    def mean(self) -> Floats:
        """Mean over the folds, of shape (n_features,)."""
        return self.importances.mean(axis=0)

    @property
    def sd(self) -> Floats:
        """Standard deviation over the folds, divisor n_folds - 1; NaN for one fold.

        Not a standard error, see `importance_across_folds`.
        """
        if len(self.importances) < 2:
            return np.full(self.importances.shape[1], np.nan)
        return self.importances.std(axis=0, ddof=1)

    @property
    def ranks(self) -> Floats:
        """Rank in each fold, 1 = most important, of shape (n_folds, n_features).

        Equal importances share the mean of their ranks.
        """
        return rankdata(-self.importances, axis=1)

    def _ranked(self):
        return self.mean

    @property
    def pooled_importances(self) -> Floats:
        """Mean of the folds, weighted by their held-out rows, of shape (n_features,).

        This and what follows exists where the folds hold out every row exactly once
        and the measure has influences of single rows; else they raise ValueError.
        """
        return self._inference().importances

    @property
    def standard_errors(self) -> Floats:
        """Of `pooled_importances`, with the fitted models held fixed, (n_features,).

        The error of random draws is not in it, but in intervals and p-values.
        """
        return self._inference().standard_errors

    @property
    def pvalues(self) -> Floats:
        """One-sided p-values of "not positive", of shape (n_features,).

        For a measure that may be negative, such as `PermutationImportance`. Where the
        error is 0, 0 for a positive importance and 1 for others.
        """
        pooled = self._inference()
        if not pooled.may_be_negative:
            raise ValueError(
                "There is no p-value: the importance is positive even for a column "
                "that tells nothing. Use PermutationImportance()."
            )
        errors = np.hypot(pooled.standard_errors, pooled.drawing_errors)
        return one_sided_pvalues(pooled.importances, errors, pooled.freedom)

    def _estimates(self):
        return self._inference().importances

    def _ends(self, confidence):
        pooled = self._inference()
        of_errors = pooled.standard_errors, pooled.skewness, pooled.drawing_errors
        return interval_ends(
            pooled.importances, *of_errors, pooled.sampling, confidence
        )

    def _inference(self):
        if self._pooled is None:
            raise ValueError(
                f"There are no pooled importances: {self._not_pooled}. Use for example "
                "PermutationImportance() and cv=5."
            )
        return self._pooled

    def _columns(self):
        ranks, values = self.ranks, self.importances
        columns = {
            "mean": self.mean,
            "sd": self.sd,
            "lowest": values.min(axis=0),
            "highest": values.max(axis=0),
            "mean_rank": ranks.mean(axis=0),
            "best_rank": ranks.min(axis=0),
            "worst_rank": ranks.max(axis=0),
        }
        if self._pooled is not None:
            columns |= {"pooled": self._estimates()} | self._columns_of_errors()
            if self._pooled.may_be_negative:
                columns |= self._columns_of_pvalues()
        return columns

    def _notebook(self):
        values, ranks = self.importances, self.ranks
        ends = values.min(axis=0), values.max(axis=0)
        columns = [
            numbers("mean", self.mean),
            numbers("standard deviation", self.sd, self.mean),
            bars("mean over folds", self.mean, *ends),
            texts("best rank", [f"{rank:g}" for rank in ranks.min(axis=0)]),
            texts("worst rank", [f"{rank:g}" for rank in ranks.max(axis=0)]),
        ]
        note = f"{len(values)} folds; lines: lowest to highest fold"
        return "Importances over folds", note, columns

    def plot_pooled(
        self, ax: Axes | None = None, *, label: str = "importance", **kwargs: Any
    ) -> ImportanceDisplay:
        """Draw the pooled importances as bars with their 95% intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        label : str, default="importance"
            What the lengths are, below the bars.
        **kwargs : dict
            Passed to `ImportanceDisplay.plot`.

        Returns
        -------
        display : ImportanceDisplay
            Holds `ax_` and `figure_`.
        """
        return self._bars(ax, label, kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> FoldsDisplay:
        """Draw the folds' importances as boxes, the largest mean on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `FoldsDisplay.from_folds`.

        Returns
        -------
        display : FoldsDisplay
            Holds `ax_` and `figure_`.

        See Also
        --------
        plot_pooled : Bars with the intervals of the pooled importances.
        """
        return FoldsDisplay.from_folds(self, ax=ax, **kwargs)
