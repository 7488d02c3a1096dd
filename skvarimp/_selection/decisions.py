"""What the rounds of `AllRelevantSelector` decide: a binomial test of the hits."""

import numpy as np
from scipy.stats import binom, false_discovery_control

TENTATIVE, SELECTED, REJECTED = 0, 1, -1


class Decisions:
    """Hits so far, and what they decide.

    Parameters
    ----------
    n_columns : int
    max_iter, n_iter_no_change : int
    alpha : float

    Attributes
    ----------
    state : ndarray of shape (n_columns,)
        TENTATIVE, SELECTED or REJECTED.
    hits : ndarray of shape (n_columns,)
    n_rounds : int
    idle_until : int
        The round after which to stop if none decides anything before.
    importances : list of ndarray of shape (n_columns,)
        One a round; NaN for rejected columns.
    largest_copy : list of float
    """

    def __init__(self, n_columns, max_iter, n_iter_no_change, alpha):
        self.max_iter, self.n_iter_no_change = max_iter, n_iter_no_change
        self.tail = alpha / 2
        self.state = np.full(n_columns, TENTATIVE)
        self.hits = np.zeros(n_columns, dtype=np.intp)
        self.rejected_after = np.zeros(n_columns, dtype=np.intp)
        # the first round in which all hits, or none, decide, and so many more
        self.idle_until = int(np.ceil(-np.log2(self.tail))) + n_iter_no_change
        self.importances, self.largest_copy = [], []

    @property
    def n_rounds(self):
        """Rounds so far."""
        return len(self.largest_copy)

    def left(self):
        """Positions of the columns that are not rejected."""
        return np.flatnonzero(self.state != REJECTED)

    def add(self, left, values, largest_copy):
        """Take over one round."""
        row = np.full(len(self.state), np.nan)
        row[left] = values
        self.hits[left] += values > largest_copy
        self.importances.append(row)
        self.largest_copy.append(largest_copy)

    def decide(self):
        """Select and reject what the hits so far allow."""
        left, n = self.left(), self.n_rounds
        hits = self.hits[left]
        for tails, decision in (
            (binom.sf(hits - 1, n, 0.5), SELECTED),
            (binom.cdf(hits, n, 0.5), REJECTED),
        ):
            sure = false_discovery_control(tails) <= self.tail
            sure &= self.state[left] == TENTATIVE
            self.state[left[sure]] = decision
            if np.any(sure):
                self.idle_until = n + self.n_iter_no_change
        new = (self.state == REJECTED) & (self.rejected_after == 0)
        self.rejected_after[new] = n

    def complete(self):
        """Whether nothing is left to decide, or no round has decided for long."""
        decided = not (self.state == TENTATIVE).any()
        return decided or self.n_rounds >= min(self.max_iter, self.idle_until)

    def next_batch(self):
        """Rounds until the first that can bring a decision, at least one."""
        hits, n = self.hits[self.state == TENTATIVE], self.n_rounds
        most = min(self.max_iter - n, self.idle_until - n)
        for more in range(1, most):
            after = n + more
            tails = binom.sf(hits + more - 1, after, 0.5), binom.cdf(hits, after, 0.5)
            if np.min(tails) <= self.tail:
                return more
        return most

    def ranking(self):
        """1 = selected, 2 = tentative, then by the round of rejection, last first."""
        rounds = np.unique(self.rejected_after[self.state == REJECTED])[::-1]
        ranks = np.where(self.state == SELECTED, 1, 2)
        for rank, after in enumerate(rounds, start=3):
            ranks[self.rejected_after == after] = rank
        return ranks
