"""What columns earned from all rows, and the variance between these."""

from dataclasses import dataclass

import numpy as np

from skvarimp._measures.impurity.unseen import given_rows
from skvarimp._models.trees.losses import TreeLoss


@dataclass
class Earned:
    """What each column earned from some rows.

    Attributes
    ----------
    columns : ndarray of shape (n_features,)
        Columns that any tree splits on.
    weight : float
        Of the rows, as given.
    totals : ndarray of shape (n_features, n_outputs)
        Weighted means over the rows.
    variance : ndarray of shape (n_features,)
        Weighted variance over the rows of the mean over the outputs.
    """

    columns: np.ndarray
    weight: float
    totals: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, given, credit):
        """From the `Credit` of `GivenRows`."""
        variance = given.weights @ credit.influences**2
        return cls(credit.columns, given.total_weight, credit.totals, variance)

    def merged(self, other):
        """That of two sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        gaps = other.totals - self.totals
        within = (1 - share) * self.variance + share * other.variance
        between = share * (1 - share) * gaps.mean(axis=1) ** 2
        totals = self.totals + share * gaps
        return Earned(self.columns, weight, totals, within + between)


def earned_over(measure, estimator, partitions):
    """What each column earned from the rows of all partitions."""
    if measure.keep_rows:
        raise ValueError(
            "keep_rows=True needs all rows in one place, got X in partitions. Pass "
            "X.compute(), or leave it out."
        )
    return partitions.passed(_earned, (estimator,), Earned.merged)


def _earned(part, estimator):
    kept = np.ones(part.table.n_samples, dtype=bool)
    given = given_rows(estimator, part.table, part.target(), part.weights, kept)
    if given.form.stages is not None and not TreeLoss(*given.form.loss).of_single_rows:
        raise ValueError(
            f"The loss of {type(estimator).__name__} depends on all rows together, "
            "which need to be in one place. Pass X.compute()."
        )
    return Earned.of(given, given.credit())
