"""What single rows contribute to an importance, and intervals from it.

An influence psi_i says how much row i, as evaluated row and as donor, moves an
importance; its weighted mean over the rows is 0. The rows' terms (see `Units`) give the
standard error of an importance, its skewness and the covariance of several.
"""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.base_table import is_constant
from skvarimp._data.statistics import Units
from skvarimp._response.reductions import State
from skvarimp._response.walk import sample_of
from skvarimp._running.guards import warn
from skvarimp._running.memory import slices
from skvarimp._running.tasks import in_order


@dataclass(frozen=True)
class KeptRows:
    """Influences of the rows of positive weight.

    Attributes
    ----------
    influences : ndarray of shape (n_rows, n_features)
    contributions : ndarray of shape (n_rows, n_features) or None
        Each row's own importance.
    units : Units
    kept : ndarray of shape (n_samples,)
        Which rows of X these are.
    fingerprint : str
        Equal for fits on the same rows.
    effects : ndarray of shape (n_features, n_outputs, n_rows) or None
        Each row's response minus its mean as the feature moves.
    constant : ndarray of shape (n_columns,), bool, or None
        Which columns of X have one value in these rows, which then say nothing of it.
    """

    influences: np.ndarray
    contributions: np.ndarray | None
    units: Units
    kept: np.ndarray
    fingerprint: str
    effects: np.ndarray | None = None
    constant: np.ndarray | None = None

    @classmethod
    def of(cls, problem, outcome):
        """Those of a `Problem`, from an `Outcome`."""
        influences, of_rows = outcome.influences, outcome.contributions
        if influences is None:  # stopped before the first feature
            shape = len(outcome.importances), len(problem.weights)
            influences = np.full(shape, np.nan)
        return cls(
            influences.T,
            None if of_rows is None else of_rows.T,
            problem.units,
            problem.kept,
            fingerprint(problem.table),
            outcome.effects,
            constant_columns(problem.table),
        )

    @property
    def weights(self):
        """Of the rows; they sum to 1."""
        return self.units.weights

    @property
    def are_samples(self):
        """Whether these stand for samples of the rows, see `SampleUnits`."""
        return isinstance(self.units, SampleUnits)

    @property
    def weights_of_rows(self):
        """Of the rows themselves, also where these are samples."""
        return (self.units.of_rows if self.are_samples else self.units).weights

    def terms(self, influences):
        """What each row adds to the sampling error, (n_features, n_rows)."""
        return self.units.terms(influences.T)

    def at_all_rows(self, values, elsewhere):
        """Values of the rows kept at all rows of X, or None."""
        if values is None or self.kept.all():
            return values
        every = np.full((len(self.kept), *values.shape[1:]), elsewhere)
        every[self.kept] = values
        return every


@dataclass(frozen=True)
class SampleUnits(Units):
    """Samples of the rows, which stand for them: each counts one unit less.

    Attributes
    ----------
    of_rows : Units
        The rows that the samples are made of.
    """

    of_rows: Units | None = None

    @property
    def freedom(self):
        """Of the rows."""
        return self.of_rows.freedom

    @property
    def interval_freedom(self):
        """Of the rows."""
        return self.of_rows.interval_freedom

    @property
    def evenness(self):
        """Of the rows."""
        return self.of_rows.evenness

    @property
    def understatement(self):
        """Of errors of the rows."""
        return self.of_rows.understatement

    @property
    def n_groups(self):
        """Of the rows."""
        return self.of_rows.n_groups

    def same_groups(self, other):
        return self.of_rows.same_groups(other.of_rows)


class RandomSampleUnits(SampleUnits):
    """Random samples, whose number adds to what is not known of the errors."""

    @property
    def freedom(self):
        """As errors that are estimated from few samples of few rows have."""
        return 1.0 / (1.0 / (self.n - 1) + 1.0 / self.of_rows.freedom)

    @property
    def interval_freedom(self):
        """The same, of an interval."""
        return 1.0 / (1.0 / (self.n - 1) + 1.0 / self.of_rows.interval_freedom)


