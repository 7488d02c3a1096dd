"""The columns of a table as numbers and codes, from which entries are predicted."""

from dataclasses import dataclass

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp._data.base_table import factorized, is_missing

CODES = 200  # levels of a column with a code of their own; the rarest share the last
FEW = 10  # known values that a model needs to learn from
INDICATORS = 20  # levels with a coefficient of their own in a linear model
PENALTIES = np.logspace(-2, 4, 7)  # of the ridge, on columns of variance 1
BOOSTING = {  # rounds of small trees: an entry is predicted once per fold
    "max_iter": 80,
    "max_leaf_nodes": 15,
    "max_bins": 63,
    "early_stopping": False,
}


@dataclass(frozen=True, eq=False)
class OtherColumns:
    """Columns of rows as a model sees them that predicts one from the others.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_columns)
        Numbers as they are, NaN where they are missing. Categories as codes, the most
        frequent 0; missing ones are a category.
    categorical : ndarray of bool of shape (n_columns,)
    """

    numbers: np.ndarray
    categorical: np.ndarray

    @classmethod
    def of(cls, columns, categorical):
        """Those of columns of values.

        Parameters
        ----------
        columns : list of ndarray of shape (n_rows,)
        categorical : ndarray of bool of shape (n_columns,)
        """
        numbers = np.empty((len(columns[0]), len(columns)))
        for j, (column, has_levels) in enumerate(zip(columns, categorical)):
            numbers[:, j] = by_frequency(column) if has_levels else as_numbers(column)
        return cls(numbers, categorical)

    def some_columns(self, columns):
        """The design of some columns."""
        return OtherColumns(self.numbers[:, columns], self.categorical[columns])

    def regressors(self, seed):
        """Name -> unfitted regressor, the cheapest first."""
        boosting = HistGradientBoostingRegressor(**self._boosting(seed))
        ridge = make_pipeline(self._encoder(), RidgeCV(PENALTIES))
        return {"ridge": ridge, "boosting": boosting}

    def classifiers(self, seed):
        """Name -> unfitted classifier, the cheapest first."""
        boosting = HistGradientBoostingClassifier(**self._boosting(seed))
        logistic = make_pipeline(self._encoder(), LogisticRegression(max_iter=1000))
        return {"logistic": logistic, "boosting": boosting}

    def _boosting(self, seed):
        shown = self.categorical if self.categorical.any() else None
        return BOOSTING | {"categorical_features": shown, "random_state": seed}

    def _encoder(self):
        fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
        levels = OneHotEncoder(
            max_categories=INDICATORS, handle_unknown="infrequent_if_exist"
        )
        parts = [
            ("numbers", make_pipeline(fill, StandardScaler()), ~self.categorical),
            ("levels", levels, self.categorical),
        ]
        return ColumnTransformer(parts, sparse_threshold=0.0)


def as_numbers(column):
    """A column of numbers as float64; dates as their places in time.

    If nearly all values are missing, a model sees no more than that they are.
    """
    missing = missing_in(column)
    if len(column) - missing.sum() < FEW:
        return missing.astype(np.float64)
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    codes, _ = factorized(column)
    return np.where(missing, np.nan, codes)


def by_frequency(column):
    """Codes of the values of a column, the most frequent first, at most `CODES`."""
    codes, _ = factorized(column)
    counts = np.bincount(codes)
    place = np.empty(len(counts), dtype=np.intp)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(place, CODES - 1)[codes]


def missing_in(column):
    """Where a column misses its value, (n_rows,)."""
    if column.dtype.kind == "O":
        return np.array([is_missing(value) for value in column])
    return column != column  # NaN and NaT


@dataclass(frozen=True, eq=False)
class Sources:
    """The rows that models are fitted on, and the rows whose entries are predicted.

    Attributes
    ----------
    tables : list of Table
        The rows given and, where they differ, those to fit on.
    weights : ndarray of shape (n_rows_given,)
        Sum to 1.
    categorical : ndarray of bool of shape (n_columns,)
    design : OtherColumns
        Of the rows of all tables, one below the other.
    model : estimator or None
        The user's.
    """

    tables: list
    weights: np.ndarray
    categorical: np.ndarray
    design: OtherColumns
    model: object = None

    @classmethod
    def of(cls, table, weights, fit_table, categorical, model):
        """Those of a table, of the table to fit on or None, and of columns named."""
        tables = [table] if fit_table is None else [table, fit_table]
        has_levels = np.array(
            [
                j in categorical or table.is_categorical(j)
                for j in range(table.n_columns)
            ]
        )
        columns = [_joined(tables, j) for j in range(table.n_columns)]
        return cls(
            tables, weights, has_levels, OtherColumns.of(columns, has_levels), model
        )

    @property
    def given(self):
        """Where the rows given stand in the design."""
        return np.arange(self.tables[0].n_samples)

    @property
    def fitted(self):
        """Where the rows to fit on stand in the design."""
        first = 0 if len(self.tables) == 1 else self.tables[0].n_samples
        return np.arange(first, len(self.design.numbers))

    @property
    def fit_weights(self):
        """Weights of the rows to fit on; None where they are equal."""
        equal = np.all(self.weights == self.weights[0])
        return None if len(self.tables) > 1 or equal else self.weights

    def column(self, j):
        """Values of a column in the rows of all tables."""
        return _joined(self.tables, j)


def _joined(tables, j):
    """Column j of tables, one below the other."""
    columns = [table.column(j) for table in tables]
    if len(columns) > 1 and len({c.dtype.kind == "O" for c in columns}) > 1:
        columns = [c.astype(object) for c in columns]
    return np.concatenate(columns)
