"""The values a feature is moved through, with their probabilities."""

import numbers
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skvarimp._data.base_table import begins_value, is_missing, side_by_side
from skvarimp._data.statistics import distinct_masses, equal_bins
from skvarimp._data.table import Feature, check_known
from skvarimp._running.memory import working_bytes

N_EQUIDISTANT = 5  # Clementine's 0, .25, .5, .75, 1 (Huh & Lee, section 5, step 1)


@dataclass(frozen=True, eq=False)
class Move:
    """A feature together with the grid it moves through.

    Attributes
    ----------
    feature : Feature
        Its `columns` are those of the table the move is for.
    values : ndarray of shape (n_cells,) or (n_cells, n_columns)
        The distinct values, ascending for one numeric column, NaN last; object dtype
        where they are not numbers.
    donors : ndarray of shape (n_cells,) or (n_cells, n_columns), or None
        Rows of the table that hold the values, for each column its own if there are
        several; None, or -1 throughout a column, for values of the grid's own.
    probabilities : ndarray of shape (n_cells,)
        Sum to 1.
    codes : ndarray of shape (n_samples,) or None
        The cell of each row's own value; None where the grid does not hold it.
    categorical : bool
    parts : Parts or None
        Given where each row moves only through the values of its own part of the rows.
        The cells of one part then follow those of another, and the probabilities sum
        to 1 in each part. None: every row moves through all cells.
    ordered : bool
        Whether the values are those of one column and have an order.
    nearest : ndarray of shape (n_samples,) or None
        Where values stand for those near them: the cell that stands for each row's own
        value.
    """

    feature: Feature
    values: np.ndarray
    donors: np.ndarray | None
    probabilities: np.ndarray
    codes: np.ndarray | None
    categorical: bool
    parts: object = None
    ordered: bool = False
    nearest: np.ndarray | None = None

    @property
    def known(self):
        """Which values are not missing, (n_cells,), of one column."""
        values = self.values.reshape(self.n_cells)
        if values.dtype.kind == "O":
            return np.array([not is_missing(value) for value in values], dtype=bool)
        return values == values  # neither NaN nor NaT

    @property
    def order(self):
        """Which cells have an order, their probabilities and levels; None: none has."""
        if not self.ordered:
            return None
        known = self.known
        return known, self.probabilities[known], self.levels[known]

    @property
    def n_cells(self):
        """Number of cells."""
        return len(self.probabilities)

    @property
    def cells_per_row(self):
        """Number of cells that a row moves through, on average."""
        return self.n_cells if self.parts is None else self.parts.cells_per_row

    @property
    def shared(self):
        """Whether all rows move through all cells, with the same probabilities."""
        return self.parts is None

    @property
    def chances(self):
        """Probability of each cell for a row drawn by its weight, (n_cells,)."""
        if self.parts is None:
            return self.probabilities
        return self.probabilities * self.parts.weights[self.parts.of_cell]

    @property
    def ascends(self):
        """Whether the values are one column's numbers, ascending, missing ones last."""
        if len(self.feature.columns) != 1 or self.values.dtype.kind not in "fbiu":
            return False
        order = np.argsort(self.values, kind="stable")
        return bool(np.all(order[1:] > order[:-1]))

    def rows_of_values(self, cells):
        """Values of the given cells as (len(cells), n_columns)."""
        return self.values.reshape(self.n_cells, -1)[cells]

    @property
    def own_cells(self):
        """The cell of each row's own value, or of what stands for it; or None."""
        return self.nearest if self.codes is None else self.codes

    @property
    def levels(self):
        """The level of each cell, (n_cells,): the part of the rows that it is for."""
        if self.parts is None:
            return np.zeros(self.n_cells, dtype=np.intp)
        return self.parts.of_cell

    def cells_at(self, points, rows):
        """The cells where the distribution function passes points, (n_draws, n).

        It is that of the part of each of the rows, (n,).

        Parameters
        ----------
        points : ndarray of shape (n_draws, n)
            In [0, 1); of uniform ones the cells have their probabilities.
        rows : ndarray of shape (n,)
            Rows of the table.
        """
        chances = self.probabilities
        if self.parts is None and np.all(chances == chances[0]):
            last = self.n_cells - 1  # to which the product may round
            return np.minimum((points * self.n_cells).astype(np.intp), last)
        upper = np.cumsum(chances)
        if self.parts is None:
            return np.searchsorted(upper[:-1], points, side="right")
        # the probabilities of each part sum to 1
        part, bounds = self.parts.of_row[rows], self.parts.bounds
        cells = np.searchsorted(upper[:-1], part + points, side="right")
        return np.clip(cells, bounds[part], bounds[part + 1] - 1)

    def bounds_at(self, cells, rows):
        """Where the distribution function begins and ends cells, 2 of (n_draws, n)."""
        ends = np.cumsum(self.probabilities)[cells] - self.levels[cells]
        return ends - self.probabilities[cells], ends

    def values_at(self, rows, cells):
        """Values of the feature in some rows, each at one cell, (n, n_columns)."""
        return self.rows_of_values(cells)

    def replaced(self, rows, cells):
        """The arguments of `Table.moved`: rows, columns, donors, values."""
        columns = self.feature.columns
        donors = None if self.donors is None else self.donors[cells]
        if donors is not None and np.all(donors >= 0):
            return rows, columns, donors, None
        return rows, columns, donors, self.rows_of_values(cells)

    @property
    def donors_of_columns(self):
        """Donors of each column, (n_cells, n_columns), -1 where there are none."""
        shape = self.n_cells, len(self.feature.columns)
        donors = -1 if self.donors is None else self.donors.reshape(self.n_cells, -1)
        return np.broadcast_to(donors, shape)

    def at_cells(self, cells, **others):
        """The move through some of its cells; `others` are fields that change, too."""
        donors = None if self.donors is None else self.donors[cells]
        return replace(self, values=self.values[cells], donors=donors, **others)


