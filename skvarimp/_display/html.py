"""Tables with bars for notebooks: importances, comparisons, refits, selections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from sklearn.utils import estimator_html_repr

from skvarimp._display.comparison import by_measure
from skvarimp._display.named_rows import kinds_of_direction

# Where scikit-learn's notebook view finds the page of a class.
DOCUMENTATION = (
    "https://skvarimp.readthedocs.io/en/stable/generated/"
    "{estimator_module}.{estimator_name}.html"
)

MOST_ROWS, LINES = 20, "lines: 95% intervals"
MARKS = {"rising": "▲", "falling": "▼", "both": "◆"}  # of directions

_STYLE = """<style>
.skvarimp {font-family: sans-serif; font-size: 90%; overflow-x: auto}
.skvarimp table {border-collapse: collapse; margin: 0.5em 0}
.skvarimp th, .skvarimp td {padding: 0.15em 0.7em; text-align: right; border: none}
.skvarimp th:not([colspan="1"]) {text-align: left}
.skvarimp th:first-child, .skvarimp td:first-child {
  text-align: left; max-width: 22em; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap}
.skvarimp .track {position: relative; width: 14em; height: 1em; padding: 0;
  border-left: 0.7em solid transparent}
.skvarimp .bar, .skvarimp .interval {position: absolute; display: block}
.skvarimp .bar {top: 15%; height: 70%; background: #0072B2}
.skvarimp .interval {top: 47%; height: 2px; background: currentColor; opacity: 0.6}
.skvarimp summary {cursor: pointer}
</style>"""


def measure_html(measure):
    """A fitted importance as a table with bars, its parameters folded away.

    Parameters
    ----------
    measure : BaseImportance
        Fitted.

    Returns
    -------
    str
        HTML; names are escaped.
    """
    return _page_of(measure, *_note_and_table(measure.result_))


def importances_html(found, title):
    """Importances as a table with bars.

    Parameters
    ----------
    found : Importances
    title : str

    Returns
    -------
    str
        HTML; names are escaped.
    """
    return _page(title, *_note_and_table(found))


def _note_and_table(found):
    notes = [escape(", ".join(found.circumstances.how))]
    values, errors = found.importances, found.standard_errors
    columns, legend = [], ""
    if found.directions is not None:
        columns, legend = _directions(found.directions[:, np.newaxis])
    columns.append(numbers("importance", values))
    if errors is not None:
        columns.append(numbers("standard error", errors, values))
    beside = found._beside().items()
    columns += [texts(heading, written) for heading, written in beside]
    ends, lines = found._lines()
    if np.isfinite(ends).any():
        notes.append(lines)
    columns.append(bars(found.quantity.label, values, *ends))
    columns.append(texts("rank", found.ranking))
    table = _table(found.features, found.ranking, columns)
    return "; ".join(filter(None, [*notes, legend])), table


def comparison_html(comparison):
    """Models side by side under each measure, with one row per feature.

    Parameters
    ----------
    comparison : Comparison
    """
    importances, intervals, directions = by_measure(comparison)
    columns, legend = _directions(directions)
    for measure, of_models in importances.items():
        values = np.column_stack([*of_models.values()])
        ends = np.stack([*intervals[measure].values()], axis=-1)
        lower, upper = ends[:, 0], ends[:, 1]
        columns.append(bars(measure, values, lower, upper, list(of_models)))
    note = "; ".join(filter(None, [LINES, legend]))
    names = comparison.features
    return _page("Comparison", note, _table(names, np.arange(len(names)), columns))


def selector_html(selector):
    """A fitted selector: what is kept, the score, and its parameters folded away.

    Parameters
    ----------
    selector : BackwardEliminationSelector or ForwardSelector
    """
    kept = [escape(str(name)) for name in selector.get_feature_names_out()]
    shown = ", ".join(kept[:MOST_ROWS])
    if len(kept) > MOST_ROWS:
        shown += f" and {len(kept) - MOST_ROWS} more"
    score, best, n_best = selector._kept_and_best
    facts = {
        "kept": f"{selector.n_features_} of {len(selector.support_)}",
        "score": f"{score:.4g}",
        "best score": f"{best:.4g} with {n_best} columns",
    }
    rows = "".join(f"<tr><td>{k}</td><td>{v}</td></tr>" for k, v in facts.items())
    return _page_of(selector, shown, f"<table>{rows}</table>")


def _page_of(estimator, note, table):
    """A page about an estimator, with its parameters folded away."""
    folded = f"<summary>Parameters</summary>{estimator_html_repr(estimator)}"
    return _page(type(estimator).__name__, note, f"{table}<details>{folded}</details>")


def _page(title, note, body):
    note = f"<div>{note}</div>" if note else ""
    head = f'{_STYLE}<div class="skvarimp"><div><b>{escape(title)}</b></div>{note}'
    return f"{head}{body}</div>"


@dataclass(frozen=True)
class Column:
    """A column of a table, or several under one heading.

    Attributes
    ----------
    heading : str
    cells : callable
        Feature -> HTML of its cells.
    below : sequence of str, default=("",)
        Headings of single columns.
    n_cells : int, default=1
        Cells of each of them.
    """

    heading: str
    cells: Callable[[int], str]
    below: Sequence[str] = ("",)
    n_cells: int = 1


def texts(heading, given):
    """A column of texts."""
    return Column(heading, lambda e: f"<td>{given[e]}</td>")


def numbers(heading, values, like=None):
    """Numbers with the decimal places of the largest, or of the largest of others."""
    digits = _places(values if like is None else like)
    return Column(heading, lambda e: f"<td>{values[e]:.{digits}f}</td>")


def bars(heading, values, lower, upper, below=("",)):
    """Bars on one scale, with lines.

    Several columns of bars have names below their heading, and numbers beside the bars.

    Parameters
    ----------
    heading : str
    values, lower, upper : ndarray of shape (n_features,) or (n_features, n_columns)
    below : list of str, default=("",)
        Names of the columns.
    """
    digits, n_cells = _places(values), 1 + any(below)
    ends = [np.where(np.isnan(e), values, e) for e in (lower, upper)]
    low, high = (np.nan_to_num(end) for end in ends)
    finite = [of_one[np.isfinite(of_one)] for of_one in (*ends, np.asarray(values))]
    left = min(0.0, *(of_one.min(initial=0.0) for of_one in finite))
    right = max(0.0, *(of_one.max(initial=0.0) for of_one in finite))
    width = (right - left) or 1.0

    def across(begin, end, kind):
        begin, end = np.clip(sorted([begin, end]), left, right)  # of infinite ones
        place = f"left: {100 * (begin - left) / width:.1f}%"
        place += f"; width: {100 * (end - begin) / width:.1f}%"
        return f'<span class="{kind}" style="{place}"></span>'

    def cell(value, begin, end):
        bar = "" if np.isnan(value) else across(0.0, value, "bar")
        bar += across(begin, end, "interval") if begin < end else ""
        number = f"<td>{value:.{digits}f}</td>" if n_cells > 1 else ""
        return f'{number}<td class="track">{bar}</td>'

    def cells(e):
        of_feature = (np.atleast_1d(part[e]) for part in (values, low, high))
        return "".join(map(cell, *of_feature))

    return Column(heading, cells, below, n_cells)


def _directions(directions):
    """A column of marks, where there are any, and what they mean.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_models)
    """
    kinds = kinds_of_direction(directions)
    if not kinds.any():
        return [], ""
    marks = [f'<span title="{kind}">{MARKS.get(kind, "")}</span>' for kind in kinds]
    legend = ", ".join(f"{mark} {kind}" for kind, mark in MARKS.items())
    return [texts("", marks)], legend


def _places(values):
    """Decimal places that show four digits of the largest value."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return int(np.clip(3 - np.floor(np.log10(largest)), 0, 8)) if largest else 3


def _table(names, ranks, columns):
    """A table with a row for each of the first features.

    Parameters
    ----------
    names : list of str
    ranks : ndarray of shape (n_features,)
    columns : list of Column
    """
    order = np.argsort(ranks, kind="stable")
    head, below = "<th>feature</th>", "<th></th>"
    for column in columns:
        across = column.n_cells * len(column.below)
        head += f"<th colspan={across}>{escape(column.heading)}</th>"
        for name in column.below:
            below += f"<th colspan={column.n_cells}>{escape(name)}</th>"
    if any(name for column in columns for name in column.below):
        head += f"</tr><tr>{below}"
    rows = []
    for e in order[:MOST_ROWS]:
        name, cells = escape(str(names[e])), "".join(c.cells(e) for c in columns)
        rows.append(f'<tr><td title="{name}">{name}</td>{cells}</tr>')
    more = len(order) - len(rows)
    rest = f"<div>and {more} more</div>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{rest}"
