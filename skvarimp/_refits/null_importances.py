"""`null_importances`: is an importance more than noise?"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.frames import frame_library
from skvarimp._data.statistics import divided
from skvarimp._data.validation import Interval, StrOptions, check_sample_weight
from skvarimp._display.bars import NullDisplay
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._models.labels import encoded
from skvarimp._refits.refits import (
    Measure,
    generator,
    mean_of,
    prepare,
    run_refits,
    seeds_of,
    warn_if_stopped,
)
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
)
from skvarimp._results.words import count, named
from skvarimp._running.guards import warn
from skvarimp._types import (
    AnyEstimator,
    Axes,
    CrossValidation,
    Floats,
    Matrix,
    RandomState,
)

TIE = 1e-12  # a relative difference that is rounding
ALL_ROWS = "all_rows"
LEVEL = 0.05  # of what stands out in a summary


def null_importances(
    estimator: AnyEstimator | None,
    X: Matrix,
    y: ArrayLike,
    measure: Measure | None = None,
    *,
    n_permutations: int = 99,
    n_repeats: int = 1,
    cv: CrossValidation | Literal["all_rows"] = 5,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callbacks: Any = None,
) -> NullImportances:
    """Importances after shuffling y and refitting, with p-values.

    The function answers "is this importance more than noise?". It compares the
    importance of each feature with the importances that the same estimator gives it
    when the target has nothing to do with X.

    Parameters
    ----------
    estimator : estimator or None
        Cloned and refitted for y and for each shuffled y. None for measures without a
        model, such as `FilterImportance`.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows, in a container that the estimator takes.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Target.
    measure : measure, str or callable, default=None
        Any measure of skvarimp, cloned for each refit, or a callable
        (estimator, X, y) -> (n_features,), or the name of a measure, such as
        "permutation", for default parameters. Larger must be more important. None:
        `PermutationImportance()`; see Notes.
    n_permutations : int, default=99
        Shuffled targets; the smallest possible p-value is 1 / (1 + n_permutations).
    n_repeats : int, default=1
        Number of refits, each with its own seed, that are averaged to one importance.
        Use more for estimators or measures that draw random numbers.
    cv : int, splitter, iterable, "all_rows" or None, default=5
        An importance is the mean over folds, measured on the held-out rows; each
        shuffled y gets new splits. An integer is the number of folds, stratified for
        classifiers; None: 5, as in scikit-learn. "all_rows": fit and measure on all
        rows.
    strata : array-like of shape (n_samples,), default=None
        Labels; y is shuffled only among rows with the same label. For rows that can be
        exchanged within a centre or a batch, but not across.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the estimator, which must take them, and the measure; a pipeline
        needs metadata routing for it. A row's weight moves with its target, as weights
        for classes or for the precision of a measurement must. Rows with zero weight
        keep their targets.
    groups : array-like of shape (n_samples,), default=None
        Labels for the splitter of `cv`. They stay with the rows of X.
    params : dict, default=None
        Further metadata, one value per row, with scikit-learn's metadata routing on;
        and what the estimator's `fit` takes that is not per row.
        It stays with the rows of X.
    n_jobs : int, default=None
        Number of joblib workers over the permutations. The numbers do not depend on
        it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffles, and of every `random_state` that is None inside the
        estimator, the measure and the splitter; each refit gets its own.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each permutation. If one,
        or Ctrl-C, stops the work, the permutations done so far are returned, with a
        warning.

    Returns
    -------
    NullImportances
        The importances, those of the shuffled targets, p-values; `to_frame()` and
        `plot()`.

    See Also
    --------
    importance_across_folds : How much an importance depends on the training rows.

    Notes
    -----
    With T_j the importance of feature j and T_jb that of the b-th of B shuffled
    targets,

        p_j = (1 + #{b : T_jb >= T_j}) / (1 + B).

    The + 1 counts the unshuffled target, which is one of its own permutations: without
    it, p could be 0 and would be too small on average. Ties count against the feature:
    a feature that is 0 with every target has p = 1. The family-wise p-value compares
    T_j with the largest null importance of *any* feature, after each feature is
    standardised by its mean and standard deviation over the 1 + B targets [3]_. If y
    has nothing to do with X, some family-wise p-value is below 0.05 in at most 5% of
    the data sets, however many features there are.

    The false-discovery-rate p-value is Benjamini and Hochberg's adjustment of p_j
    [4]_: among the features where it is at most q, the expected share of those that
    have nothing to do with y is at most q, if the p-values are independent or
    positively dependent. It needs 1 + B of at least n_features / (q times the features
    found): 100 features, of which 5 matter, take 399 permutations for q = 0.05.

    The null hypothesis is that y has nothing to do with *any* column, given the strata.
    If some columns matter, the others are compared with models fitted to noise alone,
    which give them higher importances: their p-values then tend to be too large. Many
    models give some importance to a column that is correlated with one that matters;
    its small p-value is then correct. Many ties (trees, few rows) make p-values larger
    than uniform, never smaller.

    The default, `PermutationImportance` on held-out rows, is near 0 for a model of
    shuffled targets. Measures that look at the response alone, such as
    `SensitivityImportance`, and measures on training rows can be as large for a model
    that overfits shuffled targets as for the real one. If most importances lie a
    standard deviation below the mean of their null importances, an `ImportanceWarning`
    says so.

    Cost: (1 + n_permutations) * n_repeats refits and importances, times the folds.

    References
    ----------
    .. [1] A. Altmann, L. Tolosi, O. Sander and T. Lengauer, "Permutation importance: a
       corrected feature importance measure", Bioinformatics 26 (2010), section 2.2.
    .. [2] B. Phipson and G. K. Smyth, "Permutation P-values Should Never Be Zero",
       Statistical Applications in Genetics and Molecular Biology 9 (2010).
    .. [3] P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing", Wiley
       (1993), section 2.3: the distribution of the maximum.
    .. [4] Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate: A
       Practical and Powerful Approach to Multiple Testing", Journal of the Royal
       Statistical Society B 57 (1995), eq. (1).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import null_importances
    >>> X, y = make_friedman1(200, n_features=7, random_state=0)
    >>> null = null_importances(
    ...     LinearRegression(), X, y, n_permutations=49, random_state=0
    ... )
    >>> null.pvalues().round(2)
    array([0.02, 0.02, 0.54, 0.02, 0.02, 0.32, 0.54])
    """
    caller = "null_importances"
    at_least_one = [Interval(Integral, 1, None, closed="left")]
    if y is None:
        raise ValueError("y is required: its permutations are what is compared with.")
    if measure is None:
        measure = PermutationImportance()
    refits, splitter = prepare(
        caller,
        locals(),
        n_permutations=at_least_one,
        n_repeats=at_least_one,
        cv=["cv_object", StrOptions({ALL_ROWS})],
    )
    blocks = _blocks(strata, sample_weight, refits.table.n_samples)
    seeds = seeds_of(generator(random_state), 1 + n_permutations)
    tasks = [(number > 0, seed) for number, seed in enumerate(seeds)]
    arguments = (refits, splitter, blocks, n_repeats)
    found = run_refits(_one_permutation, tasks, arguments, n_jobs, callbacks, least=2)
    warn_if_stopped(caller, len(found) - 1, n_permutations, "permutations")
    (own, n_folds), actual = found[0], found[0][0].importances
    null = np.array([one.importances for one, _ in found[1:]])
    null = null.reshape(-1, len(actual))
    _warn_of_large_nulls(actual, null)
    return NullImportances(
        own.features,
        actual,
        null=null,
        per_output=own.per_output,
        output_names=own.output_names,
        quantity=own.quantity,
        circumstances=refits.circumstances(n_folds=n_folds),
        frame_library=frame_library(refits.table.native),
    )


def _warn_of_large_nulls(actual, null):
    """Say so where most importances lie a standard deviation below their null mean.

    Of noise that the model does not overfit, about one in six does.
    """
    if len(null) < 2:
        return
    below = int(np.sum(null.mean(axis=0) - actual > null.std(axis=0, ddof=1)))
    if below > len(actual) / 2:
        warn(
            f"{below} of {len(actual)} importances lie well below their mean for "
            "shuffled targets: the model overfits shuffled targets, and p-values say "
            "little. Use the defaults, PermutationImportance() and cv=5, which measure "
            "on held-out rows."
        )


def _blocks(strata, sample_weight, n_samples):
    """Positions of the rows that exchange their targets with each other."""
    labels = np.zeros(n_samples) if strata is None else np.asarray(strata)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"`strata` must have shape ({n_samples},), one label per row of X, got "
            f"{labels.shape}."
        )
    rows = np.flatnonzero(check_sample_weight(sample_weight, n_samples))
    _, codes = encoded(labels[rows])
    blocks = [rows[codes == code] for code in range(codes.max() + 1)]
    if max(len(block) for block in blocks) < 2:
        raise ValueError(
            "Every row is a stratum of its own: nothing can be shuffled. Use `strata` "
            "with several rows each."
        )
    return blocks


def _one_permutation(task, refits, splitter, blocks, n_repeats):
    """Mean importances for y, or for one permutation of it."""
    shuffled, seed = task
    random = np.random.default_rng(seed)
    if shuffled:
        order = np.arange(refits.table.n_samples)
        for block in blocks:
            order[block] = random.permutation(block)
        refits = refits.with_targets_of(order)
    results, splits, n_folds = [], [(None, None)], 0
    for _ in range(n_repeats):
        if splitter is not None:
            splits = refits.splits(deepcopy(splitter), random)
            n_folds = len(splits)
        results += [refits.refitted(*split, random) for split in splits]
    return mean_of(results), n_folds


@dataclass(eq=False, repr=False)
class NullImportances(Importances):
    """Importances beside those for shuffled targets.

    Made by :func:`null_importances`.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Those for y itself, in the measure's unit.
    null : ndarray of shape (n_permutations, n_features)
        Those for each shuffled y.
    **kwargs : dict
        Further attributes of :class:`Importances`.

    Notes
    -----
    The p-values are shares of importances that are as large as y's own, y's included:
    (1 + #{b : T_jb >= T_j}) / (1 + n_permutations), ties up to rounding included.

    `to_frame` also has the columns null_mean and null_sd (mean and standard deviation,
    divisor n_permutations, for the shuffled targets), p_value, familywise_p_value and
    fdr_p_value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import null_importances
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> how = {"n_permutations": 9, "random_state": 0}
    >>> null = null_importances(LinearRegression(), X, X[:, 0], **how)
    >>> null.pvalues()[0] * 10
    np.float64(1.0)
    """

    _: KW_ONLY
    null: Floats

    _title = "Importances and noise"

    def _pvalues(self):
        return _pvalues(self.importances, self.null)

    @property
    def familywise_pvalues(self) -> Floats:
        """P-values of standardised importances against the largest of any feature.

        Of shape (n_features,). Each feature is standardised by its own mean and
        standard deviation over y and the shuffled targets, so that features whose
        importance varies much do not drown the others; one that never varies stands at
        0.
        """
        both = _finite(np.vstack([self.importances, self.null]))
        rounding = TIE * np.abs(both).max(axis=0)
        standard = divided(both - both.mean(axis=0), both.std(axis=0), rounding)
        largest = standard[1:].max(axis=1, keepdims=True, initial=-np.inf)
        return _pvalues(np.where(np.isnan(both[0]), np.nan, standard[0]), largest)

    def _further_columns(self):
        null = self.null
        if len(null) == 0:  # stopped before the first of them
            null = np.full((1, len(self.features)), np.nan)
        return {
            "null_mean": null.mean(axis=0),
            "null_sd": _finite(null).std(axis=0),
            "p_value": self.pvalues(),
            "familywise_p_value": self.familywise_pvalues,
            "fdr_p_value": self.pvalues("fdr"),
        }

    def _beside(self):
        pvalues, familywise = self.pvalues(), self.familywise_pvalues
        return {
            "p": [f"{p:.3f}" for p in pvalues],
            "family-wise p": [f"{p:.3f}" for p in familywise],
        }

    def _lines(self):
        ends = np.full((2, len(self.features)), np.nan)
        if len(self.null):
            ends = np.quantile(_finite(self.null), [0.025, 0.975], axis=0)
        targets = count(len(self.null), "shuffled target")
        return ends, f"{targets}; lines: 95% of their importances"

    def _marks_in_words(self):
        targets = count(len(self.null), "shuffled target")
        return (
            "Dots are the importances for y, bands hold 95% of the importances for "
            f"{targets}."
        )

    def _conclusions(self):
        n, pvalues = len(self.null), self.familywise_pvalues
        order = np.argsort(self.ranking, kind="stable")
        found = [self.features[e] for e in order if pvalues[e] <= LEVEL]
        others = [self.features[e] for e in order if pvalues[e] > LEVEL]
        beside = f"Beside the importances for {count(n, 'shuffled target')}"
        if not n or not len(order):
            return []
        if not found:
            return [f"{beside} none stands out (no family-wise p-value is below 0.05)."]
        verb = "stands out" if len(found) == 1 else "stand out"
        noun = self.quantity.noun
        text = f"{beside} {named(found, noun=noun)} {verb} (family-wise p-values of at "
        text += f"most {max(p for p in pvalues if p <= LEVEL):.2g})"
        if others:
            verb = "does not" if len(others) == 1 else "do not"
            text += f", while {named(others, noun=noun)} {verb}"
        return [f"{text}."]

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> NullDisplay:
        """Draw each feature's importance and the band of its nulls.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `NullDisplay.from_null`.

        Returns
        -------
        display : NullDisplay
            Holds `ax_` and `figure_`.
        """
        return NullDisplay.from_null(self, ax=ax, **kwargs)


def _pvalues(importances, null):
    """(1 + #{null >= importance}) / (1 + n) along the first axis of the null."""
    reached = importances * (1.0 - TIE * np.sign(importances))
    shares = (1 + (null >= reached).sum(axis=0)) / (1 + len(null))
    return np.where(np.isnan(importances), np.nan, shares)


def _finite(values):
    """The same, and NaN in place of infinite numbers."""
    return np.where(np.isfinite(values), values, np.nan)