def make_move(table, weights, feature, grid, categorical_columns=frozenset()):
    """The grid of one feature.

    Parameters
    ----------
    table : Table
    weights : ndarray of shape (n_samples,)
        Positive, summing to 1.
    feature : Feature
    grid : {"all", "equidistant", "deciles"}, int, array-like, dict or callable
        As described at `SensitivityImportance`; a dict maps feature names to arrays. A
        callable, such as `Subgroups`, makes the move itself.
    categorical_columns : frozenset of int
        Columns to treat as categorical besides those that are by their type.

    Returns
    -------
    Move
    """
    if callable(grid):
        return grid(table, weights, feature, categorical_columns)
    categorical, ordered = kind_of(table, feature, categorical_columns)
    if isinstance(grid, Mapping):
        grid = grid.get(feature.name, "all")
    first, *more = feature.columns
    if not isinstance(grid, str | numbers.Integral):
        move = _as_stored(table, _given(table, weights, feature, grid, categorical))
    elif grid == "all" or categorical or more or table.has_levels(first):
        codes, donors = table.factorize(feature.columns)
        probabilities = np.bincount(codes, weights=weights, minlength=len(donors))
        columns = [table.column(j)[donors] for j in feature.columns]
        values = side_by_side(columns, len(donors))
        move = Move(feature, values, donors, probabilities, codes, categorical)
    else:
        column = table.column(first).astype(np.float64)
        whole = table.is_integer(first)
        move = _summary(column, weights, feature, grid, whole)
        move = _as_stored(table, move)
    return replace(_with_nulls(table, weights, move), ordered=ordered)


