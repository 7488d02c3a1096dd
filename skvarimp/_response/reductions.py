"""Reductions of ICE curves: pure, mergeable over blocks of rows.

Index letters: b feature of the block, o output, i row, k cell. With ICE[i, k] the
response of row i with the feature moved to cell k, f[i] the response unmoved, p[k] the
cell's probability and w[i] the row's weight (both sum to 1):

=============== ==========================================================
Pairs           sum_i w[i] sum_kl p[k] p[l] \\|ICE[i, k] - ICE[i, l]\\|
Observed        sum_i w[i] sum_k p[k] \\|ICE[i, k] - f[i]\\|
Range           sum_i w[i] (max_k ICE[i, k] - min_k ICE[i, k])
Loss            sum_i w[i] (sum_k p[k] loss(y[i], ICE[i, k]) - loss(y[i], f[i]))
SquaredError    Loss with loss(y, f) = (y - f)^2
AbsoluteError   Loss with loss(y, f) = \\|y - f\\|
=============== ==========================================================

`reduce` asks a shape of curves (`shape.py`) for the sums it needs and makes a
`State` of them, states of blocks of rows are merged, and `finish` gives the importance
of each output and the standard error of their mean. A new one works for every shape.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.statistics import Units


@dataclass
class Outcome:
    """Final numbers of a reduction, of some features or of all.

    None is not known. Of all features, NaN stands for those that a stop came before.

    Attributes
    ----------
    importances : ndarray of shape (n_features, n_outputs)
    standard_errors : ndarray of shape (n_features,) or None
        Of the mean over the outputs.
    monte_carlo_errors, n_draws : ndarray of shape (n_features,) or None
        Of drawn numbers: the error of drawing, and how many draws there were. NaN for
        one repeat of every row, as is the standard error.
    influences : ndarray of shape (n_features, n_rows) or None
        How much each row moves the importance, where `Sample.keep_rows` asks for it.
    contributions : ndarray of shape (n_features, n_rows) or None
        Each row's own importance, where the importance is their mean.
    through_curves : ndarray of shape (n_features, n_rows) or None
        The part of the influences that rows have through their own curves, where the
        importance is one of a mean curve, and `Sample.keep_rows` asks for it.
    curves : list of (ndarray of shape (n_outputs, n_cells) or None), or None
    errors_per_output : ndarray of shape (n_features, n_outputs) or None
        Standard errors of each output by itself.
    skewness : ndarray of shape (n_features,) or None
        Of the sampling error of the mean over the outputs.
    directions, effects : ndarray of shape (n_features, n_outputs, ...) or None
        What `MeanCurve` finds; effects end with n_rows.
    largest_draw, draw_share : float or None
        Largest size of a draw, and the share of the importance that a draw of a row of
        mean weight has.
    complete : ndarray of bool of shape (n_features,) or None
        Which features were drawn as often as wanted, where draws were stopped.
    """

    importances: np.ndarray
    standard_errors: np.ndarray | None = None
    monte_carlo_errors: np.ndarray | None = None
    n_draws: np.ndarray | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None
    through_curves: np.ndarray | None = None
    curves: list | None = None
    errors_per_output: np.ndarray | None = None
    skewness: np.ndarray | None = None
    directions: np.ndarray | None = None
    effects: np.ndarray | None = None
    largest_draw: float | None = None
    draw_share: float | None = None
    complete: np.ndarray | None = None

    @classmethod
    def unknown(cls, n_features, n_outputs):
        """That before anything is found."""
        return cls(np.full((n_features, n_outputs), np.nan))

    @classmethod
    def of_no_draws(cls, n_features, n_outputs):
        """That before the first draw."""
        found = cls.unknown(n_features, n_outputs)
        found.monte_carlo_errors = np.full(n_features, np.nan)
        found.draw_share = np.full(n_features, np.nan)
        found.n_draws = np.zeros(n_features, dtype=np.intp)
        return found

    def store(self, features, found):
        """Take the numbers of some features from their `Outcome`."""
        n_features = len(self.importances)
        if found.curves is not None:
            self.curves = self.curves or [None] * n_features
            for e, curve in zip(features, found.curves):
                self.curves[e] = curve
        for name, values in vars(found).items():
            if name == "curves" or values is None:
                continue
            if getattr(self, name) is None:
                shape = n_features, *np.shape(values)[1:]
                setattr(self, name, np.full(shape, np.nan))
            getattr(self, name)[features] = values

    def times(self, factor):
        """The outcome with importances, errors and numbers of rows times a factor."""
        names = "importances", "standard_errors", "monte_carlo_errors"
        for name in (*names, "influences", "contributions"):
            if getattr(self, name) is not None:
                setattr(self, name, factor * getattr(self, name))
        return self


@dataclass
class Sample:
    """What `finish` needs to know of the evaluated rows and the cells.

    Attributes
    ----------
    rows : Rows
        All that are evaluated.
    cells : Cells
    scale : ndarray of shape (n_outputs,)
        What importances are divided by.
    keep_rows : bool
        Whether `Outcome` is to hold the numbers of single rows.
    directions : callable or None
        Of mean curves over the cells.
    over_values : callable or None
        Curves over the cells -> those over the grid's values; None: they are the same.
    parts : ndarray of shape (n_rows,) or None
        The part of each row, where rows are donors of their own part only.
    weights, units : see `Rows`
        Those of `rows`. Where the cells of sparse columns stand for the rows, theirs:
        ndarray of shape (n_features, n_cells).
    """

    rows: object
    cells: object
    scale: np.ndarray
    keep_rows: bool = False
    directions: object = None
    over_values: object = None
    parts: np.ndarray | None = None
    weights: np.ndarray | None = None
    units: Units | None = None

    def __post_init__(self):
        if self.weights is None:
            self.weights, self.units = self.rows.weights, self.rows.units

    def as_donors(self, rows, cells):
        """What each row adds to the importance as donor, minus the mean of all donors.

        Where there are parts, minus the mean of the donors of the row's own part.

        Parameters
        ----------
        rows : ndarray of shape (n_features, n_outputs, n_rows)
            Each row's mean over its cells.
        cells : ndarray of shape (n_features, n_outputs, n_cells)
            Weighted sums over the rows, of each cell.

        Returns
        -------
        ndarray of shape (n_features, n_outputs, n_rows)
        """
        if self.parts is None:
            means = np.matmul(rows, self.weights[..., np.newaxis])
            return self.donated(cells) - means
        masses = np.bincount(self.parts, self.weights)
        means = np.empty((*rows.shape[:2], len(masses)))
        for at in np.ndindex(*rows.shape[:2]):
            means[at] = np.bincount(self.parts, self.weights * rows[at]) / masses
        donated = self.donated(cells) / masses[self.parts]
        return donated - means[..., self.parts]

    def donated(self, cells):
        """Give each row the number of its own cell, from numbers (..., n_cells)."""
        codes = self.cells.codes
        if isinstance(codes, slice):
            return cells[..., codes]
        return np.take_along_axis(cells, codes[:, np.newaxis, :], axis=2)

    def finished(self, importances, influences, contributions=None, curves=None):
        """`Outcome` with standard errors, of the mean over outputs and of each.

        By the infinitesimal jackknife, see `Units`.

        Parameters
        ----------
        importances : ndarray of shape (n_features, n_outputs)
            Scaled already, unlike the following.
        influences : ndarray of shape (n_features, n_outputs, n_rows)
        contributions : ndarray of shape (n_features, n_outputs, n_rows), default=None
        curves : ndarray of shape (n_features, n_outputs, n_cells), default=None
        """
        psi = self.scaled_mean(influences)
        errors, skewness = self.units.error_and_skewness(psi)
        outcome = Outcome(importances, errors, curves=curves, skewness=skewness)
        outcome.directions = None if curves is None else self.directions(curves)
        outcome.errors_per_output = errors[:, np.newaxis]
        if len(self.scale) > 1:
            per_output = self.units.error(np.moveaxis(influences, 1, 0))
            outcome.errors_per_output = per_output.T / self.scale
        if self.keep_rows:
            outcome.influences = psi
            if contributions is not None:
                outcome.contributions = self.scaled_mean(contributions)
        return outcome

    def scaled_mean(self, per_output):
        """Mean over the outputs of numbers of rows (b, o, i), each by its scale."""
        return np.einsum("boi,o->bi", per_output, 1.0 / (len(self.scale) * self.scale))


class Reduction:
    """A number per feature and output from the ICE curves; see the module's table.

    Attributes
    ----------
    needs : {"moments", "order", "values"}
        What it takes of the curves, for estimates of its cost: means of smooth
        functions of them, their order as well, or each single value.
    merges_rows : bool
        Whether rows of equal value may go as one row of their weights.
    counts_values : bool
        Whether each distinct value counts once, whatever its weight.
    uses_squares : bool
        Whether `finish` takes the rows' squared deviations of the response.
    follows : bool
        Whether it takes the shape that others need.
    n_moves : int
        Donors of one draw, where the importance is drawn.
    offset : float
        What is added to means of draws.
    statistic : str or None
        Of some reductions; "std_or_range" is settled by `for_kind` for each feature.
    primitive : str or None
        The primitive of shapes that gives the state's rows and cells, if it is one.
    """

    n_moves, statistic, primitive = 1, None, None
    offset = 0.0
    needs = "values"
    merges_rows = counts_values = uses_squares = follows = False

    def for_kind(self, categorical):
        """For features that are categorical, or for those that are not."""
        return self

    def n_kept(self, n_numbers):
        """How many curves of rows, or sums of them, are kept, of so many numbers."""
        return 0

    def reduce(self, shape):
        """The state of a block of rows, from its `Shape`."""
        return State(*getattr(shape, self.primitive)())

    def finish(self, state, sample):
        """`Outcome` from the merged state of all rows."""
        raise NotImplementedError

    def through_scale(self, importances, rows, scale):
        """What the scale adds to the influences (unscaled); 0: it is held fixed.

        A scale that is Var f of the same rows adds -U / Var f times its own influences.

        Parameters
        ----------
        importances : ndarray of shape (..., n_outputs)
            U / Var f.
        rows : Rows
        scale : ndarray of shape (n_outputs,)

        Returns
        -------
        ndarray of shape (..., n_outputs, n_rows) or float
        """
        if not self.uses_squares:
            return 0.0
        squares = rows.squared_deviations - scale[:, np.newaxis]
        return -importances[..., np.newaxis] * squares


class RowMean(Reduction):
    """Mean over rows of each row's own contribution, with a donor part.

    The influence of a row is its projection as evaluated row plus `donor_factor`
    times its projection as donor.
    """

    needs = "order"
    merges_rows = True
    donor_factor = 0

    def finish(self, state, sample):
        theta, psi = self.projected(state.rows, state.cells, sample)
        importances = theta[..., 0] / sample.scale
        psi += self.through_scale(importances, sample.rows, sample.scale)
        return sample.finished(importances, psi, state.rows)

    def projected(self, rows, cells, sample):
        """Means of numbers of the rows, (b, o, 1), and the influences (b, o, i)."""
        theta = np.matmul(rows, sample.weights[..., np.newaxis])
        psi = rows - theta
        if self.donor_factor and sample.cells.codes is not None:
            # (r_i - theta) + c (d_i - theta)
            psi += self.donor_factor * sample.as_donors(rows, cells)
        return theta, psi


@dataclass(frozen=True)
class Pairs(RowMean):
    """Mean over rows of the Gini mean difference of the row's curve (Huh & Lee)."""

    primitive = "pairs"
    n_moves = 2
    donor_factor = 2


