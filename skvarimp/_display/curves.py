"""`CurvesDisplay`: partial dependence curves side by side; draws with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.statistics import t_quantile
from skvarimp._display.drawing import (
    DIVERGING,
    add_legend,
    axes_for,
    check_choice,
    check_count,
    check_has,
    counted,
    drawable,
    fit_labels,
    ink,
    n_columns,
    not_shown,
    plain,
    powers,
    size_texts,
    too_large,
    with_fitting_text,
    with_halo,
    write_key,
)
from skvarimp._display.panels import (
    draw_averages,
    draw_rows,
    draw_surface,
    interaction_part,
    title_of,
)
from skvarimp._display.texts import line_inches, points

MOST, AVERAGE = 9, 1.5  # panels by default; points of the lines of averages
# The least inches of a panel of curves or of a surface, at 10 points.
OF_CURVES, OF_SURFACE = np.array([1.5, 2.0]), np.array([2.3, 2.2])
LABEL, N_LINES = "partial dependence", 4  # lines of text below all panels


@dataclass(eq=False, repr=False)
class CurvesDisplay:
    """Partial dependence curves, one panel per feature, on one vertical scale.

    A numeric feature is drawn as a line, with ticks above the axis at the deciles of
    its observed values. A categorical feature is drawn as one point per level, also of
    single rows. If values are missing, a square to the right of the line shows the
    prediction there. Intervals are drawn as a band, or as a line at each level.

    Parameters
    ----------
    curves : list of (str, ndarray, ndarray)
        Title, grid of shape (n_cells,), and averages of shape (n_cells, n_outputs).
    output_names : list of str
        Names of the outputs.
    deciles : dict, default=None
        Title -> values to mark on the axis.
    individual : dict, default=None
        Title -> (values of shape (k,), responses of shape (n_rows, k, n_outputs)),
        single rows' curves drawn behind the averages.
    intervals : dict, default=None
        Title -> lower and upper ends of shape (2, n_cells, n_outputs). They are not
        drawn beside single rows' curves, nor if curves are centred.
    surfaces : list of ((str, str), ndarray, ndarray, ndarray), default=()
        Names of two features, their values, and averages of shape (n_first, n_second,
        n_outputs), drawn as colours.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The panels drawn.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.

    Examples
    --------
    >>> from skvarimp import CurvesDisplay
    >>> curve = ("age", [20.0, 40.0, 60.0], [[1.0], [2.0], [2.5]])
    >>> CurvesDisplay([curve], ["y"]).plot().axes_[0].get_xlabel()
    'age'
    """

    curves: Sequence[tuple[str, ArrayLike, ArrayLike]]
    output_names: Sequence[str]
    deciles: Mapping[str, ArrayLike] | None = None
    individual: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None
    intervals: Mapping[str, ArrayLike] | None = None
    surfaces: Sequence[tuple[tuple[str, str], ArrayLike, ArrayLike, ArrayLike]] = ()

    @classmethod
    def from_importance(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the curves of a fitted importance, the least flat first.

        Groups of columns have no single axis to be drawn on and are left out.

        Parameters
        ----------
        importance : PartialDependenceImportance or ALEImportance
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CurvesDisplay
            Holds `axes_` and `figure_`.
        """
        check_has(importance, "curves_", "a PartialDependenceImportance")
        curves = []
        for e in np.argsort(importance.ranking_):
            name = importance.features_[e]
            grid, averages = importance.curves_.get(name, (np.empty((0, 2)), None))
            if grid.ndim == 1:
                curves.append((name, grid, averages.reshape(len(grid), -1)))
        if not curves:
            raise ValueError(
                "There is no curve to draw: every feature is a group of columns. Read "
                "`curves_`, or fit with single columns as `features`."
            )
        given = curves, _outputs(importance), importance.deciles_
        individual = getattr(importance, "individual_curves_", None)
        intervals, reach = {}, t_quantile(0.975, importance.result_.degrees_of_freedom)
        known = getattr(importance, "curve_errors_", None) or {}
        for name, _, averages in curves if known else []:
            errors = reach * _filled(known[name].reshape(averages.shape))
            intervals[name] = averages - errors, averages + errors
        return cls(*given, individual, intervals).plot(**kwargs)

    @classmethod
    def from_surfaces(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the surfaces of a `PartialDependenceImportance` fitted with `pairs`.

        Parameters
        ----------
        importance : PartialDependenceImportance
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CurvesDisplay
            Holds `axes_` and `figure_`.
        """
        check_has(importance, "surfaces_", "a PartialDependenceImportance with `pairs`")
        surfaces = [
            (names, first, second, averages.reshape(len(first), len(second), -1))
            for names, (first, second, averages) in importance.surfaces_.items()
        ]
        given = [], _outputs(importance), importance.deciles_
        return cls(*given, surfaces=surfaces).plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Any = None,
        *,
        ylabel: str = LABEL,
        max_features: int | None = None,
        kind: Literal["both", "average", "individual"] = "both",
        centred: bool = False,
        band: float | None = None,
        effect: Literal["joint", "interaction"] = "joint",
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the curves, then the surfaces.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw into, at least one per panel; None makes a figure.
        ylabel : str, default="partial dependence"
            Label of the vertical axes of curves, and of the colours of surfaces.
        max_features : int, default=None
            The most curves, and the most surfaces, that are drawn. None: 9, or as many
            as fit into `figsize`. Each output has its own surface.
        kind : {"both", "average", "individual"}, default="both"
            Which curves are drawn: the averages, those of single rows, or whichever
            of both there are.
        centred : bool, default=False
            Whether every curve starts at 0: its first value is subtracted. Rows whose
            curves differ in shape, because of interactions, then stand out from rows
            whose curves differ only in level.
        band : float, default=None
            Share of the rows, such as 0.8. A band between two quantiles that holds
            this share is drawn instead of the curves of single rows.
        effect : {"joint", "interaction"}, default="joint"
            What surfaces show: the averages, or the interaction, which is what is left
            after the means along both axes are subtracted (0 for additive effects).
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.

        Returns
        -------
        display : CurvesDisplay
            This object.
        """
        self._check_asked(kind, band, effect)
        columns, fit = _grid(figsize, OF_SURFACE if self.surfaces else OF_CURVES)
        most = fit if max_features is None else max_features
        n_outputs = len(self.output_names)
        check_count("max_features", most)
        curves, surfaces = self.curves[:most], self.surfaces[:most]
        if max_features is None and figsize is not None:  # the panels are to fit
            surfaces = surfaces[: max(1, most // max(n_outputs, 1))]
        n_all, own_figure = len(self.curves) + len(self.surfaces), ax is None
        panels = [(s, o) for s in surfaces for o in range(n_outputs)]
        n = len(curves) + len(panels)
        if n == 0:
            raise ValueError("`curves` is empty: there is nothing to draw.")
        if n_outputs == 1 and self.output_names[0] != "y":
            ylabel = f"{ylabel}, {self.output_names[0]}"
        drawn = [self._drawn(curve, kind, centred, band) for curve in curves]
        below = 0.2 + N_LINES * line_inches()
        size = 3.2 * min(n, columns) + 0.4, 2.5 * -(-n // columns) + below
        self.axes_ = axes_for(ax, n, figsize, size, title, columns)
        self.figure_, notes = self.axes_[0].figure, []
        if drawn:
            notes += self._draw_curves(drawn, band)
            beside = n_columns(self.axes_[0])
            for k, one in enumerate(self.axes_[: len(drawn)]):
                if k % beside == 0:
                    one.set_ylabel(f"{ylabel}\n(centred)" if centred else ylabel)
                elif own_figure:  # the scale is that of the first of its row
                    one.tick_params(labelleft=False)
        if panels:
            axes = self.axes_[len(curves) : n]
            notes += self._draw_surfaces(axes, panels, effect, ylabel)
        what = "features" if self.curves else "pairs"
        notes += not_shown(n_all - len(curves) - len(surfaces), n_all, what)
        of_panels = [curve[2] for curve in curves] + [s[3] for s in surfaces]
        largest = [np.fmax.reduce(np.abs(averages), None) for averages in of_panels]
        notes += too_large(largest, what)
        unknown = np.count_nonzero(np.isnan(largest))
        if unknown:
            notes.append(counted(unknown, len(largest), "panels", "without a value"))
        with_averages = bool(drawn) and kind != "individual"
        if own_figure:  # labels have the room that is left
            self._write(notes, own_figure, with_averages)
            fit_labels(self.figure_.axes)
        else:  # the key is below them
            fit_labels(self.axes_[:n])
            self._write(notes, own_figure, with_averages)
        return self

    def _write(self, notes, own_figure, with_averages):
        """Names of several outputs, and notes: below the figure or the first axes."""
        first, names, text = self.axes_[0], [*map(str, self.output_names)], None
        self.key_ = None
        if own_figure and notes:
            text = "\n".join(notes)
        elif notes:
            self.key_ = write_key(first, notes)
        if with_averages and len(names) > 1:
            lines = first.get_lines()[: 2 * len(names) : 2]
            add_legend(first, own_figure, lines, names, heading=text)
        elif text:
            self.key_ = self.figure_.supxlabel(text, fontsize="small", color=ink(0.65))

    def _check_asked(self, kind, band, effect):
        check_choice("kind", kind, ["both", "average", "individual"])
        check_choice("effect", effect, ["joint", "interaction"])
        if band is not None and not 0 < band < 1:
            raise ValueError(f"`band` must lie between 0 and 1, got {band!r}.")
        if (band is not None or kind == "individual") and not self.individual:
            raise ValueError(
                "There are no single rows' curves to draw. Fit "
                "PartialDependenceImportance(kind='individual')."
            )

    def _drawn(self, curve, kind, centred, band):
        """Name, grid, averages, ends, and values and responses of rows or of a band."""
        name, grid, averages = curve
        shape = (len(grid), len(self.output_names))
        averages = drawable(averages, shape, f"curves of {name!r}")
        nothing = np.empty(0), np.empty((0, 0, len(self.output_names)))
        values, rows = map(np.asarray, (self.individual or {}).get(name, nothing))
        rows = drawable(rows, rows.shape, f"individual of {name!r}")
        ends = np.empty((0, *shape))
        if self.intervals and not len(rows) and not centred:
            ends = drawable(self.intervals[name], (2, *shape), f"intervals of {name!r}")
        if not np.any(ends[1:] - ends[:1] > 1e-9 * np.abs(averages)):  # rounding of 0
            ends = ends[:0]
        if kind == "average":
            rows = rows[:0]
        elif kind == "individual":
            averages = averages[:, :0]
        if centred:
            averages = averages - averages[:1]
            rows = rows - rows[:, :1]
        if band is not None and len(rows):
            rows = np.quantile(rows, [(1 - band) / 2, (1 + band) / 2], axis=0)
        return name, np.asarray(grid), averages, ends, values, rows

    def _marks(self, name):
        """Deciles of a feature, empty where they are not known; None of levels."""
        return [] if self.deciles is None else self.deciles.get(name)

    def _draw_curves(self, drawn, band):
        """Draw all panels on one scale; lines that say what their marks are."""
        limits, notes, marked = _limits(drawn), {}, set()
        for ax, (name, grid, averages, ends, values, rows) in zip(self.axes_, drawn):
            marks = self._marks(name)
            places, as_levels = draw_averages(ax, name, grid, averages, ends, marks)
            if len(rows) and band is None:  # averages are seen among the rows
                with_halo(ax.get_lines(), AVERAGE)
            shown = [k for k, value in enumerate(values.tolist()) if value in places]
            at = [places[values.tolist()[k]] for k in shown]
            draw_rows(ax, at, rows[:, shown], band is not None, as_levels)
            ax.set_ylim(limits)
            if rows.size:
                what = f"band: {band:.0%} of rows" if band else "thin: single rows"
                notes[what] = True
            if ends.size:
                marked.add("lines" if as_levels else "bands")
            if np.size(marks):
                notes["ticks: deciles"] = True
        if marked:
            notes[f"{' and '.join(sorted(marked))}: 95% intervals"] = True
        return [", ".join(notes)] if notes else []

    def _draw_surfaces(self, axes, panels, effect, label):
        """Draw all panels on one scale of colours; what their marks are."""
        surfaces = []
        for (names, first, second, given), _ in panels:
            shape = (len(first), len(second), len(self.output_names))
            surfaces.append(drawable(given, shape, f"surfaces of {names!r}"))
        if effect == "interaction":
            surfaces = [interaction_part(surface) for surface in surfaces]
        low, high = _ends(surfaces)
        style = {"cmap": "cividis", "vmin": low, "vmax": high}
        if effect == "interaction":
            largest, label = max(high, -low), label.replace(LABEL, "interaction")
            style = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
        for ax, ((names, first, second, _), o), surface in zip(axes, panels, surfaces):
            marks = [self._marks(name) for name in names]
            values = np.asarray(first), np.asarray(second)
            mesh = draw_surface(ax, names, values, surface[:, :, o], marks, style)
            title = title_of(ax, names)
            if len(self.output_names) > 1:
                title += f"\n{self.output_names[o]}"
            plain([ax.set_title(title, fontsize="small")])
        bar = self.figure_.colorbar(
            mesh, ax=list(axes), label=label, shrink=0.9, format=powers()
        )
        size_texts(bar.ax)
        known = any(
            np.size(self._marks(name)) for (names, *_), _ in panels for name in names
        )
        return ["ticks: deciles"] if known else []


def _outputs(importance):
    """Names of outputs as read in a picture."""
    names = map(str, importance.output_names_)
    of_classes = importance._watched in ("predict_proba", "decision_function")
    return [f"class {name}" if of_classes else name for name in names]


def _filled(errors):
    """Errors (n_cells, n_outputs), between those known by straight lines."""
    known, cells = ~np.isnan(errors).any(axis=1), np.arange(len(errors))
    between = [np.interp(cells, cells[known], e) for e in errors[known].T]
    return np.column_stack(between)


def _grid(figsize, panel):
    """How many panels stand side by side, and how many are drawn by default."""
    if figsize is None:
        return 3, MOST
    fit = np.array(figsize) / (panel * points() / 10)
    columns, rows = np.clip(fit.astype(int), 1, 3).tolist()
    return columns, columns * rows


def _ends(parts):
    """The smallest and the largest number in several arrays."""
    values = np.concatenate([part.ravel() for part in parts])
    values = values[~np.isnan(values)]
    return (values.min(), values.max()) if len(values) else (0.0, 1.0)


def _limits(drawn):
    """One vertical scale for all panels: flat curves look flat."""
    parts = [part for _, _, *numbers, _, rows in drawn for part in (*numbers, rows)]
    low, high = _ends(parts)
    margin = 0.08 * (high - low) or max(abs(high), 1.0) * 0.1
    return low - 1.5 * margin, high + margin
