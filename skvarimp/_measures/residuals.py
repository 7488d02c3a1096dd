"""Predict a feature from the other columns, and move it to predictions plus residuals.

A number that is not missing is predicted by a regressor. Categories, and whether
numbers are missing, are levels, whose probabilities a classifier predicts. For a group
they are joint levels.
"""

from functools import partial

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.base_table import factorized, is_missing
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.statistics import divided
from skvarimp._data.table import as_table
from skvarimp._response.conditional import ResidualMove
from skvarimp._response.rounds import feature_seeds
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import in_order

FOLDS = 5  # of the choice of a model, of `explained_` and of predictions of own rows
FEW = 10  # known values that a model needs to learn from
INDICATORS = 20  # levels with a coefficient of their own in a linear model
PENALTIES = np.logspace(-2, 4, 7)  # of the ridge, on columns of variance 1
CODES = 63  # levels of a column with a code of their own; the rarest share the last


def default_models(categorical, seed, n_levels):
    """Unfitted models of columns of numbers and codes, the cheaper one first.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_columns,)
        Which columns hold codes.
    seed : int
    n_levels : int
        0 for regressors, else classifiers.
    """
    fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
    encoder = OneHotEncoder(
        max_categories=INDICATORS, handle_unknown="infrequent_if_exist"
    )
    parts = [
        ("numbers", make_pipeline(fill, StandardScaler()), ~categorical),
        ("levels", encoder, categorical),
    ]
    columns = ColumnTransformer(parts, sparse_threshold=0.0)
    # rounds of small trees: a feature is predicted once per fold
    how = {"max_iter": 80, "max_leaf_nodes": 15, "max_bins": CODES}
    how |= {"early_stopping": False, "random_state": seed}
    how["categorical_features"] = categorical
    if n_levels:
        line, trees = LogisticRegression(max_iter=1000), HistGradientBoostingClassifier
    else:
        line, trees = RidgeCV(PENALTIES), HistGradientBoostingRegressor
    return make_pipeline(columns, line), trees(**how)


class Sources:
    """The rows that models are fitted on, and the rows whose features are predicted.

    Parameters
    ----------
    tables : list of Table
        The rows given and, where they differ, those to fit on.
    weights : ndarray of shape (n_rows_given,)
        Sum to 1.
    categorical : collection of int
        Columns that are categorical besides those of such a type.
    model : estimator or None
        The user's.

    Attributes
    ----------
    columns : list of ndarray of shape (n_rows_of_all_tables,)
        Values in the rows of all tables, one below the other.
    numbers : ndarray of shape (n_rows_of_all_tables, n_columns)
        The same as default models see them.
    fitted : ndarray of int
        Where the rows to fit on, with their `fit_weights`, stand among them.
    """

    def __init__(self, tables, weights, categorical, model):
        self.tables, self.weights, self.model = tables, weights, model
        columns = range(tables[0].n_columns)
        self.columns = [_joined(tables, j) for j in columns]
        levels = [j in categorical or tables[0].is_categorical(j) for j in columns]
        self.numbers = np.column_stack(list(map(as_numbers, self.columns, levels)))
        self.categorical = np.array(levels)
        first = 0 if len(tables) == 1 else len(weights)
        self.fitted = np.arange(first, len(self.numbers))
        self.fit_weights = np.ones(len(self.fitted)) if first else weights


