"""`importance_across_folds`: how much an importance depends on the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skvarimp._data.frames import frame_library
from skvarimp._data.validation import StrOptions, check_weights
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._refits.folds_result import (
    FoldImportances,
    mean_of_folds,
    not_poolable,
    pooled,
)
from skvarimp._refits.refits import (
    Measure,
    check_comparable,
    prepare,
    run_refits,
    warn_if_stopped,
)
from skvarimp._types import AnyEstimator, CrossValidation, Matrix, RandomState


def importance_across_folds(
    estimator: AnyEstimator | None,
    X: Matrix,
    y: ArrayLike | None,
    measure: Measure | None = None,
    cv: CrossValidation = 5,
    *,
    rows: Literal["held_out", "training"] = "held_out",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
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
    measure : measure, str or callable, default=None
        Any measure of skvarimp, cloned for each fold, or a callable
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
        Further metadata, one value per row, with scikit-learn's metadata routing on;
        and what the estimator's `fit` takes that is not per row.
    n_jobs : int, default=None
        Number of joblib workers over the folds. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every `random_state` that is None inside the estimator, the measure
        and the splitter; each refit gets its own.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each refit. If one, or
        Ctrl-C, stops the work, the folds done so far are returned, with a warning.

    Returns
    -------
    FoldImportances
        The mean importances with intervals and p-values, where there are any; those of
        every fold, their spread and ranks.

    See Also
    --------
    null_importances : Is an importance more than noise?
    BackwardEliminationSelector : Drops columns and keeps a subset that scores well.

    Notes
    -----
    Where the folds hold out no row more than once and the measure has influences of
    single rows, the held-out rows are pooled: the importance is the mean of the folds,
    weighted by their rows, and a row's influence on it is that on its own fold plus the
    fold's deviation from the mean. `standard_errors`, `interval` and one-sided
    `pvalues` follow. Rows that are never held out, as the first of a
    `TimeSeriesSplit`, are left out of all of these; rows that depend on their
    neighbours in time need `groups`. The errors hold the fitted models fixed: they say
    how far the importance would change with other held-out rows, not with other
    training rows.
    With ``PermutationImportance(conditional="residuals")`` the p-value tests whether a
    column adds anything, given the others [2]_ [3]_. Each row is held out of one fold
    and trains the others. If the model uses an irrelevant column in many small ways,
    the errors of the folds add up, and the variance is up to twice what the standard
    error says.

    The spread over folds is *not* a standard error. The training sets overlap: any two
    of five folds share three quarters of their rows, so that the folds agree with each
    other more than with a new sample. In simulations (``benchmarks/coverage.py folds``)
    the spread divided by the square root of the number of folds was 1.1 to 4.5 times
    too small for the error of the mean, and more repeats made it worse. Nadeau and
    Bengio's correction for test errors [1]_ does not help enough: an importance varies
    more with the fit than a test error does, and half of the error was still missing
    in some cases. Therefore no standard error of refits is given. To know how far an
    importance of a refitted model may change in a new sample, draw new samples.

    Cost: one refit and one importance per fold.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine
       Learning 52 (2003), section 3.
    .. [2] D. S. Watson and M. N. Wright, "Testing Conditional Independence in
       Supervised Learning Algorithms", Machine Learning 110 (2021).
    .. [3] A. Chamma, D. A. Engemann and B. Thirion, "Statistically Valid Variable
       Importance Assessment through Conditional Permutations", NeurIPS 36 (2023).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import PermutationImportance, importance_across_folds
    >>> X, y = make_friedman1(200, n_features=6, random_state=0)
    >>> folds = importance_across_folds(
    ...     LinearRegression(), X, y, PermutationImportance()
    ... )
    >>> folds.by_fold.shape
    (5, 6)
    >>> columns = ["feature", "importance", "sd", "best_rank"]
    >>> print(folds.to_frame()[columns].round(1).head(3))
      feature  importance   sd  best_rank
    0      x3        18.3  5.1        1.0
    1      x1         9.8  2.1        1.0
    2      x0         5.9  1.9        3.0
    """
    caller = "importance_across_folds"
    constraint = [StrOptions({"held_out", "training"})]
    measure = SensitivityImportance() if measure is None else measure
    refits, splitter = prepare(caller, locals(), rows=constraint)
    tasks = [
        (train, train if rows == "training" else held_out, seed)
        for train, held_out, seed in refits.seeded_splits(splitter, random_state)
    ]
    held_out, n_samples = [r for _, r, _ in tasks], refits.table.n_samples
    reason = not_poolable(refits.measure, rows, held_out, n_samples)
    if reason is None:
        keeping = clone(refits.measure).set_params(keep_rows=True)
        refits = replace(refits, measure=keeping)
    arguments = refits, reason is None
    found = run_refits(_one_fold, tasks, arguments, n_jobs, callbacks)
    warn_if_stopped(caller, len(found), len(tasks), "folds")
    check_comparable(found)
    if len(found) < len(tasks):
        reason = "not all folds are done"
    by_fold = np.array([of_fold.importances for of_fold in found])
    per_output = np.array([of_fold.per_output for of_fold in found])
    given = {
        "importances": by_fold.mean(axis=0),
        "per_output": mean_of_folds(per_output),
    }
    n_groups = None
    if reason is None:
        groups = refits.passed.groups if groups is None else groups
        weights = refits.passed.measure.get("sample_weight")
        weights = check_weights(weights, n_samples)
        ever = np.bincount(np.concatenate(held_out), minlength=n_samples) > 0
        weights = np.where(ever, weights, 0.0)
        lowest = refits.measure._lowest()
        given = pooled(found, held_out, weights, groups, lowest)
        if groups is not None:
            n_groups = len(np.unique(np.asarray(groups)[weights > 0]))
    return FoldImportances(
        found[0].features,
        by_fold=by_fold,
        by_fold_per_output=per_output,
        output_names=found[0].output_names,
        quantity=found[0].quantity,
        circumstances=refits.circumstances(
            held_out[: len(found)],
            len(found),
            n_groups=n_groups,
            **({"rows": "training row"} if rows == "training" else {}),
            no_errors=f"There are none here: {reason}. Use for example "
            "PermutationImportance() and cv=5.",
        ),
        frame_library=frame_library(refits.table.native),
        **given,
    )


def _one_fold(task, refits, pools):
    """What a fold has found, with influences where folds are pooled."""
    measured = refits.found_after_refit(*task)
    found = refits.importances_of(measured)
    return replace(found, influences=measured.influences_) if pools else found
