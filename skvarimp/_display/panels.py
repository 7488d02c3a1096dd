"""Panels of the response over one feature, or over two as colours."""

import numpy as np

from skvarimp._data.base_table import is_missing
from skvarimp._display.drawing import (
    COLORS,
    cell_inches,
    fill_band,
    hue,
    ink,
    plain,
    thin,
    with_halo,
    write_powers,
)
from skvarimp._display.texts import (
    TextRoom,
    character_inches,
    line_inches,
    points,
    text_inches,
    unique_names,
    wrapped,
)
from skvarimp._display.times import as_times, on_axis

LINE_STYLES = ["-", "--", ":", "-."]  # once the colours are used up
DATE = 6  # characters of the name of a date, with room beside it
MOST_LEVELS = 12  # that are named at an axis
OF_AXES, OF_NAMES = 0.65, 0.35  # of a panel's width or height: its axes, and names
ROWS_DRAWN = 25  # single rows' curves


def draw_averages(ax, name, grid, averages, ends, marks):
    """Draw mean curves of one feature and their intervals, or its axis alone.

    Parameters
    ----------
    ax : matplotlib Axes
    name : str
    grid : ndarray of shape (n_cells,)
    averages : ndarray of shape (n_cells, n_outputs)
    ends : ndarray of shape (2 or 0, n_cells, n_outputs)
    marks : array-like or None
        Deciles of the feature; None: its values are levels.

    Returns
    -------
    places : dict
        Value -> where it stands on the axis.
    as_levels : bool
    """
    missing = np.array([is_missing(value) for value in grid], dtype=bool)
    known = grid[~missing]
    times, numbers = as_times(known), known
    as_levels = times is None and (grid.dtype.kind not in "fiu" or marks is None)
    if times is not None and len(known):
        most = int(_width(ax) / (DATE * character_inches()))
        places, unit = on_axis(ax.xaxis, times, int(np.clip(most, 1, 5)))
        numbers, name = places(known), f"{name} ({unit})" if unit else name
        marks = places(marks) if marks is not None and len(marks) else None
    if as_levels:
        numbers = np.arange(len(known))
    at = np.full(len(grid), _right_of(numbers), dtype=np.float64)
    at[~missing] = numbers
    for o in range(averages.shape[1]):
        color = hue(o)
        line = LINE_STYLES[o // len(COLORS) % len(LINE_STYLES)]
        line = "o" if as_levels or len(known) < 2 else line
        style = {"color": color, "ms": 0.5 * points()}
        ax.plot(numbers, averages[~missing, o], line, **style)
        ax.plot(at[missing], averages[missing, o], "s", **style)
        if len(ends):
            in_band = np.full(len(grid), not as_levels) & ~missing
            band, low, high = at[in_band], *ends[:, in_band, o]
            fill_band(ax, band, low, high, color)
            ax.vlines(at[~in_band], *ends[:, ~in_band, o], color=color, lw=1)
    # where nothing is known about the response, values have their places, too
    ax.update_datalim(np.column_stack([at, np.zeros(len(at))]), updatey=False)
    if times is None or times.dtype.kind == "m":
        write_powers(ax.xaxis)
    write_powers(ax.yaxis)
    if as_levels:
        _name_levels(ax.xaxis, at, grid)
        ax.margins(x=0.15)
    elif missing.any():
        style = {"rotation": 90, "fontsize": "x-small", "color": ink(0.7)}
        style |= {"ha": "center", "va": "bottom", "transform": ax.get_xaxis_transform()}
        ax.text(at[missing][0], 0.06, "missing", **style)
    # ticks up to 4% of the panel's height
    marks = [] if marks is None else marks
    ax.vlines(marks, 0, 0.04, ink(0.7), lw=0.9, transform=ax.get_xaxis_transform())
    ax.set_xlabel(of_width(ax, name))
    ax.spines[["top", "right"]].set_visible(False)
    return dict(zip(known.tolist(), numbers)), as_levels


def draw_rows(ax, at, rows, as_band, as_levels):
    """Rows' curves (n_rows, k, n_outputs) behind the averages, or a band's two ends."""
    for o in range(rows.shape[2] if len(rows) else 0):
        color = hue(o)
        if not as_band:
            some = np.linspace(0, len(rows) - 1, min(len(rows), ROWS_DRAWN))
            curves = rows[np.unique(some.round().astype(np.intp)), :, o]
            style = {"marker": "_", "ls": "none"} if as_levels else {}
            ax.plot(at, curves.T, color=thin(color), lw=0.6, zorder=1, **style)
            continue
        low, high = rows[:, :, o]
        if as_levels:
            ax.vlines(at, low, high, color=thin(color), lw=4, zorder=1)
        else:
            fill_band(ax, at, low, high, color)


def _right_of(at):
    at = at[np.isfinite(at)]
    if len(at) == 0:
        return 0.0
    width = at[-1] - at[0]
    return at[-1] + (0.12 * width if width > 0 else 1.0)


def of_width(ax, name):
    """A name that needs at most two lines of a panel."""
    return wrapped(name, TextRoom(_width(ax), 2))


def title_of(ax, names):
    """The names of two features in lines that fit above their panel."""
    line = TextRoom(_width(ax), 1)
    return wrapped(" and ".join(wrapped(n, line) for n in names), TextRoom(_width(ax)))


def _width(ax):
    """Inches of a line of a panel."""
    return OF_AXES * cell_inches(ax)[0]


def _name_levels(axis, at, levels):
    """Names at the places of levels, of every m-th where there are many.

    Names of a horizontal axis that are longer than their share of it are vertical.
    """
    d = "xy".index(axis.axis_name)
    n, cell, line = len(levels), cell_inches(axis.axes), line_inches()
    beside = OF_AXES * cell[d]  # inches
    missing = [c for c in range(n) if is_missing(levels[c])]
    most = min(MOST_LEVELS, max(2, int(beside / line)))
    every = -(-n // most)
    named = [*range(0, n - len(missing) - every // 2, every), *missing]
    pitch = beside / max(len(named), 1)
    texts = [_text_of(levels[c]) for c in named]
    flat = d == 0 and max(map(text_inches, texts), default=0.0) < 0.9 * pitch
    room = TextRoom(OF_NAMES * cell[1 - d], int(np.clip(pitch / line, 1, 2)))
    axis.set_ticks([at[c] for c in named], texts if flat else unique_names(texts, room))
    plain(axis.get_ticklabels())
    if d == 0 and not flat:
        for tick in axis.get_ticklabels():
            tick.set(rotation=90, linespacing=1.0)


def _text_of(level):
    if is_missing(level):
        return "missing"
    return f"{level:.3g}" if isinstance(level, float) else str(level)


def interaction_part(surface):
    """A surface minus its means along either axis, plus its mean: what does not add up.

    Parameters
    ----------
    surface : ndarray of shape (n_first, n_second, n_outputs)
    """
    first = surface.mean(axis=1, keepdims=True)
    second = surface.mean(axis=0, keepdims=True)
    return surface - first - second + surface.mean(axis=(0, 1), keepdims=True)


def draw_surface(ax, names, values, surface, marks, style):
    """Draw one surface.

    Parameters
    ----------
    ax : matplotlib Axes
    names : (str, str)
        Of the horizontal and the vertical feature.
    values : (ndarray, ndarray)
    surface : ndarray of shape (n_first, n_second)
    marks : (array-like or None, array-like or None)
        Deciles of either feature; None: its values are levels.
    style : dict
        Passed to pcolormesh.

    Returns
    -------
    matplotlib QuadMesh
    """
    edges = []
    sides = (
        (ax.xaxis, ax.vlines, ax.get_xaxis_transform()),
        (ax.yaxis, ax.hlines, ax.get_yaxis_transform()),
    )
    for side, name, of_axis, deciles in zip(sides, names, values, marks):
        axis, lines, along = side
        axis.set_label_text(of_width(ax, name))
        numbers = deciles is not None and of_axis.dtype.kind in "fiu"
        # several numbers, none missing, are drawn to scale
        if numbers and len(of_axis) > 1 and not any(map(is_missing, of_axis)):
            write_powers(axis)
            edges.append(_edges(of_axis.astype(np.float64)))
            with_halo([lines(deciles, 0, 0.03, ink(), lw=0.9, transform=along)])
        else:
            _name_levels(axis, range(len(of_axis)), of_axis)
            edges.append(np.arange(len(of_axis) + 1) - 0.5)
    mesh = ax.pcolormesh(*edges, surface.T, **style)
    ax.set(xlim=edges[0][[0, -1]], ylim=edges[1][[0, -1]])
    return mesh


def _edges(values):
    """Where the cells of ascending values begin and end."""
    return np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
