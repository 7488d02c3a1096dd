"""The mean response of coalitions: rows keep some features, donors give all others.

With S a coalition of the features, i the evaluated rows and k the donors, and m_T the
components of F,

    F_S(x_i) = sum_k w_k f(x_iS, x_k,-S) = F_0 + sum of m_T(x_i) over T in S, T not {}.

A response says which sets of features interact: m_T is 0 for all sets T but these and
their subsets, a `Family`. Where it does not know F_S itself, donors are drawn.
"""

from itertools import chain, combinations

import numpy as np
from sklearn import get_config

from skvarimp._data.base_table import is_constant
from skvarimp._data.table import together
from skvarimp._response.grid import make_move
from skvarimp._running.memory import call_slices

MOST_SETS = 100_000


class Family:
    """Sets of features with all of their subsets, by size; the first is empty.

    Attributes
    ----------
    sets : list of tuple of int
        Ascending positions of features.
    sizes : ndarray of shape (n_sets,)
    links : dict
        Feature -> (2, n): the sets that hold it, and the same sets without it.
    parts : list of Family
        Those of the terms of a sum, of which this is the union.
    """

    def __init__(self, sets, parts=()):
        self.sets = [(), *sorted(sets, key=lambda members: (len(members), members))]
        self.sizes = np.array([len(members) for members in self.sets])
        self.parts = parts
        place = {members: s for s, members in enumerate(self.sets)}
        links = {}
        for members, s in place.items():
            for m, e in enumerate(members):
                without = place[members[:m] + members[m + 1 :]]
                links.setdefault(e, []).append((s, without))
        self.links = {e: np.array(links[e]).T for e in sorted(links)}

    @classmethod
    def below(cls, sets, order=np.inf, most=MOST_SETS, parts=()):
        """All subsets, of at most `order` features, of some sets; None if too many."""
        found = set()
        for members in sets:
            largest = int(min(order, len(members)))
            if largest > np.log2(most):
                return None
            sizes = range(1, largest + 1)
            found.update(chain(*(combinations(sorted(members), k) for k in sizes)))
            if len(found) > most:
                return None
        return cls(found, parts)

    def within(self, known):
        """Which sets hold no feature but those known, (n_sets,) bool."""
        inside = np.ones(len(self.sets), dtype=bool)
        for e, (holding, _) in self.links.items():
            inside[holding] &= known[e]
        return inside

    def components(self, means):
        """The components m_T from F_T - F_0, (n_sets, ...), in place."""
        for holding, without in self.links.values():
            means[holding] -= means[without]
        return means


class Coalitions:
    """What a response knows of coalitions of features; of any response.

    Parameters
    ----------
    response : Response
    rows : Rows
        All of a table.
    features : list of Feature
        Without a column in common.

    Attributes
    ----------
    order : float
        Of how many features interact at most.
    draws_donors : bool
        Whether only drawn donors tell the mean response of a coalition, unless all
        components are known. If not, there are `means` and `donated` as of trees.
    varying : list of int
        The features with several values, as far as known those that the model uses.
    """

    order, draws_donors = np.inf, True

    def __init__(self, response, rows, features):
        self.response, self.rows, self.features = response, rows, features
        column = rows.table.column
        columns = [[column(j) for j in feature.columns] for feature in features]
        several = [not all(map(is_constant, values)) for values in columns]
        self.varying = np.flatnonzero(several).tolist()

    @property
    def most_sets(self):
        """Of how many sets the components may be kept."""
        bytes_kept = get_config()["working_memory"] * 2**20
        return min(MOST_SETS, bytes_kept / (8 * self.rows.base.size))

    def family(self, order=np.inf):
        """The `Family` of the sets that interact; None if too many."""
        return Family.below([self.varying], min(order, self.order), self.most_sets)

    def cost(self, family):
        """Of the components of a family, in coalitions with two drawn donors."""
        return (len(family.sets) - 1) * len(self.rows) / 2

    def components(self, family):
        """The components of a family, (n_sets, n_outputs, n_samples)."""
        joint = [together(self.features[e] for e in s) for s in family.sets[1:]]
        widest = max((len(feature.columns) for feature in joint), default=0)
        rows, averaged = self.rows, self.response.averaged(self.rows, widest)
        means = np.zeros((len(family.sets), *rows.base.shape))
        for mean, feature in zip(means[1:], joint):
            move = make_move(rows.table, rows.weights, feature, "all")
            mean[:] = averaged(move)[:, move.codes]
        return family.components(means)


class AdditiveCoalitions(Coalitions):
    """Of a sum of functions of one feature each, whose components tell everything."""

    order, draws_donors, most_sets = 1, False, np.inf

    def cost(self, family):
        return 0.0


def mixed(model, table, donors):
    """The response of rows made of values of several rows, (n_outputs, n).

    Parameters
    ----------
    model : Model
    table : Table
    donors : ndarray of shape (n, n_columns)
        The row that each column's value comes from.
    """
    columns = tuple(range(table.n_columns))
    parts = [
        model(table.moved(donors[part, 0], columns, donors[part]), "at mixed rows of X")
        for part in call_slices(len(donors), table.n_columns)
    ]
    return np.concatenate(parts).T