def _with_nulls(table, weights, move):
    """The move with X's own nulls, each kind a cell, where it would put NaN instead."""
    columns = move.feature.columns
    if move.donors is not None or len(columns) > 1 or not table.has_nulls(*columns):
        return move
    known = move.known
    codes, first = table.factorize(columns)
    masses = np.bincount(codes, weights=weights, minlength=len(first))
    nulls = np.flatnonzero(np.isnan(table.column(*columns)[first].astype(np.float64)))
    n_known, n_cells = int(known.sum()), int(known.sum()) + len(nulls)
    donors = np.full((n_cells, 1), -1)
    donors[n_known:, 0] = first[nulls]
    values = np.full(n_cells, np.nan)
    values[:n_known] = move.values[known]
    probabilities = np.append(move.probabilities[known], masses[nulls])
    return replace(move, values=values, donors=donors, probabilities=probabilities)


N_QUANTILES, N_JOINT = 64, 256  # of curves that a model is asked for


@dataclass(frozen=True)
class QuantileGrid:
    """The values of a feature in bins of equal probability, one value for each bin.

    Called as `make_move` is, with the grid already known. Numbers are represented by
    the median of their bin. Of joint values, which take more bins, and of values that
    have an order but are no numbers, those in the middle of the bins stand for the
    others, in the order in which the table sorts them. Categories are all taken, and so
    are values that are not more than the bins.

    Parameters
    ----------
    n_bins, n_joint : int
        Of the values of one column, and of the joint values of several.
    """

    n_bins: int = N_QUANTILES
    n_joint: int = N_JOINT

    def __call__(self, table, weights, feature, categorical_columns):
        """The `Move` of a feature."""
        whole = make_move(table, weights, feature, "all", categorical_columns)
        n_bins = self._size(feature)
        if whole.n_cells <= n_bins or whole.categorical:
            return whole
        upper = np.cumsum(whole.probabilities)
        if whole.ascends:
            move = make_move(table, weights, feature, n_bins, categorical_columns)
            middles = np.where(whole.known, upper - whole.probabilities / 2, 1.0)
            known = np.cumsum(move.probabilities)[: int(move.known.sum())]
            nearest = np.searchsorted(known[:-1], middles - 1e-12)
            nearest[~whole.known] = move.n_cells - 1
            return replace(move, nearest=nearest[whole.codes])
        middles = (np.arange(n_bins) + 0.5) / n_bins
        cells = np.unique(np.searchsorted(upper[:-1], middles, side="right"))
        between = (cells[1:] + cells[:-1]) // 2 + 1
        nearest = np.searchsorted(between, np.arange(whole.n_cells), side="right")
        chances = np.bincount(nearest, whole.probabilities)
        return whole.at_cells(
            cells, probabilities=chances, codes=None, nearest=nearest[whole.codes]
        )

    def of(self, move):
        """What was asked of a feature, in the words of `grid`."""
        return "all" if move.codes is not None else self._size(move.feature)

    def most_cells(self, feature):
        """How many values a feature that is no category takes at most."""
        return self._size(feature) + 1  # a missing value is one more

    def _size(self, feature):
        return self.n_bins if len(feature.columns) == 1 else self.n_joint


def _as_stored(table, move):
    """The move with values as X holds them: single precision rounds."""
    if move.donors is not None:
        return move
    columns, values = move.feature.columns, move.values.reshape(move.n_cells, -1)
    stored = [table.storable(j, column) for j, column in zip(columns, values.T)]
    return replace(move, values=np.stack(stored, axis=1).reshape(move.values.shape))


class Kind(NamedTuple):
    """Whether a feature is categorical, and whether its values have an order."""

    categorical: bool
    ordered: bool


def kind_of(table, feature, categorical_columns):
    """The `Kind` of a feature, some of whose columns the user named as categorical."""
    first, *more = feature.columns
    categorical = [
        j in categorical_columns or table.is_categorical(j) for j in feature.columns
    ]
    named = first in categorical_columns
    return Kind(all(categorical), not (more or named) and table.has_order(first))


