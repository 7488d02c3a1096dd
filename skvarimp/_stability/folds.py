"""`importance_across_folds`: how much an importance depends on the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from skvarimp._data.frames import entry_frame, frame_library
from skvarimp._data.validation import StrOptions
from skvarimp._display.stability import FoldsDisplay
from skvarimp._measures.base import ranking
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._selection.refits import check_comparable
from skvarimp._stability.prepare import prepare, run_refits, warn_if_stopped
from skvarimp._types import (
    AnyEstimator,
    Axes,
    CrossValidation,
    Floats,
    Frame,
    Importance,
    Integers,
    Matrix,
    RandomState,
)


def importance_across_folds(
    estimator: AnyEstimator | None,
    X: Matrix,
    y: ArrayLike | None,
    importance: Importance | None = None,
    cv: CrossValidation = 5,
    *,
    rows: Literal["held_out", "training"] = "held_out",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, ArrayLike] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callbacks: Any = None,
) -> FoldImportances:
    """Importances of an estimator refitted on each fold: mean, spread and ranks.

    The function answers "would a refit to other rows give the same importance?". A
    column whose importance is near zero in every fold is a candidate to drop. Whether
    it is needed, `leave_out_importances` tells: columns can replace each other.

    Parameters
    ----------
    estimator : estimator or None
        Cloned and refitted on each fold's training rows. None for measures without a
        model, such as `FilterImportance`.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows, in a container that the estimator takes.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Target; None for estimators and measures that need none.
    importance : importance, str or callable, default=None
        Any importance class of skvarimp, cloned for each fold, or a callable
        (estimator, X, y) -> (n_features,), or the name of a measure, such as
        "permutation", for default parameters. None: `SensitivityImportance()`.
    cv : int, splitter, iterable or None, default=5
        An integer is the number of folds, stratified for classifiers; None: 5, as
        in scikit-learn. Splitters such as `RepeatedKFold` and `ShuffleSplit` give any
        number of repeats.
    rows : {"held_out", "training"}, default="held_out"
        The rows to measure on. Measures that read the fit itself
        (`ImpurityImportance`, `CoefficientImportance`, out-of-bag permutation) are
        given the training rows in any case.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the estimator, which must take them, and the measure; a pipeline
        needs metadata routing for it.
    groups : array-like of shape (n_samples,), default=None
        Labels for the splitter, such as `GroupKFold`.
    params : dict, default=None
        Further metadata, one entry per row, with scikit-learn's metadata routing on.
    n_jobs : int, default=None
        Number of joblib workers over the folds. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every `random_state` that is None inside the estimator, the importance
        and the splitter; each refit gets its own.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each refit. If one, or
        Ctrl-C, stops the work, the folds done so far are returned, with a warning.

    Returns
    -------
    FoldImportances
        Importances of every fold, their mean, spread and ranks; `to_frame()` and
        `plot()`.

    See Also
    --------
    null_importances : Is an importance more than noise?
    BackwardEliminationSelector : Drops columns and keeps a subset that scores well.

    Notes
    -----
    The spread over folds is *not* a standard error. The training sets overlap: any two
    of five folds share three quarters of their rows, so that the folds agree with each
    other more than with a new sample. In simulations (``benchmarks/fold_spread.py``)
    the spread divided by the square root of the number of folds was 1.1 to 4.5 times
    too small for the error of the mean, and more repeats made it worse. Nadeau and
    Bengio's correction for test errors [1]_ does not help enough: an importance varies
    more with the fit than a test error does, and half of the error was still missing
    in some cases. Therefore no standard error is given. To know how far an importance
    may change in a new sample, draw new samples.

    Cost: one refit and one importance per fold.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine
       Learning 52 (2003), section 3.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import PermutationImportance, importance_across_folds
    >>> X, y = make_friedman1(200, n_features=6, random_state=0)
    >>> folds = importance_across_folds(
    ...     LinearRegression(), X, y, PermutationImportance()
    ... )
    >>> folds.importances.shape
    (5, 6)
    >>> print(folds.to_frame()[["entry", "mean", "sd", "best_rank"]].round(1).head(3))
      entry  mean   sd  best_rank
    0    x3  18.3  5.1        1.0
    1    x1   9.8  2.1        1.0
    2    x0   5.9  1.9        3.0
    """
    caller = "importance_across_folds"
    constraint = [StrOptions({"held_out", "training"})]
    importance = SensitivityImportance() if importance is None else importance
    refits, splitter = prepare(caller, locals(), rows=constraint)
    tasks = [
        (train, train if rows == "training" else held_out, seed)
        for train, held_out, seed in refits.seeded_splits(splitter, random_state)
    ]
    folds = run_refits(_of_fold, tasks, (refits,), n_jobs, callbacks)
    warn_if_stopped(caller, len(folds), len(tasks), "folds")
    check_comparable(folds)
    return FoldImportances(
        folds[0].entry_names,
        np.array([fold.importances for fold in folds]),
        np.array([fold.per_output for fold in folds]),
        folds[0].output_names,
        frame_library(refits.table.native),
    )


def _of_fold(task, refits):
    return refits.refitted(*task)


@dataclass(frozen=True, eq=False, repr=False)
class FoldImportances:
    """Importances of an estimator refitted on every fold.

    Made by :func:`importance_across_folds`.

    Attributes
    ----------
    entry_names : list of str
        Names of the entries.
    importances : ndarray of shape (n_folds, n_entries)
        Importances of each fold, in the measure's unit.
    importances_per_output : ndarray of shape (n_folds, n_entries, n_outputs)
        The same for each output of the estimator.
    output_names : list of str
        Names of the outputs.
    frame_library : str, default="pandas"
        Library of the frames that `to_frame` makes.

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

    entry_names: list[str]
    importances: Floats
    importances_per_output: Floats
    output_names: list[str]
    frame_library: str = "pandas"

    def __repr__(self) -> str:
        n_folds, n_entries = np.shape(self.importances)
        return f"<importances of {n_entries} entries over {n_folds} folds: to_frame()>"

    @property
    def mean(self) -> Floats:
        """Mean over the folds, of shape (n_entries,)."""
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
        """Rank in each fold, 1 = most important, of shape (n_folds, n_entries).

        Equal importances share the mean of their ranks.
        """
        return rankdata(-self.importances, axis=1)

    @property
    def ranking(self) -> Integers:
        """Rank of the mean importances, 1 = most important, of shape (n_entries,)."""
        return ranking(self.mean)

    def to_frame(self) -> Frame:
        """Table of the entries, the largest mean first.

        Returns
        -------
        frame of shape (n_entries, 8)
            Columns entry, mean, sd, lowest and highest importance, mean_rank,
            best_rank and worst_rank over the folds, in the frame library X came in
            (pandas for arrays).
        """
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
        return entry_frame(self.entry_names, self.ranking, columns, self.frame_library)

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
        """
        return FoldsDisplay.from_folds(self, ax=ax, **kwargs)