def _joined(tables, j):
    """Column j of tables, one below the other."""
    columns = [table.column(j) for table in tables]
    if len({column.dtype.kind == "O" for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.concatenate(columns)


def as_numbers(column, has_levels):
    """A column as default models see it, (n_rows,).

    Numbers as they are, NaN where they are missing; dates as their places in time. Of
    numbers that are nearly all missing, whether they are. Levels as codes, the most
    frequent 0 and at most `CODES` of them; missing ones are a level.
    """
    codes, _ = factorized(column)
    if has_levels:
        order = np.argsort(-np.bincount(codes), kind="stable")
        return np.minimum(np.argsort(order), CODES - 1)[codes].astype(np.float64)
    missing = missing_in(column)
    if len(column) - missing.sum() < FEW:
        return missing.astype(np.float64)
    values = column if column.dtype.kind in "fiu" else codes
    return np.where(missing, np.nan, values)


def missing_in(column):
    """Where a column misses its value, (n_rows,)."""
    if column.dtype.kind == "O":
        return np.array([is_missing(value) for value in column])
    return column != column  # NaN and NaT


class Predictor:
    """Predicts from the columns that do not belong to a feature.

    Parameters
    ----------
    sources : Sources
    feature : Feature
    seed : int
        Of folds and models.
    """

    def __init__(self, sources, feature, seed):
        self.sources, self.seed = sources, seed
        self.others = np.setdiff1d(np.arange(len(sources.categorical)), feature.columns)
        n_rows = len(sources.fitted)
        folds = KFold(min(FOLDS, n_rows), shuffle=True, random_state=seed)
        self.folds = list(folds.split(np.zeros(n_rows)))

    def predict(self, values, known, n_levels=0):
        """Predictions in the rows given, and the share of the variance explained.

        Parameters
        ----------
        values : ndarray of shape (n_rows_of_all_tables,)
            Numbers, or levels from 0.
        known : ndarray of bool of the same shape
            Where a value is not missing.
        n_levels : int, default=0

        Returns
        -------
        predictions : ndarray of shape (n_rows_given, 1) or (n_rows_given, n_levels)
            Of numbers, or probabilities of levels; out of fold where models are fitted
            on these rows themselves. The mean where there is nothing to learn from.
        explained : float
        """
        sources, fitted = self.sources, self.sources.fitted
        y, known, w = values[fitted], known[fitted], sources.fit_weights
        target = np.eye(n_levels)[y] if n_levels else y[:, np.newaxis]
        folds = [(train[known[train]], rows) for train, rows in self.folds]
        varies = all(len(np.unique(y[train])) > 1 for train, _ in folds)
        if known.sum() < FEW or not varies or len(self.others) == 0:
            mean = _mean(target[known], w[known])
            return np.tile(mean, (len(sources.weights), 1)), 0.0

        def error(predictions, rows):
            seen = known[rows]
            squares = (target[rows][seen] - predictions[seen]) ** 2
            return np.sum(w[rows][seen] @ squares)

        models = [sources.model]
        if sources.model is None or is_classifier(sources.model) != bool(n_levels):
            categorical = sources.categorical[self.others]
            models = default_models(categorical, self.seed, n_levels)
        least = to_beat = np.inf  # errors in all folds, and in the first
        for candidate in models:
            unseen, errors = np.zeros(target.shape), []
            for train, rows in folds:
                learnt = self._learnt(candidate, fitted[train], y[train], n_levels)
                unseen[rows] = learnt(fitted[rows])
                errors.append(error(unseen[rows], rows))
                if errors[0] >= to_beat:  # then it is not fitted to the other folds
                    break
            if len(errors) == len(folds) and sum(errors) < least:
                model, found, least, to_beat = candidate, unseen, sum(errors), errors[0]
        means = [np.tile(_mean(target[a], w[a]), (len(b), 1)) for a, b in folds]
        around = sum(error(mean, rows) for mean, (_, rows) in zip(means, folds))
        if len(sources.tables) > 1:
            learnt = self._learnt(model, fitted[known], y[known], n_levels)
            found = learnt(np.arange(len(sources.weights)))
        return found, max(0.0, 1.0 - least / around)

    def _learnt(self, model, rows, y, n_levels):
        """Fit a clone on some rows of the tables; a function from rows to predictions.

        The user's model sees rows in X's container.
        """
        own = model is self.sources.model
        weights, params = self.sources.fit_weights, {}
        if np.any(weights != weights[0]):
            last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
            params = {f"{last}sample_weight": weights[rows] * len(weights)}
        with users_code():
            fit = clone(model).fit(self._seen(own, rows), y, **params)

        def predictions(rows):
            seen = self._seen(own, rows)
            with users_code():
                if not n_levels:
                    return np.asarray(fit.predict(seen), np.float64).reshape(-1, 1)
                chances = np.zeros((len(rows), n_levels))
                chances[:, fit.classes_] = fit.predict_proba(seen)
            return chances

        return predictions

    def _seen(self, own, rows):
        """The other columns in some rows of the tables."""
        if not own:
            return self.sources.numbers[np.ix_(rows, self.others)]
        table, first = self.sources.tables[0], 0
        if rows[0] >= table.n_samples:
            table, first = self.sources.tables[1], table.n_samples
        return table.select(self.others).take(rows - first).native


def _mean(values, weights):
    """Weighted mean of rows; exact where they are all the same, 0 of none."""
    if len(values) == 0:
        return np.zeros(values.shape[1])
    return values[0] + weights @ (values - values[0]) / weights.sum()


def residual_move(task, sources):
    """(`ResidualMove` of a feature, share of its variance explained out of fold).

    Parameters
    ----------
    task : (Feature, int)
        With the seed of folds and models.
    sources : Sources
    """
    feature, seed = task
    numeric = ~sources.categorical[list(feature.columns)]
    n, n_members = len(sources.weights), len(numeric)
    predictor = Predictor(sources, feature, seed)
    levels, missing = _levels(sources, feature, numeric)
    n_levels = int(levels.max()) + 1
    everywhere = np.ones(len(levels), dtype=bool)
    chances, share = predictor.predict(levels, everywhere, n_levels)
    shares = [share] if n_levels > 1 or not numeric.any() else []
    centres, values = np.full((2, n, n_members), np.nan)
    for member in np.flatnonzero(numeric):
        column = sources.columns[feature.columns[member]].astype(np.float64)
        found, share = predictor.predict(column, ~missing[:, member])
        centres[:, member] = found[:, 0]
        values[:, member] = column[:n] - found[:, 0]
        shares.append(share)
    order = np.lexsort((*values.T[::-1], levels[:n]))  # by level, then by residual
    masses = np.bincount(levels[:n], sources.weights, n_levels)
    present = np.flatnonzero(masses > 0)
    chances = chances[:, present]
    total = chances.sum(axis=1, keepdims=True)
    chances = divided(chances, total)
    chances[total[:, 0] == 0] = masses[present]  # none of them is expected
    codes = np.empty(n, dtype=np.intp)
    codes[order] = np.arange(n)
    level = np.searchsorted(present, levels[:n][order])
    move = ResidualMove(
        feature,
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
    return move, float(np.mean(shares))


def _levels(sources, feature, numeric):
    """Joint level of each row, (n_rows,), and where numbers are missing.

    Levels are numbered by the categories and by which numbers are missing.
    """
    n_rows = len(sources.numbers)
    codes = np.zeros(n_rows, dtype=np.intp)
    missing = np.zeros((n_rows, len(numeric)), dtype=bool)
    for member, j in enumerate(feature.columns):
        column = sources.columns[j]
        if numeric[member]:
            missing[:, member] = column = missing_in(column)
        further, first = factorized(column)
        codes, _ = factorized(codes * len(first) + further)
    return codes, missing


def residual_grid(measure, problem, features):
    """A grid of predictions plus residuals, and the share explained of each feature."""
    table, model = problem.table, _checked_model(measure.conditional, problem.weights)
    _check_columns(table, features)
    tables = _tables(table, measure.conditional_fit_rows)
    sources = Sources(tables, problem.weights, measure._categorical, model)
    seeds = np.zeros(len(features), dtype=np.int64)
    if measure.random_state is not None:
        seeds = feature_seeds(measure.random_state, len(features)) % 2**31
    tasks, n_jobs = list(zip(features, seeds.tolist())), measure.n_jobs
    found = in_order(residual_move, tasks, (sources,), n_jobs, prefer="threads")
    moves, shares = zip(*(of_feature for _, of_feature in found))
    return partial(_known_move, dict(zip(features, moves))), np.array(shares)


def _known_move(moves, table, weights, feature, categorical_columns):
    """The move of a feature, as a grid gives it, see `make_move`."""
    return moves[feature]


def _check_columns(table, features):
    """Raise for columns from which nothing is predicted, or which are not."""
    if isinstance(table, SparseTable):
        raise TypeError(
            "conditional='residuals' fits a model to each column and needs a dense X, "
            f"got a sparse matrix of shape {table.native.shape}. Use "
            "conditional='subgroups', or X.toarray()."
        )
    moved = {j for feature in features for j in feature.columns}
    for j, name in enumerate(table.column_names()):
        column = table.column(j)
        problem = None
        if j in moved and table.is_date(j):
            problem = "dates or durations. Make a number of it"
        elif column.dtype.kind == "f" and np.any(np.isinf(column)):
            problem = "infinity. Make it missing (NaN)"
        if problem is not None:
            raise ValueError(
                "conditional='residuals' predicts finite numbers and categories, but "
                f"column {name!r} holds {problem}, or use conditional='subgroups'."
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


def _tables(table, fit_rows):
    """The table given, and that of the rows to fit on, where there are some."""
    if fit_rows is None:
        return [table]
    fit_table = as_table(fit_rows)
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
    return [table, fit_table]