def values_alone(table, weights, feature, categorical_columns=frozenset()):
    """The grid "all" without donors and without each row's cell, where a sort finds it.

    A grid that `make_move` takes. A sort is enough for a column of numbers whose rows
    weigh the same. It takes a third of the time of what others need.

    Returns
    -------
    Move
    """
    j, *more = feature.columns
    known = not more and not table.has_levels(j) and not table.has_nulls(j)
    if not known or table.column(j).dtype.kind == "O" or np.ptp(weights):
        return make_move(table, weights, feature, "all", categorical_columns)
    ascending, kind = table.ascending(j), kind_of(table, feature, categorical_columns)
    first = np.flatnonzero(begins_value(ascending))
    values, chances = ascending[first], np.diff(first, append=len(ascending))
    chances = chances / len(ascending)
    return Move(
        feature, values, None, chances, None, kind.categorical, ordered=kind.ordered
    )


def _summary(column, weights, feature, grid, whole):
    """A named or numbered grid of one numeric column; NaN keeps its frequency.

    Values are rounded where the column holds whole numbers only.
    """
    present = ~np.isnan(column)
    if not present.any():
        values, probabilities = np.array([np.nan]), np.array([1.0])
    else:
        if isinstance(grid, numbers.Integral):
            numeric = distinct_masses(column[present], weights[present])
            values, probabilities = equal_bins(*numeric, grid)
            if whole:
                values, cell = np.unique(np.rint(values), return_inverse=True)
                probabilities = np.bincount(cell, probabilities)
        else:
            values = _spread(column[present], feature, grid)
            values = np.unique(np.rint(values)) if whole else values
            probabilities = np.full(len(values), 1.0 / len(values))
        values, probabilities = _and_missing(values, probabilities, ~present, weights)
    return Move(feature, values, None, probabilities, None, False)


def _and_missing(values, probabilities, missing, weights, value=np.nan):
    """Values and their probabilities, with one for the rows that miss theirs, if any.

    Parameters
    ----------
    values, probabilities : ndarray of shape (n_cells,)
    missing : ndarray of bool of shape (n_samples,)
    weights : ndarray of shape (n_samples,)
    value : default=nan
        What stands for a missing value.
    """
    if not missing.any():
        return values, probabilities
    mass = weights[missing].sum()
    return np.append(values, value), np.append(probabilities * (1 - mass), mass)


def _spread(column, feature, grid):
    ends = np.array([column.min(), column.max()])
    if not np.all(np.isfinite(ends)):
        raise ValueError(
            f"grid={grid!r} needs finite values, got infinity in {feature.name!r}."
        )
    if grid == "equidistant":
        return np.unique(np.linspace(*ends, N_EQUIDISTANT))
    return np.unique(np.quantile(np.unique(column), np.linspace(0, 1, 11)))  # deciles


def _given(table, weights, feature, grid, categorical):
    """Values named by the user, equally likely; NaN keeps its frequency."""
    if len(feature.columns) > 1:
        return _given_group(table, feature, grid, categorical)
    given = np.asarray(grid)
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(
            f"The grid of {feature.name!r} must be a non-empty 1-d array of values, "
            f"got shape {given.shape}."
        )
    if table.has_levels(feature.columns[0]):
        return _given_levels(table, weights, feature, list(grid), categorical)
    if given.dtype.kind not in "fbiu" or not np.all(np.isfinite(given)):
        raise ValueError(f"The grid of {feature.name!r} must be finite numbers.")
    values, counts = np.unique(given.astype(np.float64), return_counts=True)
    probabilities = counts / counts.sum()
    missing = table.missing(feature.columns[0])
    values, probabilities = _and_missing(values, probabilities, missing, weights)
    return Move(feature, values, None, probabilities, None, categorical)


def _given_levels(table, weights, feature, levels, categorical):
    """Levels of a column that holds no numbers; each must occur in it."""
    codes, donors = table.factorize(feature.columns)
    present = table.column(feature.columns[0])[donors]
    cells = []
    for level in levels:
        same = [c for c, v in enumerate(present) if not is_missing(v) and v == level]
        if not same:
            raise ValueError(
                f"The grid of {feature.name!r} has the level {level!r}, which does not "
                f"occur in X; levels are {present.tolist()}."
            )
        cells += same
    cells, counts = np.unique(cells, return_counts=True)
    none = np.array([is_missing(v) for v in present])  # one at most
    cells, probabilities = _and_missing(
        cells, counts / counts.sum(), none[codes], weights, none.argmax()
    )
    return Move(
        feature, present[cells], donors[cells], probabilities, None, categorical
    )


