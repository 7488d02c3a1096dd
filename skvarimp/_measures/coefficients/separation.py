"""Whether a solver has come near a maximum of the likelihood.

There is none at finite coefficients where some combination of columns separates the
classes (wholly or in part), or the zeros of a count from the rest: the likelihood keeps
growing along it, and a solver stops where it happens to.

Reference: Bach (2010), Self-concordant analysis for logistic regression, Electronic
Journal of Statistics 4, 384-414.
"""

import numpy as np

from skvarimp._running.guards import warn


def warn_without_maximum(design, inverse, residuals):
    """Warn where the derivatives at the coefficients do not show that there is one.

    Along any direction h of unit information the third derivative of minus the log
    likelihood (logistic, or of a log link with power below 2) is at most R times the
    second, R the largest spread of a row's linear predictors along h. So the slope, at
    least -lambda at the start (lambda^2 = g' I^-1 g), gains 1 / R or more on the way:
    with lambda R < 1 no direction descends for ever (proposition 2). 1/2 leaves room
    for rounding.

    Parameters
    ----------
    design : Design
    inverse : ndarray
        Inverse information at the coefficients.
    residuals : ndarray of shape (n_samples, n_predictors)
    """
    score = design.score(residuals).T.ravel()
    decrement = score @ inverse @ score
    if decrement * _largest_spread(design, inverse, residuals.shape[1]) <= 0.25:
        return
    warn(
        "The solver stopped where the likelihood may have no maximum. Either it needs "
        "a smaller `tol` or a larger `max_iter`, or a combination of columns separates "
        "the classes of y, or the rows with y = 0, at least in part. Wald statistics "
        "then mean nothing: use statistic='standardized', or a penalised model."
    )


def _largest_spread(design, inverse, n_predictors):
    """R^2: largest variance of a row's linear predictor, or of a difference of two."""
    parts = inverse.reshape((n_predictors, design.n_parameters) * 2)
    if n_predictors == 1:
        contrasts = [parts[0, :, 0]]
    else:
        contrasts = [
            parts[k, :, k] + parts[m, :, m] - parts[k, :, m] - parts[m, :, k]
            for k in range(n_predictors)
            for m in range(k)
        ]
    return max(
        np.max(np.einsum("ia,ab,ib->i", z, contrast, z, optimize=True))
        for _, z in design.blocks()
        for contrast in contrasts
    )
