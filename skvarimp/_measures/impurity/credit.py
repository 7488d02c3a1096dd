"""What splits earn, added up tree by tree: importances, associations, the record."""

import numpy as np

from skvarimp._measures.impurity.tables import LEAF


class Credit:
    """Importances as weighted averages over trees, by one of the conventions.

    Parameters
    ----------
    convention : {"matlab", "rpart", "sklearn"}
    averaging : {"tree", "forest", "boosting", "weighted"}
        scikit-learn's way for the ensemble at hand, read by "sklearn" only.
    n_features : int
    """

    def __init__(self, convention, averaging, n_features):
        self.convention, self.averaging = convention, averaging
        self.sum = np.zeros(n_features)
        self.weight = 0.0

    def add(self, table, decrease, weight, feature=(), credit=()):
        """Add one tree.

        Parameters
        ----------
        table : Tree
        decrease : ndarray of shape (n_nodes,)
            Of weight times impurity, by each primary split.
        weight : float
            The tree's weight in the average.
        feature, credit : array-like of shape (n_surrogates,)
            What each surrogate split earns, in the units of `decrease`.
        """
        branch = table.left != LEAF
        n_features = len(self.sum)
        # No split adds impurity; a decrease of 0 may come out below it by rounding.
        decrease, credit = np.maximum(decrease[branch], 0), np.maximum(credit, 0)
        total = np.zeros(n_features)
        total += np.bincount(table.column[branch], decrease, n_features)
        total += np.bincount(np.asarray(feature, np.intp), credit, n_features)
        n_branches = np.count_nonzero(branch)
        skips_stumpless = self.averaging in ("forest", "boosting")
        if self.convention == "sklearn":
            if not n_branches and skips_stumpless:
                return
            total /= table.weight[0]
            if self.averaging != "boosting":
                total = _normalised(total)
        elif self.convention == "matlab":
            total /= table.weight[0] * max(n_branches, 1)
        self.sum += weight * total
        self.weight += weight

    def importances(self):
        """The average over the trees added, (n_features,)."""
        mean = self.sum / self.weight if self.weight > 0 else self.sum
        if self.convention == "sklearn" and self.averaging in ("forest", "boosting"):
            return _normalised(mean)
        return mean


def _normalised(total):
    scale = total.sum()
    return total / scale if scale > 0 else total


class AssociationMean:
    """The predictive measure of association averaged over trees.

    Entry (i, j) of a tree: the sum of the positive associations of the best surrogate
    splits on j at optimal splits on i, divided by the number of optimal splits on i;
    the identity's row where the tree has none.
    """

    def __init__(self, n_features):
        self.sum = np.zeros((n_features, n_features))
        self.weight = 0.0
        self.n_splits = np.zeros(n_features, dtype=np.intp)

    def add(self, table, weight, node, feature, association):
        """Add one tree with its kept surrogates."""
        branch = table.left != LEAF
        n_splits = np.bincount(table.column[branch], minlength=len(self.sum))
        self.n_splits += n_splits
        primary = table.column[node]
        share = weight * association / n_splits[primary]
        place = primary.astype(np.intp) * len(self.sum) + feature
        np.add.at(self.sum.reshape(-1), place, share)
        self.weight += weight

    def finish(self):
        """The average, (n_features, n_features), with a diagonal of 1.

        Rows of columns without splits are not touched: of very many columns, they stay
        memory that was asked for but never filled.
        """
        if self.weight > 0:
            self.sum[np.flatnonzero(self.n_splits)] /= self.weight
        np.fill_diagonal(self.sum, 1.0)
        return self.sum


class SplitRecords:
    """All kept surrogate splits as one structured array, in the smallest integers.

    A deep forest has millions of them; the array grows in place.

    Parameters
    ----------
    n_trees, n_nodes, n_features : int
        Largest numbers to hold.
    """

    def __init__(self, n_trees, n_nodes, n_features):
        self.dtype = np.dtype(
            [
                ("tree", _smallest(n_trees)),
                ("node", _smallest(n_nodes)),
                ("feature", _smallest(n_features)),
                ("threshold", np.float64),
                ("direction", np.int8),
                ("association", np.float64),
                ("rank", _smallest(n_features)),
            ]
        )
        self.records = np.empty(0, dtype=self.dtype)

    def add(self, tree, found):
        """Append the surrogates of one tree; `found` has the fields as attributes."""
        old = len(self.records)
        self.records.resize(old + len(found.node), refcheck=False)
        new = self.records[old:]
        new["tree"] = tree
        for name in self.dtype.names[1:]:
            new[name] = getattr(found, name)


class Tally:
    """Adds up the trees' findings in the trees' order."""

    def __init__(self, convention, trees, weights, n_features, record):
        self.trees, self.weights = trees, weights
        self.credit = Credit(convention, trees.averaging, n_features)
        self.n_trees = 0
        self.association = self.records = None
        if record:
            largest = max(len(table.left) for table in trees.tables)
            self.association = AssociationMean(n_features)
            self.records = SplitRecords(len(trees.tables), largest, n_features)

    def add(self, findings):
        """Add the next tree."""
        t, found = self.n_trees, findings.surrogates
        table, weight = self.trees.tables[t], self.weights[t]
        self.n_trees += 1
        if found is None:
            self.credit.add(table, findings.decrease, weight)
            return
        self.credit.add(
            table, findings.decrease, weight, found.feature, findings.credit
        )
        self.association.add(
            table, weight, found.node, found.feature, found.association
        )
        self.records.add(t, found)


def _smallest(n):
    """Smallest signed integer type that holds 0 ... n."""
    types = (np.int8, np.int16, np.int32, np.int64)
    return next(t for t in types if n <= np.iinfo(t).max)
