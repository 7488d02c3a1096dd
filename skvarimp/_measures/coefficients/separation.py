"""Whether a likelihood has its maximum at finite coefficients.

It has none where some combination of columns separates the classes (wholly or in
part), or the zeros of a count from the rest: likelihood keeps growing along it, a
solver stops where it happens to, and Wald statistics mean nothing.

References
----------
Albert & Anderson (1984), On the existence of maximum likelihood estimates in logistic
regression models, Biometrika 71, 1-10.
Bach (2010), Self-concordant analysis for logistic regression, Electronic Journal of
Statistics 4, 384-414.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def check_classes_overlap(design, inverse, residuals, code):
    """Raise ValueError where the columns separate the classes.

    Parameters
    ----------
    design : Design
    inverse : ndarray or None
        Inverse information at the estimator's coefficients.
    residuals : ndarray of shape (n_samples, n_predictors)
    code : ndarray of shape (n_samples,)
        Number of each row's class.
    """
    if inverse is not None and _maximum_is_near(design, inverse, residuals):
        return
    z = np.vstack([z for _, z in design.blocks()])
    n_classes = residuals.shape[1]
    if n_classes == 1:
        margins = np.where(code == 1, 1.0, -1.0)[:, np.newaxis] * z
    else:
        margins = _multinomial_margins(z, code, n_classes)
    if _has_direction(margins):
        raise ValueError(
            "A linear combination of the columns separates the classes of y, at least "
            "for some rows: the likelihood has no maximum at finite coefficients, and "
            "Wald statistics mean nothing. Use statistic='standardized', or a "
            "penalised model."
        )


def check_zeros_overlap(design, y):
    """Raise ValueError where the columns separate the zeros of y from the rest.

    For log links: the mean of rows with y <= 0 would go to 0 along a direction that
    leaves the mean of all other rows alone.
    """
    zero = y <= 0
    if not np.any(zero):
        return
    triangle = design.triangle(np.where(zero, 0.0, 1.0)[:, np.newaxis, np.newaxis])
    singular = np.linalg.svd(triangle, compute_uv=False)
    rank = np.sum(singular > 1e-10 * singular.max(initial=0.0))
    if rank == design.rank:  # no direction leaves the others alone
        return
    z = np.vstack([z for _, z in design.blocks()])
    if _has_direction(-z[zero], z[~zero]):
        raise ValueError(
            "A linear combination of the columns separates rows with y = 0 from all "
            "others: the likelihood has no maximum at finite coefficients, and Wald "
            "statistics mean nothing. Use statistic='standardized', or alpha > 0."
        )


def _maximum_is_near(design, inverse, residuals):
    """A certificate that the maximum exists, from derivatives at one point.

    Along any direction h of unit information the third derivative of minus the log
    likelihood is at most R times the second, R the largest spread of a row's linear
    predictors along h. So the slope, at least -lambda at the start (lambda² = g' I^-1
    g), gains 1 / R or more on the way: with lambda R < 1 no direction descends for
    ever (Bach 2010, proposition 2). 1/2 leaves room for rounding.
    """
    n_classes = residuals.shape[1]
    score = design.score(residuals).T.ravel()
    decrement = score @ inverse @ score
    parts = inverse.reshape((n_classes, design.n_parameters) * 2)
    if n_classes == 1:
        contrasts = [parts[0, :, 0]]
    else:
        contrasts = [
            parts[k, :, k] + parts[m, :, m] - parts[k, :, m] - parts[m, :, k]
            for k in range(n_classes)
            for m in range(k)
        ]
    spread = max(
        np.max(np.einsum("ia,ab,ib->i", z, contrast, z, optimize=True))
        for _, z in design.blocks()
        for contrast in contrasts
    )
    return decrement * spread <= 0.25


def _multinomial_margins(z, code, n_classes):
    """Rows z_i' (b_(own class) - b_k) for all other classes k, sparse."""
    blocks = []
    for own in range(n_classes):
        rows = sparse.csr_array(z[code == own])
        for other in range(n_classes):
            if other != own:
                sign = np.zeros((1, n_classes))
                sign[0, own], sign[0, other] = 1.0, -1.0
                blocks.append(sparse.kron(sign, rows))
    return sparse.vstack(blocks).tocsr()


def _has_direction(margins, zero=None):
    """Whether margins b >= 0, not all 0, and zero b = 0 for some b."""
    result = linprog(
        -np.asarray(margins.sum(axis=0)).ravel(),
        A_ub=-margins,
        b_ub=np.zeros(margins.shape[0]),
        A_eq=zero,
        b_eq=None if zero is None else np.zeros(len(zero)),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    return result.status == 0 and np.max(margins @ result.x) > 1e-5
