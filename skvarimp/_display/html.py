"""Tables with bars for notebooks: importances, comparisons, refits, selections."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from sklearn.utils import estimator_html_repr

from skvarimp._display.drawing import ends_by_name

# Where scikit-learn's notebook view finds the page of a class.
DOCUMENTATION = (
    "https://skvarimp.readthedocs.io/en/stable/generated/"
    "{estimator_module}.{estimator_name}.html"
)

MOST_ROWS, LINES = 20, "lines: 95% intervals"

_STYLE = """<style>
.skvarimp {font-family: sans-serif; font-size: 90%}
.skvarimp table {border-collapse: collapse; margin: 0.5em 0}
.skvarimp th, .skvarimp td {padding: 0.15em 0.7em; text-align: right; border: none}
.skvarimp th[colspan] {text-align: left}
.skvarimp th:first-child, .skvarimp td:first-child {
  text-align: left; max-width: 22em; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap}
.skvarimp .track {position: relative; width: 14em; height: 1em; padding: 0;
  border-left: 0.7em solid transparent}
.skvarimp .bar, .skvarimp .interval {position: absolute; display: block}
.skvarimp .bar {top: 15%; height: 70%; background: #4878a8}
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
    how = [getattr(measure, name, None) for name in ("estimation_", "response_path_")]
    note = escape(", ".join(str(part) for part in how if part))
    values, errors = measure.importances_, measure.standard_errors_
    columns = [_Numbers("importance", values)]
    if errors is not None:
        columns.append(_Numbers("standard error", errors, values))
    columns.append(_bars(measure._quantity(), values, *measure._ends()))
    columns.append(_Texts("rank", measure.ranking_))
    table = _table(measure.entry_names_, measure.ranking_, columns)
    return _page_of(measure, note, table)


def comparison_html(table):
    """Models side by side under each measure, with one row per entry.

    Parameters
    ----------
    table : Comparison
        All of it.
    """
    names, of_measures = [*map(str, table.index)], {}
    for label, (model, measure) in table.labels.items():
        ends = ends_by_name(table.fitted[label], names)
        bars = table[label].to_numpy(dtype=np.float64), *ends.T
        of_measures.setdefault(measure, {})[model] = bars
    columns = [
        _Bars(measure, list(of_models), *np.stack([*of_models.values()], axis=-1))
        for measure, of_models in of_measures.items()
    ]
    return _page("Comparison", LINES, _table(names, np.arange(len(names)), columns))


def leave_out_html(found, lower, upper):
    """What is lost without each entry, as a table with bars.

    Parameters
    ----------
    found : LeaveOutImportances
    lower, upper : ndarray of shape (n_entries,)
        Ends of the intervals.
    """
    values = found.importances
    columns = [
        _Numbers("importance", values),
        _Numbers("standard error", found.standard_errors, values),
        _Numbers("p", found.pvalues, digits=3),
        _bars("increase of the held-out loss", values, lower, upper),
        _Texts("rank", found.ranking),
    ]
    note = f"{found.baseline:.4g} with all columns, and the increase without each entry"
    table = _table(found.entry_names, found.ranking, columns)
    return _page("Held-out loss", note, table)


def folds_html(found):
    """Importances over folds, with lines from the lowest to the highest.

    Parameters
    ----------
    found : FoldImportances
    """
    values, ranks = found.importances, found.ranks
    columns = [
        _Numbers("mean", found.mean),
        _Numbers("standard deviation", found.sd, found.mean),
        _bars("mean over folds", found.mean, values.min(axis=0), values.max(axis=0)),
        _Texts("best rank", [f"{rank:g}" for rank in ranks.min(axis=0)]),
        _Texts("worst rank", [f"{rank:g}" for rank in ranks.max(axis=0)]),
    ]
    note = f"{len(values)} folds; lines: lowest to highest fold"
    table = _table(found.entry_names, found.ranking, columns)
    return _page("Importances over folds", note, table)


def null_html(found):
    """Importances beside those for shuffled targets, with their p-values.

    Parameters
    ----------
    found : NullImportances
    """
    values, n_shuffled = found.importances, len(found.null)
    band = np.full((2, len(values)), np.nan)
    if n_shuffled:
        band = np.quantile(found.null, [0.025, 0.975], axis=0)
    columns = [
        _Numbers("importance", values),
        _bars("bars: true y, lines: shuffled", values, *band),
        _Numbers("p", found.pvalues, digits=3),
        _Numbers("family-wise p", found.familywise_pvalues, digits=3),
        _Texts("rank", found.ranking),
    ]
    note = f"{n_shuffled} shuffled targets; lines: 95% of their importances"
    table = _table(found.entry_names, found.ranking, columns)
    return _page("Importances and noise", note, table)


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
class _Texts:
    """A column of texts."""

    heading: str
    texts: Sequence[object]

    below = ("",)

    def cells(self, shown):
        return [f"<td>{self.texts[e]}</td>" for e in shown]


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers, with the decimal places of the largest of some others."""

    heading: str
    values: np.ndarray
    like: np.ndarray | None = None
    digits: int | None = None

    below = ("",)

    def cells(self, shown):
        digits = self.digits
        if digits is None:
            digits = _places(self.values if self.like is None else self.like)
        return [f"<td>{self.values[e]:.{digits}f}</td>" for e in shown]


@dataclass(frozen=True)
class _Bars:
    """Columns of bars on one scale, (n_entries, n_columns), with lines.

    Several columns have names below their heading, and numbers beside the bars.
    """

    heading: str
    below: Sequence[str]
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def cells(self, shown):
        values = self.values[shown]
        ends = [np.where(np.isnan(e), self.values, e) for e in (self.lower, self.upper)]
        low, high = (np.nan_to_num(end[shown]) for end in ends)
        left = min(0.0, low.min(initial=0.0), np.nanmin(values, initial=0.0))
        right = max(0.0, high.max(initial=0.0), np.nanmax(values, initial=0.0))
        width = (right - left) or 1.0

        def across(begin, end, kind):
            begin, end = sorted([begin, end])
            place = f"left: {100 * (begin - left) / width:.1f}%"
            place += f"; width: {100 * (end - begin) / width:.1f}%"
            return f'<span class="{kind}" style="{place}"></span>'

        def cell(value, begin, end):
            bar = "" if np.isnan(value) else across(0.0, value, "bar")
            bar += across(begin, end, "interval") if begin < end else ""
            number = f"<td>{value:.{digits}f}</td>" if any(self.below) else ""
            return f'{number}<td class="track">{bar}</td>'

        digits = _places(self.values)
        return ["".join(map(cell, *of_row)) for of_row in zip(values, low, high)]


def _bars(heading, values, lower, upper):
    """One column of bars."""
    return _Bars(heading, [""], *(x[:, np.newaxis] for x in (values, lower, upper)))


def _places(values):
    """Decimal places that show four digits of the largest value."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return int(np.clip(3 - np.floor(np.log10(largest)), 0, 8)) if largest else 3


def _table(names, ranks, columns):
    """A table with a row for each of the first entries.

    Parameters
    ----------
    names : list of str
    ranks : ndarray of shape (n_entries,)
    columns : list of _Texts, _Numbers and _Bars
    """
    order = np.argsort(ranks, kind="stable")
    shown = order[:MOST_ROWS]
    grouped = any(name for column in columns for name in column.below)
    head = "<th>entry</th>"
    for column in columns:
        across = f" colspan={2 * len(column.below)}" if grouped else ""
        head += f"<th{across}>{escape(column.heading)}</th>"
    if grouped:
        below = [escape(name) for column in columns for name in column.below]
        below = "".join(f"<th colspan=2>{name}</th>" for name in below)
        head += f"</tr><tr><th></th>{below}"
    rows = []
    for e, *cells in zip(shown, *(column.cells(shown) for column in columns)):
        name = escape(str(names[e]))
        rows.append(f'<tr><td title="{name}">{name}</td>{"".join(cells)}</tr>')
    more = len(order) - len(shown)
    rest = f"<div>and {more} more</div>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{rest}"
