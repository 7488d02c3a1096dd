"""`leave_out_importances`: is the column needed once the model is refitted?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LinearRegression, Ridge

from skvarimp._data.frames import frame_library
from skvarimp._data.table import resolve_features
from skvarimp._data.validation import StrOptions, check_weights
from skvarimp._measures.losses import LOSSES, loss_in_words, make_loss, refused_loss
from skvarimp._models.labels import as_columns
from skvarimp._models.model import Model
from skvarimp._refits.leave_out_result import LeaveOutImportances
from skvarimp._refits.refits import (
    check_refittable,
    prepare,
    run_refits,
    warn_if_stopped,
)
from skvarimp._refits.removal import with_removal
from skvarimp._results.words import Quantity
from skvarimp._running.guards import warn
from skvarimp._types import (
    AnyEstimator,
    CrossValidation,
    Features,
    Loss,
    Matrix,
    RandomState,
)

CLOSED_FORM_SOLVERS = ("auto", "cholesky", "svd")  # the others stop at a tolerance
WORST_CONDITION = 1e6  # of the centred columns


def leave_out_importances(
    estimator: AnyEstimator,
    X: Matrix,
    y: ArrayLike,
    *,
    features: Features = None,
    loss: Loss = "auto",
    cv: CrossValidation = 5,
    removal: Literal["auto", "drop", "constant"] = "constant",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callbacks: Any = None,
) -> LeaveOutImportances:
    """Increase of the held-out loss when the estimator is refitted without a feature.

    The function answers "is this column needed?", or can other columns replace it? In
    each fold the estimator is fitted with all columns and again without each feature.
    The importance is the mean difference between the losses of the held-out rows.

    Parameters
    ----------
    estimator : estimator
        Cloned for each refit.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows, in a container that the estimator takes.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Target.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups, which are left out
        together); None: each column.
    loss : {"auto", "squared_error", "absolute_error", "poisson_deviance", \
"gamma_deviance", "tweedie_deviance", "log_loss", "zero_one"} or callable, \
default="auto"
        Loss of a row, as in `PermutationImportance`: "auto" is the log loss of
        classifiers' probabilities, "zero_one" of classifiers without them, and the
        squared error otherwise.
    cv : int, splitter, iterable or None, default=5
        Folds, or their number (stratified for classifiers); None: 5. A row held
        out several times counts once, with its mean difference; a row never held out
        does not count.
    removal : {"auto", "drop", "constant"}, default="constant"
        "constant": each column keeps its place but holds one value, the median of
        numbers or the most frequent of other values. "drop": the columns are removed
        from X, and from parameters of the estimator that refer to columns. "auto":
        "drop" where that works, else "constant", with a warning. See
        `BackwardEliminationSelector`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the estimator, which must take them, and for the mean of the
        differences; a pipeline needs metadata routing for it. Importances treat integer
        weights as repeated rows. Standard errors do not depend on the scale of the
        weights, so give counts as repeated rows where errors matter.
    groups : array-like of shape (n_samples,), default=None
        Labels for the splitter, such as `GroupKFold`. Rows of one group may depend on
        each other: the standard error is that of a mean over groups. None: those that
        `params` routes to the splitter. Folds given as an iterable do not name theirs:
        a warning says so where `groups` is None.
    params : dict, default=None
        Further metadata, one value per row, with scikit-learn's metadata routing on;
        and what the estimator's `fit` takes that is not per row.
    n_jobs : int, default=None
        Number of joblib workers over folds and features. The numbers do not depend on
        it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every `random_state` that is None inside the estimator and the splitter.
        All refits in a fold, with and without a feature, get the same seed.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each refit. If one, or
        Ctrl-C, stops the work, the folds completed so far are returned, with a warning.

    Returns
    -------
    LeaveOutImportances
        Importances, standard errors, intervals and p-values; `to_frame()` and
        `plot()`.

    See Also
    --------
    PermutationImportance : What the model at hand owes to the column.
    AllRelevantSelector : Which columns carry information at all.
    BackwardEliminationSelector : A small set of columns that suffices.

    Notes
    -----
    With d_i = loss(y_i, f_without(x_i)) - loss(y_i, f(x_i)) of the held-out rows, the
    importance is the (weighted) mean of d_i, and its standard error the standard
    deviation of d_i (divisor n - 1) divided by the square root of the number of rows n;
    with weights w that sum to 1, the root of n / (n - 1) times the sum over i of
    (w_i (d_i - mean))^2. This is the
    cross-fitted estimate of Williamson et al. [1]_ with its influence function. In the
    population the importance is the increase of the smallest expected loss when the
    column is unknown; for the squared error, the increase of the residual variance. A
    column that others can replace has importance 0, however much the model uses it. Two
    copies of a column both have importance 0: leave them out as a group.

    The p-value is one-sided. It tests the hypothesis that the importance is not
    positive by the ratio of importance to standard error. Near 0 it is conservative:
    fitting a useless column costs a little, so that the mean of d_i is below 0. The
    standard error covers the draw of the held-out rows, but not that of the training
    rows. The latter adds little for models that converge quickly, and more for flexible
    ones, whose intervals are too narrow: 95% intervals for nearest neighbours covered
    85% in simulations.

    The increase of a loss near its minimum is the square of an effect. Its estimate is
    skewed, so that an interval of 1.96 standard errors on either side too often ends
    below the true value. With importance m (0 if it is negative) and standard error s,

        q = (m + (m^2 + 2 s^2)^(1/2)) / 2,  v = s^2 / (4 q)

    are the square of the estimated effect and its variance, where m = q - 2 v since
    held-out rows charge for what was fitted to noise. The upper end is (q^(1/2) + z
    v^(1/2))^2 = m + z s + (z^2 + 2) v. The lower end is m - z s + z^2 v where the test
    at the interval's level rejects 0, and m - z s, which is then not positive,
    elsewhere. In simulations of least squares with 200 rows such intervals held the
    importance of needed columns in 93% to 97% of samples, and an unneeded column's 0
    nearly always (``benchmarks/coverage.py leave_out``).

    `LinearRegression` and `Ridge` on numeric arrays and frames, with no more columns
    than training rows, are refitted once per fold; the losses without each feature
    follow in closed form. The cost is otherwise 1 + n_features refits per fold.

    References
    ----------
    .. [1] B. D. Williamson, P. B. Gilbert, N. R. Simon and M. Carone, "A General
       Framework for Inference on Algorithm-Agnostic Variable Importance", Journal of
       the American Statistical Association 118 (2023), section 3.
    .. [2] B. D. Williamson, P. B. Gilbert, M. Carone and N. Simon, "Nonparametric
       Variable Importance Assessment Using Machine Learning Techniques", Biometrics 77
       (2021).
    .. [3] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman,
       "Distribution-Free Predictive Inference for Regression", Journal of the American
       Statistical Association 113 (2018), section 6.

    Examples
    --------
    y = x0 + x1 + noise, and x2 is a copy of x1: only x0 cannot be replaced.

    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from skvarimp import leave_out_importances
    >>> random = np.random.default_rng(0)
    >>> X = random.standard_normal((400, 2))[:, [0, 1, 1]]
    >>> y = X[:, 0] + X[:, 1] + random.standard_normal(400)
    >>> needed = leave_out_importances(Ridge(), X, y)
    >>> needed.importances.round(2) + 0.0
    array([0.96, 0.  , 0.  ])
    >>> both = leave_out_importances(Ridge(), X, y, features=[0, [1, 2]])
    >>> both.importances.round(2)
    array([0.96, 1.24])
    """
    caller = "leave_out_importances"
    check_refittable(estimator)
    if y is None:
        raise ValueError("y is required: the losses of held-out rows compare with it.")
    refits, splitter = prepare(
        caller,
        locals(),
        loss=[StrOptions({"auto", *LOSSES}), Callable],
        removal=[StrOptions({"auto", "drop", "constant"})],
    )
    groups = refits.passed.groups if groups is None else groups
    if groups is None and np.iterable(cv):
        warn(
            "Folds given as a list or iterator do not say which rows belong together: "
            "all rows count as independent. If the folds keep groups together, pass "
            "`groups`; otherwise groups=range(len(X)), or a splitter as `cv`."
        )
    reason = refused_loss(loss, estimator, "auto")
    if reason:
        raise ValueError(reason)
    table = refits.table
    features = resolve_features(features, table.names, table.n_columns)
    splits = refits.seeded_splits(splitter, random_state)
    left_out = [None, *features]

    def run(removed):
        together = _has_closed_form(estimator, table, removed)
        batches = [left_out] if together else [[one] for one in left_out]
        tasks = [(*split, batch) for split in splits for batch in batches]
        arguments = (refits, loss, removed)
        least = len(batches)
        found = run_refits(_losses_of_task, tasks, arguments, n_jobs, callbacks, least)
        found = iter(found)
        return list(zip(*[found] * least))  # whole folds

    whole_folds = with_removal(removal, run, estimator, table, features)
    by_fold = [np.hstack([losses for _, losses in fold]) for fold in whole_folds]
    warn_if_stopped(caller, len(by_fold), len(splits), "folds")
    weights = check_weights(sample_weight, table.n_samples)
    n_groups = None
    if groups is not None:
        n_groups = len(np.unique(np.asarray(groups)[weights > 0]))
    name = whole_folds[0][0][0] if whole_folds else "<lambda>"
    return LeaveOutImportances._of(
        [feature.name for feature in features],
        _mean_of_rows(splits, by_fold, (table.n_samples, len(left_out))),
        weights,
        groups,
        quantity=_in_words(name),
        circumstances=refits.circumstances(
            [rows for _, rows, _ in splits[: len(by_fold)]],
            len(by_fold),
            n_groups=n_groups,
        ),
        frame_library=frame_library(table.native),
    )


def _in_words(name):
    """What the numbers are, by the name of the loss."""
    loss, unit = loss_in_words(name)
    return Quantity(
        f"increase of the held-out {loss}",
        f"the increase of the mean {loss} of held-out rows when the model is refitted "
        "without the feature",
        unit,
        zero=True,
    )


def _losses_of_task(task, refits, loss, removal):
    """Name of the loss, and losses of a fold's held-out rows, (n_held_out, n_left_out).

    Parameters
    ----------
    task : (ndarray, ndarray, int, list)
        Training rows, held-out rows, seed, and the features to leave out, one after the
        other; None: nothing. Several follow in closed form from one fit.
    refits : Refits
    loss : str or callable
    removal : Removal
    """
    train, held_out, seed, left_out = task
    y = refits.y[held_out]
    if len(left_out) > 1:
        predictions = _linear_predictions(refits, train, held_out, left_out[1:])
        if predictions is not None:
            return _row_losses(*predictions, loss, y)
    losses = []
    for feature in left_out:
        gone = () if feature is None else feature.columns
        columns = np.setdiff1d(np.arange(refits.table.n_columns), gone)
        with removal.refitting(refits.table, columns):
            estimator = removal.part(refits, columns, train).fitted(seed)
            unseen = removal.part(refits, columns, held_out).table
            outputs = Model(estimator)(unseen.native, "held-out rows")
        outputs = outputs.T[:, :, np.newaxis]
        name, of_rows = _row_losses(estimator, outputs, loss, y)
        losses.append(of_rows)
    return name, np.hstack(losses)


def _row_losses(estimator, outputs, loss, y):
    """Name of the loss, and its values, (n_rows, n_models).

    Of outputs (n_outputs, n_rows, n_models).
    """
    of_rows = make_loss(loss, Model(estimator), y, len(outputs))
    return of_rows.name, of_rows(y[:, np.newaxis], outputs)


def _mean_of_rows(splits, losses, shape):
    """Mean losses of each row over the folds that hold it out; NaN for none."""
    total, times = np.zeros(shape), np.zeros(shape[0])
    for (_, rows, _), of_fold in zip(splits, losses):
        np.add.at(total, rows, of_fold)
        np.add.at(times, rows, 1.0)
    total[times == 0] = np.nan
    return total / np.maximum(times, 1.0)[:, np.newaxis]


def _has_closed_form(estimator, table, removal):
    """Whether the predictions without each feature may follow from one fit."""
    if type(estimator) not in (LinearRegression, Ridge) or estimator.positive:
        return False
    if not estimator.fit_intercept and removal.constants is not None:
        return False  # a constant column acts as an intercept
    if isinstance(estimator, Ridge) and (
        estimator.solver not in CLOSED_FORM_SOLVERS or np.ndim(estimator.alpha) > 0
    ):
        return False
    return isinstance(table.numeric(), np.ndarray)


def _linear_predictions(refits, train, held_out, features):
    """Predictions with all columns and without each feature, or None.

    (fitted estimator, outputs of shape (n_outputs, n_held_out, 1 + n_features)); None
    where there are fewer rows than columns, or these are too close to collinear.

    With A = Xc' W Xc + alpha I of the centred training columns, C = A^-1 and
    coefficients b = C Xc' W y, leaving out the columns S changes the prediction at x
    by -xc' C[:, S] (C[S, S])^-1 b[S] (block inversion of A).
    """
    estimator, X = refits.part(train).fitted(0), refits.table.numeric()
    weight = check_weights(refits.passed.fit.get("sample_weight"), len(X))[train]
    center = np.zeros(X.shape[1])
    if estimator.fit_intercept:
        center = weight @ X[train] / weight.sum()
    scaled = np.sqrt(weight)[:, np.newaxis] * (X[train] - center)
    _, size, right = np.linalg.svd(scaled, full_matrices=False)
    of_A = size**2 + float(getattr(estimator, "alpha", 0.0))
    if len(size) < X.shape[1] or of_A[-1] <= of_A[0] / WORST_CONDITION**2:
        return None
    C = (right.T / of_A) @ right
    projected = (X[held_out] - center) @ C
    coef = np.atleast_2d(estimator.coef_).T  # (n_features, n_outputs)
    base = as_columns(estimator.predict(refits.table.take(held_out).native))
    outputs = [base]
    for feature in features:
        S = list(feature.columns)
        change = projected[:, S] @ np.linalg.solve(C[np.ix_(S, S)], coef[S])
        outputs.append(base - change)
    return estimator, np.stack(outputs, axis=-1).swapaxes(0, 1)