def _given_group(table, feature, grid, categorical):
    given = np.asarray(grid)
    if given.ndim != 2 or given.shape[1] != len(feature.columns) or len(given) == 0:
        raise ValueError(
            f"The grid of the group {feature.name!r} must have shape (k, "
            f"{len(feature.columns)}), one column per member, got {given.shape}."
        )
    numeric = all(table.column(j).dtype.kind in "fbiu" for j in feature.columns)
    if not numeric or given.dtype.kind not in "fbiu":
        raise ValueError(
            f"The grid of the group {feature.name!r} can be given only where all its "
            "columns are numbers. Use grid='all'."
        )
    values, counts = np.unique(
        given.astype(np.float64), axis=0, return_counts=True, equal_nan=True
    )
    return Move(feature, values, None, counts / counts.sum(), None, categorical)


def _features_with_values(features, grid):
    """Positions of the features whose values the user gave."""
    if not isinstance(grid, Mapping):
        given = not isinstance(grid, str | numbers.Integral) and not callable(grid)
        return range(len(features)) if given else []
    names = [feature.name for feature in features]
    for name, values in grid.items():
        check_known(name, names, "grid")
        if isinstance(values, str | numbers.Integral):
            raise ValueError(
                f"`grid` must map {name!r} to an array of values, got {values!r}."
            )
    return [names.index(name) for name in grid]


def _memory_of(move):
    """Bytes that a move takes."""
    n_cells, n_columns = len(move.probabilities), len(move.feature.columns)
    own_cells = 0 if move.own_cells is None else move.own_cells.nbytes
    return 8 * n_cells * (2 + n_columns) + own_cells


class Moves:
    """The moves of one walk, made when asked for: position -> Move.

    Position r * n_features + e is feature e under the grid of request r. Moves are kept
    as long as they take little memory: 100 000 columns must not fill it.
    """

    def __init__(self, table, weights, features, grids, categorical_columns):
        self.table, self.weights = table, weights
        self.features, self.grids = features, grids
        self.categorical_columns = categorical_columns
        self._made, self._bytes_left = {}, working_bytes() / 2
        for request, grid in enumerate(grids):
            for e in _features_with_values(features, grid):
                self[request * len(features) + e]  # bad values raise before the work

    @property
    def by_column(self):
        """Which features move one column, whose values in the table are the grid."""
        return np.array([len(feature.columns) == 1 for feature in self.features])

    def kind(self, position):
        """The `Kind` of the feature at a position."""
        request, e = divmod(int(position), len(self.features))
        named = self.categorical_columns[request]
        return kind_of(self.table, self.features[e], named)

    def __getitem__(self, position):
        request, e = divmod(int(position), len(self.features))
        feature, grid = self.features[e], self.grids[request]
        if (request, feature) in self._made:
            return self._made[request, feature]
        named = self.categorical_columns[request]
        move = make_move(self.table, self.weights, feature, grid, named)
        size = _memory_of(move)
        if size <= self._bytes_left:
            self._bytes_left -= size
            self._made[request, feature] = move
        return move

    def forget(self, position):
        """Keep a move no longer; it is made again when asked for."""
        request, e = divmod(int(position), len(self.features))
        move = self._made.pop((request, self.features[e]), None)
        if move is not None:
            self._bytes_left += _memory_of(move)

    def __getstate__(self):
        return {**vars(self), "_made": {}, "_bytes_left": working_bytes() / 2}

    def subset(self, positions):
        """The moves of some features, of a walk with one request."""
        part = copy(self)
        part.features = [self.features[e] for e in positions]
        return part
