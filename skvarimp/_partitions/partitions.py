"""`Partitions`: rows that stay where they are, in parts of a Dask collection."""

from functools import partial

import numpy as np

from skvarimp._data.merging import merged
from skvarimp._data.validation import check_two_rows, is_dask
from skvarimp._partitions.firm import fit_firm
from skvarimp._partitions.impurity import fit_trees
from skvarimp._partitions.passes import Sent, binned_over, merged_over
from skvarimp._partitions.problem import partitioned_problem
from skvarimp._partitions.reading import (
    naming,
    read_partition,
    schema_of,
    some_rows,
    together,
)

HEAD_ROWS = 500  # that stand for the data where a few rows are enough


class Partitions:
    """X, y and weights in partitions, fetched anew by each pass.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n_samples, n_features)
    y : Dask DataFrame, Series or Array, default=None
        Partitioned as X.
    sample_weight : Dask Series or Array, default=None
        Partitioned as X.
    feature_names : sequence of str, default=None

    Attributes
    ----------
    head : Partition
        A few rows of the first partition that has some.
    sent : Sent
        What all passes share.
    """

    def __init__(self, X, y=None, sample_weight=None, feature_names=None):
        import dask

        self.sent = Sent()
        given = {"y": y, "sample_weight": sample_weight}
        for name, values in given.items():
            if values is not None and not is_dask(values):
                raise TypeError(
                    f"`{name}` must be a Dask collection with the partitions of X, got "
                    f"{type(values).__name__}. Make it a column of X's source, or "
                    "use dask.array.from_array with X's chunks."
                )
        gathered = enumerate(together(X, given))
        self.delayed = [dask.delayed((number, *part)) for number, part in gathered]
        read = partial(read_partition, feature_names=feature_names)
        self.head, schema = self._first_rows(read, sample_weight is not None)
        self._read = partial(read, schema=schema)

    @staticmethod
    def takes(X):
        """Whether X is a Dask DataFrame or Array."""
        return is_dask(X) and hasattr(X, "to_delayed")

    def problem(self, estimator, entries, response_method):
        """The `Problem` of a model, some of whose entries are known."""
        return partitioned_problem(estimator, self, entries, response_method)

    def fit_firm(self, measure, estimator):
        """Fit a `FIRMImportance`."""
        fit_firm(measure, estimator, self)

    def fit_trees(self, measure, estimator, y):
        """Fit an `ImpurityImportance` with rows="unseen"; y as given names outputs."""
        fit_trees(measure, estimator, self, y)

    def _first_rows(self, read, weighted):
        """A few rows and the columns of the first partition that has some."""
        found, n_rows, n_positive = None, 0, 0
        for gathered in self.delayed:
            n_given, some, schema = merged_over(
                [gathered], _head, (read,), None, self.sent
            )
            n_rows += n_given
            if some is not None:
                n_positive += some.table.n_samples
                found = found or (some, schema)
            if n_positive > 1:
                break
        check_two_rows(n_rows, n_positive, weighted)
        return found

    def refuse(self, what, way_out=""):
        """Raise ValueError, as `what` cannot be merged; `way_out` is another one."""
        raise ValueError(
            f"{what} needs all rows in one place, got X in partitions. Pass "
            f"X.compute(){way_out}."
        )

    def passed(self, function, arguments):
        """Merge function(part, *arguments) over all parts that have rows.

        By `merged`. An error names the partition. Parameters as in `merged_over`.
        """
        arguments = self._read, function, arguments
        return merged_over(self.delayed, _on_part, arguments, merged, self.sent)

    def in_bins(self, values, edges, reduce):
        """Reduce the values of all rows bin by bin.

        Parameters
        ----------
        values : callable
            values(part) -> (n_rows,).
        edges : ndarray of shape (n_edges,)
            The first value of each bin but the first.
        reduce : callable
            reduce(values, weights), for each bin that is not empty.

        Returns
        -------
        list of length n_edges + 1
            None for an empty bin.
        """
        arguments = self._read, _split, (values, edges)
        n_bins, join = len(edges) + 1, partial(_join, reduce=reduce)
        return binned_over(self.delayed, _on_part, arguments, n_bins, join, self.sent)


def _split(part, values, edges):
    """Values and weights of a part's rows in bins between edges."""
    values = values(part)
    number = np.searchsorted(edges, values, side="right")
    return [
        (values[number == b], part.weights[number == b]) for b in range(len(edges) + 1)
    ]


def _join(pieces, reduce):
    values, weights = map(np.concatenate, zip(*pieces))
    return reduce(values, weights) if len(values) else None


def _on_part(gathered, read, function, arguments):
    with naming(gathered[0]):
        part = read(gathered)
        return None if part is None else function(part, *arguments)


def _head(gathered, read):
    """How many rows a partition has, a few of positive weight, and its columns."""
    number, X, *_ = gathered
    with naming(number):
        part = read(gathered)
        if part is None:
            return len(X), None, None
        some = np.arange(part.table.n_samples) < HEAD_ROWS
        return len(X), some_rows(part, some), schema_of(part.table)