@dataclass(frozen=True)
class Observed(RowMean):
    """Mean distance of moved and unmoved response, equation 2 of Lemaire & Clérot."""

    primitive = "distances"
    donor_factor = 1


@dataclass(frozen=True)
class Range(RowMean):
    """Mean over rows of the largest minus the smallest response (Clementine)."""

    def reduce(self, shape):
        lowest, highest = shape.extremes()
        return State(highest - lowest)


@dataclass
class State:
    """What a reduction keeps of the rows seen so far.

    Attributes
    ----------
    rows : ndarray of shape (n_features, n_outputs, n_rows) or None
        Each row's own mean contribution.
    cells : ndarray of shape (n_features, n_outputs, n_cells) or None
        Weighted sums over the rows, one per cell.
    sketch : ndarray of shape (n_features, n_outputs, n_groups, n_cells) or None
        Signed sums over the rows of each group, one per cell.
    basis : ndarray of shape (n_features, n_outputs, n_functions, n_cells) or None
        Where the curves are sums of a few functions of the cell: `sketch` is then
        (n_features, n_outputs, n_groups, n_functions) and sketch @ basis is meant.
        The same for all rows.
    apart : ndarray of shape (n_features, n_outputs, n_rows, n_cells) or None
        Each row's moved curve, instead of a sketch; perhaps over the basis.
    cell_of_value : ndarray of shape (n_values,) or None
        The cell of each grid value, where one cell holds several; None: its own.
    """

    rows: np.ndarray | None = None
    cells: np.ndarray | None = None
    sketch: np.ndarray | None = None
    basis: np.ndarray | None = None
    apart: np.ndarray | None = None
    cell_of_value: np.ndarray | None = None

    def on_cells(self):
        """The state with its sums over the cells, from one over a basis."""
        if self.basis is None:
            return self
        sketch, apart = (
            None if sums is None else np.matmul(sums, self.basis)
            for sums in (self.sketch, self.apart)
        )
        return replace(self, sketch=sketch, apart=apart, basis=None)
