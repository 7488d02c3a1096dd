"""Predict an entry from the other columns, and move it to predictions plus residuals.

A number that is not missing is predicted by a regressor. Categories, and whether
numbers are missing, are levels, whose probabilities a classifier predicts. For a group
they are joint levels.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.base_table import factorized
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.statistics import divided
from skvarimp._data.table import as_table
from skvarimp._measures.residuals.design import FEW, Sources, missing_in
from skvarimp._response.further_moves import ResidualMove
from skvarimp._response.rounds import entry_seeds
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import in_order

FOLDS = 5  # of the choice of a model, of `explained_` and of predictions of own rows
LEAST = 1e-15  # probability of a level in a logarithm


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
        return self.sources.design.some_columns(self.others)

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


@dataclass(frozen=True, eq=False)
class ResidualGrid:
    """A grid of predictions plus residuals, see `make_move`.

    Parameters
    ----------
    moves : dict
        Entry -> `ResidualMove`.
    """

    moves: dict

    def __call__(self, table, weights, entry, categorical_columns):
        """The move of an entry."""
        return self.moves[entry]


def residual_grid(measure, problem, entries):
    """The `ResidualGrid` of all entries, and the share explained of each."""
    table, model = problem.table, _checked_model(measure.conditional, problem.weights)
    if isinstance(table, SparseTable):
        raise TypeError(
            "conditional='residuals' fits a model to each column and needs a dense X, "
            f"got a sparse matrix of shape {table.native.shape}. Use "
            "conditional='subgroups', or X.toarray()."
        )
    _check_columns(table, entries)
    categorical = measure._categorical
    fit_table = _checked_rows(measure.conditional_fit_rows, table)
    sources = Sources.of(table, problem.weights, fit_table, categorical, model)
    seeds = np.zeros(len(entries), dtype=np.int64)
    if measure.random_state is not None:
        seeds = entry_seeds(measure.random_state, len(entries)) % 2**31
    tasks = list(zip(entries, seeds.tolist()))
    found = list(
        in_order(residual_move, tasks, (sources,), measure.n_jobs, prefer="threads")
    )
    moves = {entry: move for (entry, _), (move, _) in found}
    return ResidualGrid(moves), np.array([share for _, (_, share) in found])


def _check_columns(table, entries):
    """Raise for entries of dates, and for infinity, from which nothing is predicted."""
    names, way_out = table.column_names(), "or use conditional='subgroups'."
    for j in {j for entry in entries for j in entry.columns}:
        if table.is_date(j):
            raise ValueError(
                "conditional='residuals' predicts numbers and categories, but column "
                f"{names[j]!r} holds dates or durations. Make a number of it, {way_out}"
            )
    for j in range(table.n_columns):
        column = table.column(j)
        if column.dtype.kind == "f" and np.any(np.isinf(column)):
            raise ValueError(
                "conditional='residuals' needs finite numbers, but column "
                f"{names[j]!r} holds infinity. Make it missing (NaN), {way_out}"
            )


def _checked_model(conditional, weights):
    """The user's model, or None."""
    if isinstance(conditional, str):
        return None
    name = type(conditional).__name__
    if is_classifier(conditional) and not hasattr(conditional, "predict_proba"):
        raise TypeError(
            f"`conditional` is a {name}, but categories are drawn from predicted "
            "probabilities. Use a classifier with `predict_proba`."
        )
    takes_weights = has_fit_parameter(conditional, "sample_weight")
    if not takes_weights and np.any(weights != weights[0]):
        raise ValueError(
            f"`conditional` is a {name}, whose `fit` takes no `sample_weight`. Use "
            "conditional='residuals' or another model where rows have weights."
        )
    return conditional


def _checked_rows(rows, table):
    """The table to fit on, or None where it is the one given."""
    if rows is None:
        return None
    fit_table = as_table(rows)
    if fit_table.n_columns != table.n_columns or fit_table.names != table.names:
        raise ValueError(
            f"`conditional_fit_rows` must have the {table.n_columns} columns of X, "
            f"{table.column_names()!r:.200}, got {fit_table.n_columns} columns, "
            f"{fit_table.column_names()!r:.200}."
        )
    if fit_table.n_samples < 2:
        raise ValueError(
            "`conditional_fit_rows` must have at least two rows, got "
            f"{fit_table.n_samples}. None fits on the rows of X."
        )
    return fit_table
