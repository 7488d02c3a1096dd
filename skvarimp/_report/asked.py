"""What a report is asked about: the model, the rows, and how much it may be asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skvarimp._data.table import resolve_features, rows_of_target

MOST_ROWS, MOST_NUMBERS, LEAST_ROWS = 50_000, 2e7, 2_000
LEAST_ROWS_OF_PART = 30


def rows_used(n_samples, n_columns):
    """How many rows a report looks at: of large tables a part is enough."""
    most = max(LEAST_ROWS, MOST_NUMBERS / n_columns)
    return int(min(n_samples, most, MOST_ROWS))


def drawn(n_samples, n, seed):
    """Positions of n rows, all or drawn without replacement, ascending."""
    if n >= n_samples:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, n, replace=False))


@dataclass(frozen=True)
class ReportedRows:
    """Some rows, as a measure's `fit` takes them.

    Attributes
    ----------
    table : Table
    y, sample_weight, groups : array-like or None
    feature_names : sequence of str or None
        Names for an X that has none.
    """

    table: object
    y: object
    sample_weight: object
    groups: object
    feature_names: object

    def take(self, rows):
        """Some of them."""
        y = None if self.y is None else rows_of_target(self.y, rows)
        others = [
            None if one is None else np.asarray(one)[rows]
            for one in (self.sample_weight, self.groups)
        ]
        table = self.table.take(rows)
        return ReportedRows(table, y, *others, self.feature_names)

    @property
    def n(self):
        """How many."""
        return self.table.n_samples

    def fitted(self, measure, estimator):
        """A measure fitted to the estimator and these rows."""
        options = {"sample_weight": self.sample_weight, "groups": self.groups}
        options["feature_names"] = self.feature_names
        known = {name: one for name, one in options.items() if one is not None}
        return measure.fit(estimator, self.table.native, self.y, **known)


@dataclass
class Asked:
    """A question to a report.

    Attributes
    ----------
    estimator : object
    rows : ReportedRows
        Those that the report looks at.
    n_samples : int
        How many were given.
    importance : BaseImportance
        The fitted measure.
    top : int
        How many features are looked at one by one.
    seed : int
    left : float
        How many rows the model may still be asked to predict. Infinite for models that
        are read.
    limit : int or None
        The limit of the user.
    n_jobs : int or None
    """

    estimator: object
    rows: ReportedRows
    n_samples: int
    importance: object
    top: int
    seed: int
    left: float
    limit: int | None
    n_jobs: int | None

    def __post_init__(self):
        table = self.rows.table
        given = getattr(self.importance, "features", None)
        self.features = resolve_features(given, table.names, table.n_columns)

    def columns(self, name):
        """The column, or the list of columns, of a feature; by position."""
        columns = next(list(f.columns) for f in self.features if f.name == name)
        return columns if len(columns) > 1 else columns[0]

    def used(self, name):
        """Whether the importance of a feature is not 0."""
        return self.importance.importances_[self.importance.features_.index(name)] != 0

    @property
    def names(self):
        """Names of the features, the most important first."""
        order = np.argsort(self.importance.ranking_, kind="stable")
        return [self.importance.features_[e] for e in order]

    def some(self, cost, share, most):
        """Rows for a part of the report; None where the limit allows too few.

        Their predictions are taken off what is left.

        Parameters
        ----------
        cost : float
            Rows that the model is asked to predict for each row that is looked at.
        share : float
            Of what is left, for this part.
        most : int
            As many rows as are useful.
        """
        n = int(min(self.rows.n, most, share * self.left / cost))
        if n < min(LEAST_ROWS_OF_PART, self.rows.n):
            return None
        self.left -= n * cost
        return self.sample(n)

    def sample(self, most):
        """At most so many of the rows, without a prediction."""
        return self.rows.take(drawn(self.rows.n, min(self.rows.n, most), self.seed))
