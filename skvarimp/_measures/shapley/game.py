"""The game whose Shapley values the importances are, and its exact solution.

The value of a coalition S of entries is by how much knowing their values lowers the
squared error of the mean response F_S, for each row and output

    v_i(S) = (t_i - F_0)^2 - (t_i - F_S(x_i))^2,   t the target (y, or the response).

With the components F_S - F_0 = sum of m_T over T in S and r = t - F_0, each row's
Shapley values are the mean over q in (0, 1) of what entry j adds to the mean of v_i
over coalitions that hold each other entry with probability q. As the means of products
of components over such coalitions factor over the entries,

    phi_j = int_0^1 2 r h_j - sum over V that hold j of
                (q - q^2)^(|V| - 1) h_V ((1 - 2 q) h_V + 2 h_(V - j)) dq,
    h_V(q) = sum over T that hold V of q^|T - V| m_T,

a polynomial in q, which Gauss' rule integrates exactly. It equals 2 r times the sum of
m_T / |T| over T that hold j, minus the sum of m_T m_T' / |T + T'| over all T, T' of
which one holds j, without the sum over pairs.
"""

import numpy as np

from skvarimp._data.statistics import centred, unit_of, variance
from skvarimp._response.coalitions import Family
from skvarimp._running.memory import slices

ROUNDING = 1e-13  # a standard deviation below this part of the response is rounding


class Game:
    """What the entries explain of the target.

    The model, the table and the entries are those of the problem; `coalitions` may know
    them behind transformers.

    Parameters
    ----------
    problem : Problem
    entries : list of Entry
    target : ndarray of shape (n_outputs, n_rows)
    scaled : bool
        Whether importances are shares of the variance of the target.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
    unit : float
        What all numbers of the game are in: squares of responses neither vanish nor
        overflow.
    base : ndarray of shape (n_outputs, n_rows)
        The unmoved response.
    target : ndarray of shape (n_outputs, n_rows)
    constant : ndarray of shape (n_outputs,), bool
        Whose target has no variance to share.
    scale : ndarray of shape (n_outputs,)
        Importances are divided by it.
    spread : ndarray of shape (n_outputs, n_rows)
        By how much each row moves `scale`, as a share of it; 0 if it is fixed.
    holds_all : bool
        Whether each column is in an entry: F_S of all entries is the response.
    coalitions : Coalitions
    family : Family
        Whose components are known.
    components : ndarray of shape (n_sets, n_outputs, n_rows)
    complete : bool
        Whether all other components are 0.
    """

    coalitions = None

    def __init__(self, problem, entries, target, scaled):
        self.model, self.table, self.entries = problem.model, problem.table, entries
        self.weights = weights = problem.weights
        self.unit = unit_of(np.stack([target, problem.base]))
        self.base, self.target = problem.base / self.unit, target / self.unit
        self.scale = variance(self.target, weights) if scaled else np.ones(len(target))
        least = ROUNDING * np.abs(self.target).max(axis=1)
        self.constant = self.scale <= least**2
        self.scale = np.where(self.constant, 1.0, self.scale)
        squares = centred(self.target, weights) ** 2 / self.scale[:, np.newaxis]
        self.spread = scaled * (squares - (squares @ weights)[:, np.newaxis])
        n_columns = sum(len(entry.columns) for entry in entries)
        self.holds_all = n_columns == self.table.n_columns

    @property
    def rows_of_repeat(self):
        """How many rows a repeat asks the model for: two orders, two donors."""
        return 4 * (len(self.entries) - self.holds_all) * len(self.weights)

    def affordable(self, order, n_repeats):
        """The family of an order if its components cost at most repeats, else None."""
        family, n_drawn = self.coalitions.family(order), 2 * (len(self.entries) + 1)
        if family is None or self.coalitions.cost(family) > n_repeats * n_drawn:
            return None
        return family

    def know(self, orders, n_repeats):
        """Find the components of the first order that is affordable, or none."""
        found = ((self.affordable(order, n_repeats), order) for order in orders)
        found = (pair for pair in found if pair[0] is not None)
        self.family, order = next(found, (Family.below([]), 0))
        self.complete = self.family.sizes.max() < order  # no larger sets interact, then
        self.components = self.coalitions.components(self.family) / self.unit

    @property
    def level(self):
        """F_0, (n_outputs, 1)."""
        return (self.base @ self.weights)[:, np.newaxis]

    def gains(self, means):
        """v_i of the mean responses of a coalition, (n_outputs, n_rows), scaled."""
        lost = (self.target - self.level) ** 2 - (self.target - means) ** 2
        return lost / self.scale[:, np.newaxis]

    def donated(self):
        """What rows add to influences as donors where no entries interact.

        Minus 2 E(t - F_0) m_j, the mean over the outputs, (n_entries, n_rows).
        """
        result = np.zeros((len(self.entries), len(self.weights)))
        errors = (self.target - self.level) @ self.weights / self.scale
        moved = np.einsum("o,soi->si", errors, self.components[1:])
        result[list(self.family.links)] = -2 * moved / len(errors)
        return result

    def known_shares(self):
        """Shapley values of rows in the game of the known components.

        Returns
        -------
        ndarray of shape (n_entries, n_outputs, n_rows)
        """
        shares = np.zeros((len(self.entries), self.base.size))
        components = self.components.reshape(-1, self.base.size)
        residuals = (self.target - self.level).ravel()
        for some in slices(self.base.size, len(components)):
            found = row_shares(self.family, components[:, some], residuals[some])
            shares[list(self.family.links), some] = found
        return shares.reshape(-1, *self.base.shape) / self.scale[:, np.newaxis]


def row_shares(family, components, residuals):
    """Shapley values of the rows, see the module.

    Parameters
    ----------
    family : Family
    components : ndarray of shape (n_sets, n_rows)
    residuals : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_entries_of_the_family, n_rows)
    """
    shares = np.zeros((len(family.links), len(residuals)))
    largest = min(2 * family.sizes.max(), len(family.links))  # union of two sets
    points, chances = np.polynomial.legendre.leggauss((largest + 2) // 2)
    for q, chance in zip((1 + points) / 2, chances / 2):
        sums = components.copy()
        for holding, without in family.links.values():
            sums[without] += q * sums[holding]
        factors = (q - q**2) ** (family.sizes - 1.0)
        for share, (holding, without) in zip(shares, family.links.values()):
            own = sums[holding]
            others = (1 - 2 * q) * own + 2 * sums[without]
            products = np.einsum("s,si,si->i", factors[holding], own, others)
            # the first set of an entry is the entry alone
            share += chance * (2 * residuals * own[0] - products)
    return shares
