"""What splits earn, added up tree by tree: importances, associations, the record."""

import numpy as np


class Tally:
    """Importances as weighted averages over trees, by one of the conventions.

    Parameters
    ----------
    convention : {"matlab", "rpart", "sklearn"}
    trees : TreeReader
    weights : ndarray of shape (n_trees,)
        The trees' weights in the average.
    n_features : int
    record : bool
        Whether to average associations, and to keep surrogates.
    """

    def __init__(self, convention, trees, weights, n_features, record):
        self.convention, self.trees, self.weights = convention, trees, weights
        self.skips_stumpless = trees.averaging in ("forest", "boosting")
        self.n_trees, self.weight, self.sum = 0, 0.0, np.zeros(n_features)
        self.association = self.records = None
        if record:
            self.association = AssociationMean(n_features)
            self.records = SplitRecords(trees.tables, n_features)

    def add(self, decrease, found=None):
        """Add the next tree.

        Parameters
        ----------
        decrease : ndarray of shape (n_nodes,)
            Of weight times impurity, by each primary split.
        found : dict of ndarray, default=None
            The kept surrogates, see `find_surrogates`.
        """
        t, n_features = self.n_trees, len(self.sum)
        table, weight = self.trees.tables[t], self.weights[t]
        self.n_trees += 1
        branch = ~table.is_leaf
        # No split adds impurity; a decrease of 0 may come out below it by rounding.
        decrease = np.maximum(decrease[branch], 0)
        total = np.zeros(n_features)  # bincount of nothing makes integers
        total += np.bincount(table.column[branch], decrease, n_features)
        if found is not None:
            total += np.bincount(
                found["feature"], np.maximum(found["decrease"], 0), n_features
            )
            self.association.add(table, weight, found)
            self.records.add(t, found)
        n_branches = np.count_nonzero(branch)
        if self.convention == "sklearn":
            if not n_branches and self.skips_stumpless:
                return
            total /= table.weight[0]
            if self.trees.averaging != "boosting":
                total = _normalised(total)
        elif self.convention == "matlab":
            total /= table.weight[0] * max(n_branches, 1)
        self.sum += weight * total
        self.weight += weight

    def importances(self):
        """The average over the trees added, (n_features,)."""
        mean = self.sum / self.weight if self.weight > 0 else self.sum
        if self.convention == "sklearn" and self.skips_stumpless:
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

    def add(self, table, weight, found):
        """Add one tree with its kept surrogates."""
        n_splits = np.bincount(table.column[~table.is_leaf], minlength=len(self.sum))
        self.n_splits += n_splits
        primary = table.column[found["node"]]
        share = weight * found["association"] / n_splits[primary]
        place = primary.astype(np.intp) * len(self.sum) + found["feature"]
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
    tables : list of Tree
        The trees whose splits are to be held.
    n_features : int
    """

    def __init__(self, tables, n_features):
        columns = _smallest(n_features)
        fields = [
            ("tree", _smallest(len(tables))),
            ("node", _smallest(max(len(table.left) for table in tables))),
            ("feature", columns),
            ("threshold", np.float64),
            ("direction", np.int8),
            ("association", np.float64),
            ("rank", columns),
        ]
        self.records = np.empty(0, dtype=fields)

    def add(self, tree, found):
        """Append the surrogates of one tree, see `find_surrogates`."""
        old = len(self.records)
        self.records.resize(old + len(found["node"]), refcheck=False)
        new = self.records[old:]
        new["tree"] = tree
        for name in new.dtype.names[1:]:
            new[name] = found[name]


def _smallest(n):
    """Smallest signed integer type that holds 0 ... n."""
    types = (np.int8, np.int16, np.int32, np.int64)
    return next(t for t in types if n <= np.iinfo(t).max)
