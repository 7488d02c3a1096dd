"""Standard errors of means over all rows, of which a share, the donors, is known.

With n rows, of which a share s are donors, and their influences psi = a + d on the
importance (a as evaluated rows, d as donors),

    s V(psi) + (1 - s) V(d)

is the variance of the importance. V is that of a mean over the donors alone: s V(psi)
is the variance of the importance if all rows were donors, and the rest is what a sample
of them adds.
"""

import numpy as np

from skvarimp._data.statistics import Units, divided


def whole_errors(influences, units, share):
    """Standard errors of means over all rows, (...,), if all rows were donors.

    Parameters
    ----------
    influences : ndarray of shape (..., n_rows)
        Of the rows that are known.
    units : Units
        Of these rows.
    share : float
    """
    alone = Units.of(units.weights).error(influences)
    error = units.error(influences)
    # rows of one group: pairs of the sample stand for 1 / share^2 times as many pairs
    # of weights that are share times as large
    together = np.sqrt(np.maximum(error - alone, 0.0)) * np.sqrt(error + alone)
    return np.hypot(np.sqrt(share) * alone, together)


def extend_errors(outcome, deviations, problem):
    """Make the errors of the donors' importances those of all rows.

    Parameters
    ----------
    outcome : Outcome
        Of the donors alone.
    deviations : ndarray of shape (n_samples, n_features, n_outputs)
        How far the importances move with the donors.
    problem : PartitionedProblem
    """
    units, share = problem.units, problem.partitions.share
    before = outcome.standard_errors
    if outcome.influences is not None:
        of_rows = whole_errors(outcome.influences, units, share)
    else:  # rows of a group may add up as they do among the donors
        of_rows = before * np.sqrt(share if units.groups is None else 1.0)
    per_output = outcome.errors_per_output * divided(of_rows, before)[:, np.newaxis]
    for_each, for_mean = deviations**2, deviations.mean(axis=2) ** 2
    outcome.standard_errors = np.sqrt(of_rows**2 + for_mean.mean(axis=0))
    outcome.errors_per_output = np.sqrt(per_output**2 + for_each.mean(axis=0))