def store_rows(measure, rows):
    """Set what a measure with `keep_rows=True` has of single rows."""
    result = measure.result_
    result.rows = rows
    if result.standard_errors is not None:
        result.skewness = rows.units.skewness(rows.influences.T, result.standard_errors)
    result.influences = rows.at_all_rows(rows.influences, np.nan)
    measure.row_importances_ = rows.at_all_rows(rows.contributions, 0.0)
    if rows.effects is not None:
        effects = np.moveaxis(rows.effects, 2, 0)
        effects = effects[:, :, 0] if effects.shape[2] == 1 else effects
        result.row_effects = rows.at_all_rows(effects, np.nan)
    if result.drawing_errors is None:
        return
    unknown = np.isnan(rows.influences).any(axis=0) & ~np.isnan(measure.importances_)
    if unknown.any():
        warn(
            f"`influences_` and standard errors of {int(unknown.sum())} features are "
            "NaN: too few draws were made to know them."
        )


def fingerprint(table):
    """A digest of all values, equal for the same rows in any container."""
    digests = [hashlib.blake2b(str(table.n_samples).encode()) for _ in range(3)]
    for stored in table.stored():
        for digest, array in zip(digests, stored):
            digest.update(np.ascontiguousarray(array))
    return "".join(digest.hexdigest() for digest in digests)


def constant_columns(table):
    """Which columns have one value in all rows, (n_columns,); missing is a value."""
    return np.array([is_constant(table.column(j)) for j in range(table.n_columns)])


def rows_of(importance):
    """The rows of a fitted importance, or a ValueError that says how to keep them."""
    check_is_fitted(importance, "importances_")
    rows = importance.result_.rows
    if rows is None:
        name = type(importance).__name__
        way_out = (
            f"Fit it with {name}(keep_rows=True)"
            if "keep_rows" in importance.get_params(deep=False)
            else "It has no influences of single rows. Use importance_across_folds to "
            "compare refits"
        )
        way_out = importance._without_rows or way_out
        raise ValueError(f"{name} has kept no rows. {way_out}.")
    return rows


def complete_influences(plan, request, outcome, n_jobs):
    """Add influences on mean curves that were too large to be kept row by row.

    Parameters
    ----------
    plan : Plan
    request : Request
        Of one reduction, a `PartialDependence`.
    outcome : Outcome
    n_jobs : int or None
    """
    problem = plan.problem
    missing = {
        e: curves
        for e, curves in enumerate(outcome.curves or [])
        if curves is not None
        and (outcome.influences is None or np.isnan(outcome.influences[e, 0]))
    }
    walk = problem.walk(problem.response(plan.features), plan.features, [request])
    (reduction,) = request.reductions
    for (e, _), finished in in_order(
        finished_again, missing.items(), (walk, reduction), n_jobs
    ):
        outcome.store([e], finished)


def finished_again(task, walk, reduction):
    """The numbers of a mean curve whose rows' curves were not kept, with influences.

    How much a row moves the flatness of a mean curve is known only after the mean
    curve. The walk keeps each row's curve until then if memory allows. If not, the
    curves are formed again here, block by block.

    Parameters
    ----------
    task : (int, ndarray of shape (n_outputs, n_cells))
        A feature and its mean curves.
    walk : Walk
        Over all rows, of one request with one scale.
    reduction : PartialDependence

    Returns
    -------
    Outcome
    """
    e, curves = task
    move, response = walk.moves[e], walk.response
    ((scale, *_),) = walk.scales
    sample = replace(sample_of(walk, [move], scale), keep_rows=True)
    cells = curves - walk.rows.level[:, np.newaxis]
    kind = reduction.for_kind(move.categorical)
    (slope,) = kind.slope(cells[np.newaxis], sample)
    rows = np.empty((1, *walk.rows.base.shape))
    for part in slices(len(walk.rows), move.n_cells * len(walk.rows.base)):
        block = walk.rows.block(part)
        moved = response.curves(block, move) - block.base[:, :, np.newaxis]
        rows[0, :, part] = np.einsum("oik,ok->oi", moved, slope)
    return kind.finish(State(rows, cells[np.newaxis]), sample)
