"""`FoldImportances`: what `importance_across_folds` returns, and how it is pooled.

Fold k measures theta_k on its held-out rows, whose share of the weight is W_k. Where
no row is held out twice, the pooled importance is sum_k W_k theta_k, and row i of fold
k has the influence psi_i + theta_k - theta on it. Rows that are never held out, as the
first of a time series, are left out.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skvarimp._data.statistics import Units
from skvarimp._display.refits import FoldsDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
)
from skvarimp._results.intervals import Sampling
from skvarimp._results.words import count, named, written
from skvarimp._types import Axes, Floats


@dataclass(eq=False, repr=False)
class FoldImportances(Importances):
    """Importances of an estimator refitted on every fold.

    Made by :func:`importance_across_folds`. Where the folds are pooled, `importances`
    are those of all held-out rows: the mean of the folds, weighted by their rows, with
    standard errors that hold the fitted models fixed. Elsewhere they are the plain mean
    of the folds, without standard errors.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        The mean over the folds, in the measure's unit.
    by_fold : ndarray of shape (n_folds, n_features)
        Importances of each fold.
    by_fold_per_output : ndarray of shape (n_folds, n_features, n_outputs), default=None
        The same for each output of the estimator; None: it has one.
    **kwargs : dict
        Further attributes of :class:`Importances`.

    Notes
    -----
    `to_frame` also has the columns sd (over the folds), lowest and highest importance,
    and mean_rank, best_rank and worst_rank over the folds; and p_value, holm_p_value
    and fdr_p_value where there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import importance_across_folds
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> folds = importance_across_folds(LinearRegression(), X, X[:, 0])
    >>> folds.by_fold.shape
    (5, 2)
    >>> folds.ranks[:, 0]
    array([1., 1., 1., 1., 1.])
    """

    _: KW_ONLY
    by_fold: Floats
    by_fold_per_output: Floats | None = None

    _title = "Importances over folds"

    def __post_init__(self):
        super().__post_init__()
        if self.by_fold_per_output is None:
            self.by_fold_per_output = self.by_fold[:, :, np.newaxis]

    @property
    def sd(self) -> Floats:
        """Standard deviation over the folds, divisor n_folds - 1; NaN for one fold.

        Not a standard error, see `importance_across_folds`.
        """
        if len(self.by_fold) < 2:
            return np.full(self.by_fold.shape[1], np.nan)
        finite = np.where(np.isfinite(self.by_fold), self.by_fold, np.nan)
        return finite.std(axis=0, ddof=1)

    @property
    def ranks(self) -> Floats:
        """Rank in each fold, 1 = most important, of shape (n_folds, n_features).

        Equal importances share the mean of their ranks.
        """
        return rankdata(-self.by_fold, axis=1)

    def _further_columns(self):
        ranks, values = self.ranks, self.by_fold
        columns = {
            "sd": self.sd,
            "lowest": values.min(axis=0),
            "highest": values.max(axis=0),
            "mean_rank": ranks.mean(axis=0),
            "best_rank": ranks.min(axis=0),
            "worst_rank": ranks.max(axis=0),
        }
        if self.standard_errors is not None and self.quantity.zero:
            columns["p_value"] = self.pvalues()
            columns["holm_p_value"] = self.pvalues("holm")
            columns["fdr_p_value"] = self.pvalues("fdr")
        return columns

    def _beside(self):
        values, ranks = self.importances, self.ranks
        digits = written(np.array([self.sd, values]), values)[0]
        best, worst = ranks.min(axis=0), ranks.max(axis=0)
        return {
            "standard deviation over folds": digits,
            "best rank": [f"{rank:g}" for rank in best],
            "worst rank": [f"{rank:g}" for rank in worst],
        }

    def _lines(self):
        ends = np.array([self.by_fold.min(axis=0), self.by_fold.max(axis=0)])
        folds = count(len(self.by_fold), "fold")
        return ends, f"{folds}; lines: lowest to highest fold"

    def _marks_in_words(self):
        folds = count(len(self.by_fold), "fold")
        return (
            f"Boxes are the middle half of the {folds}, whiskers reach from the lowest "
            "to the highest."
        )

    def _conclusions(self):
        n_folds, ranks, noun = len(self.by_fold), self.ranks, self.quantity.noun
        if n_folds < 2 or not self.features:
            return []
        order = np.argsort(self.ranking, kind="stable")
        best, worst = ranks.min(axis=0), ranks.max(axis=0)
        same = [self.features[e] for e in order if best[e] == worst[e]]
        if len(same) == len(order):
            return [f"The order is the same in all {n_folds} folds."]
        if not same:
            return [f"No {noun} has the same rank in all {n_folds} folds."]
        who = named(same, noun=noun)
        return [f"The rank is the same in all {n_folds} folds for {who}."]

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
        ImportanceDisplay.from_importance : Bars with the intervals, also of this.
        """
        return FoldsDisplay.from_folds(self, ax=ax, **kwargs)


def mean_of_folds(per_output, shares=None):
    """Means over folds; a fold that does not know an output is left out of its mean.

    Parameters
    ----------
    per_output : ndarray of shape (n_folds, n_features, n_outputs)
        NaN for all features of an output whose class a fold lacks.
    shares : ndarray of shape (n_folds,), default=None
        Of the rows. None: folds count alike.
    """
    shares = np.ones(len(per_output)) if shares is None else shares
    known = ~np.isnan(per_output).all(axis=1, keepdims=True)
    weights = known * shares[:, np.newaxis, np.newaxis]
    found = np.sum(weights * np.where(known, per_output, 0.0), axis=0)
    return found / np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), np.nan)


def pooled(found, held_out, weights, groups, lowest):
    """Pooled importances of folds with their errors, as attributes.

    Parameters
    ----------
    found : list of Importances
        Of each fold, with influences of its held-out rows.
    held_out : list of ndarray of int
        The rows of each fold; no row is in two.
    weights : ndarray of shape (n_samples,)
        0 for rows that are never held out.
    groups : array-like of shape (n_samples,) or None
        Labels of rows that depend on each other.
    lowest : float
        The smallest importance that can be.

    Returns
    -------
    dict
    """
    theta = np.array([of_fold.importances for of_fold in found])
    per_output = np.array([of_fold.per_output for of_fold in found])
    shares = np.array([weights[rows].sum() for rows in held_out])
    shares = shares / shares.sum()
    mean = shares @ theta
    weights = weights / weights.sum()
    kept = weights > 0
    psi = np.zeros((len(weights), len(mean)))
    for of_fold, rows in zip(found, held_out):
        influences = np.nan_to_num(of_fold.influences)  # NaN where a weight is 0
        psi[rows] = influences + (of_fold.importances - mean)
    labels = None if groups is None else np.asarray(groups)[kept]
    units, terms = Units.of(weights[kept], labels), psi[kept].T
    errors, drawn = units.error(terms), None
    if found[0].drawing_errors is not None:
        drawn = np.array([of_fold.drawing_errors for of_fold in found])
        drawn = np.sqrt(shares**2 @ drawn**2)
    return {
        "importances": mean,
        "per_output": mean_of_folds(per_output, shares),
        "standard_errors": errors,
        "drawing_errors": drawn,
        "skewness": units.skewness(terms, errors),
        "degrees_of_freedom": units.freedom,
        "sampling": Sampling.of(units, lowest),
    }


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
        return "a score is not a mean over rows: use `loss`"
    if measure._without_rows:
        return f"{name}: {measure._without_rows}"
    times = np.bincount(np.concatenate(held_out), minlength=n_samples)
    if np.any(times > 1):
        return "the folds hold out some rows more than once"
    return None
