"""Predict an entry from the other columns, and move it to predictions plus residuals.

A number that is not missing is predicted by a regressor. Categories, and whether
numbers are missing, are levels, whose probabilities a classifier predicts. For a group
they are joint levels.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from skvarimp._data.base_table import factorized
from skvarimp._data.statistics import divided
from skvarimp._measures.residuals.design import FEW, OtherColumns, missing_in
from skvarimp._response.further_moves import ResidualMove
from skvarimp._running.guards import users_code

FOLDS = 5  # of the choice of a model, of `explained_` and of predictions of own rows
LEAST = 1e-15  # probability of a level in a logarithm


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


def residual_move(task, sources):
    """(`ResidualMove` of an entry, share of its variance explained out of fold).

    Parameters
    ----------
    task : (Entry, int)
        With the seed of folds and models.
    sources : Sources
    """
    entry, seed = task
    numeric = ~sources.categorical[list(entry.columns)]
    n, n_members = len(sources.weights), len(numeric)
    predictor = Predictor.of(sources, entry, seed)
    levels, missing = _levels(sources, entry, numeric)
    chances, shares = predictor.chances(levels)
    centres, values = np.full((2, n, n_members), np.nan)
    for member in np.flatnonzero(numeric):
        column = sources.column(entry.columns[member]).astype(np.float64)
        centres[:, member], share = predictor.centres(column, ~missing[:, member])
        values[:, member] = column[:n] - centres[:, member]
        shares.append(share)
    explained = float(np.mean(shares)) if shares else 0.0
    order = np.lexsort((*values.T[::-1], levels[:n]))  # by level, then by residual
    masses = np.bincount(levels[:n], sources.weights, chances.shape[1])
    present = np.flatnonzero(masses > 0)
    chances = chances[:, present]
    total = chances.sum(axis=1, keepdims=True)
    chances = divided(chances, total)
    chances[total[:, 0] == 0] = masses[present]  # none of them is expected
    codes = np.empty(n, dtype=np.intp)
    codes[order] = np.arange(n)
    level = np.searchsorted(present, levels[:n][order])
    move = ResidualMove(
        entry,
        values[order],
        order,
        sources.weights[order] / masses[present][level],
        codes,
        not numeric.any(),
        ordered=bool(numeric.all()) and n_members == 1,
        centres=centres,
        numeric=numeric,
        bounds=np.searchsorted(level, np.arange(len(present) + 1)),
        chances_of_levels=chances,
        level_weights=masses[present],
    )
    return move, explained


@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts from the columns that do not belong to an entry.

    Attributes
    ----------
    sources : Sources
    others : ndarray of int
        Those columns.
    folds : list of (ndarray, ndarray)
        Positions of the rows to fit on, training and held out.
    seed : int
    """

    sources: Sources
    others: np.ndarray
    folds: list
    seed: int

    @classmethod
    def of(cls, sources, entry, seed):
        """Of the columns that an entry does not have."""
        others = np.setdiff1d(np.arange(len(sources.categorical)), entry.columns)
        n_rows = len(sources.fitted)
        folds = KFold(min(FOLDS, n_rows), shuffle=True, random_state=seed)
        return cls(sources, others, list(folds.split(np.zeros(n_rows))), seed)

    def centres(self, column, known):
        """Predictions of a column in the rows given, and the share explained.

        Parameters
        ----------
        column : ndarray of shape (n_rows_of_all_tables,)
        known : ndarray of bool of the same shape
            Where it is not missing.

        Returns
        -------
        centres : ndarray of shape (n_rows_given,)
            Out of fold where models are fitted on these rows themselves.
        explained : float
        """
        sources = self.sources
        n, fitted = len(sources.weights), sources.fitted
        y, usable, w = column[fitted], known[fitted], self._weights()
        if usable.sum() < FEW or np.ptp(y[usable]) == 0 or len(self.others) == 0:
            centre = np.average(y[usable], weights=w[usable]) if usable.any() else 0.0
            constant = usable.any() and np.ptp(y[usable]) == 0
            return np.full(n, y[usable][0] if constant else centre), 0.0
        models = [sources.model]
        if sources.model is None or is_classifier(sources.model):
            models = self._design.regressors(self.seed).values()

        def error(found, rows):
            return w[rows] @ (y[rows] - found) ** 2

        def means(train, rows):
            return np.full(len(rows), np.average(y[train], weights=w[train]))

        model, unseen, lost = self._chosen(models, y, usable, error)
        folds = [(a[usable[a]], b[usable[b]]) for a, b in self.folds]
        around = sum(error(means(a, b), b) for a, b in folds if len(a))
        share = max(0.0, 1.0 - lost / around) if around > 0 else 0.0
        if model is None:
            return np.full(n, np.average(y[usable], weights=w[usable])), 0.0
        if len(sources.tables) == 1:
            return unseen, share
        fit = self._fit(model, fitted[usable], y[usable])
        return self._asked(fit, sources.given), share

    def chances(self, levels):
        """Predicted probabilities of levels in the rows given, and the share explained.

        Parameters
        ----------
        levels : ndarray of int of shape (n_rows_of_all_tables,)

        Returns
        -------
        chances : ndarray of shape (n_rows_given, n_levels)
        shares : list of float
            Of one number, where there are levels to tell apart; else empty.
        """
        sources, n_levels = self.sources, levels.max() + 1
        n, fitted, w = len(sources.weights), sources.fitted, self._weights()
        if n_levels == 1:
            return np.ones((n, 1)), []
        y = levels[fitted]
        frequencies = np.bincount(y, w, n_levels) / w.sum()
        if len(y) < FEW or frequencies.max() == 1.0 or len(self.others) == 0:
            return np.tile(frequencies, (n, 1)), [0.0]
        models = [sources.model]
        if sources.model is None or not is_classifier(sources.model):
            models = self._design.classifiers(self.seed).values()

        def error(found, rows):
            of_own = found[np.arange(len(rows)), y[rows]]
            return -w[rows] @ np.log(np.maximum(of_own, LEAST))

        everything = np.ones(len(y), dtype=bool)
        model, unseen, _ = self._chosen(models, y, everything, error, n_levels)
        if model is None:
            return np.tile(frequencies, (n, 1)), [0.0]
        shown = np.eye(n_levels)[y]
        lost = w @ ((shown - unseen) ** 2).sum(axis=1)
        around = w @ ((shown - frequencies) ** 2).sum(axis=1)
        share = [max(0.0, 1.0 - lost / around)]
        if len(sources.tables) == 1:
            return unseen, share
        fit = self._fit(model, fitted, y)
        return self._asked(fit, sources.given, n_levels), share

    @property
    def _design(self):
        return self.sources.design.of_columns(self.others)

    def _weights(self):
        weights = self.sources.fit_weights
        return np.ones(len(self.sources.fitted)) if weights is None else weights

    def _chosen(self, models, y, usable, error, n_levels=None):
        """The model of the smallest error out of fold, its predictions and its error.

        Every row gets a prediction. A further model that does worse than the best so
        far in the first fold is not fitted to the others. None where a fold leaves
        nothing to learn from.
        """
        fitted, best = self.sources.fitted, (None, None, np.inf)
        shape = (len(fitted),) if n_levels is None else (len(fitted), n_levels)
        to_beat = np.inf  # in the first fold
        for model in models:
            found, losses = np.zeros(shape), []
            for train, rows in self.folds:
                train, known = train[usable[train]], rows[usable[rows]]
                if len(train) == 0 or (n_levels and np.ptp(y[train]) == 0):
                    return best
                fit = self._fit(model, fitted[train], y[train], train)
                found[rows] = self._asked(fit, fitted[rows], n_levels)
                losses.append(error(found[known], known))
                if losses[0] >= to_beat:
                    break
            else:
                if sum(losses) < best[2]:
                    best, to_beat = (model, found, sum(losses)), losses[0]
        return best

    def _fit(self, model, rows, y, positions=None):
        """A clone fitted on some rows of the design."""
        weights, params = self.sources.fit_weights, {}
        if weights is not None:
            weights = weights[positions] * len(weights)
            last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
            params = {f"{last}sample_weight": weights}
        own = model is self.sources.model
        with users_code():
            return own, clone(model).fit(self._seen(own, rows), y, **params)

    def _asked(self, fit, rows, n_levels=None):
        """Predictions in some rows of the design; probabilities of levels."""
        own, model = fit
        with users_code():
            if n_levels is None:
                return np.asarray(model.predict(self._seen(own, rows)), float).reshape(
                    -1
                )
            found = np.zeros((len(rows), n_levels))
            found[:, model.classes_] = model.predict_proba(self._seen(own, rows))
        return found

    def _seen(self, own, rows):
        """The other columns in some rows; the user's `own` model sees X's container."""
        if not own:
            return self.sources.design.numbers[np.ix_(rows, self.others)]
        table, first = self.sources.tables[0], 0
        if rows[0] >= table.n_samples:
            table, first = self.sources.tables[1], table.n_samples
        return table.select(self.others).take(rows - first).native


def _joined(tables, j):
    """Column j of tables, one below the other."""
    columns = [table.column(j) for table in tables]
    if len(columns) > 1 and len({c.dtype.kind == "O" for c in columns}) > 1:
        columns = [c.astype(object) for c in columns]
    return np.concatenate(columns)


def _levels(sources, entry, numeric):
    """Joint level of each row, (n_rows,), and where numbers are missing.

    Levels are numbered by the categories and by which numbers are missing.
    """
    n_rows = len(sources.design.numbers)
    codes = np.zeros(n_rows, dtype=np.intp)
    missing = np.zeros((n_rows, len(numeric)), dtype=bool)
    for member, j in enumerate(entry.columns):
        column = sources.column(j)
        if numeric[member]:
            missing[:, member] = missing_in(column)
            column = missing[:, member]
        further, first = factorized(column)
        codes, _ = factorized(codes * len(first) + further)
    return codes, missing
