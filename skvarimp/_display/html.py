"""Tables with bars for notebooks: fitted importances, comparisons, selections."""

from html import escape

import numpy as np
from sklearn.utils import estimator_html_repr

# Where scikit-learn's notebook view finds the page of a class.
DOCUMENTATION = (
    "https://skvarimp.readthedocs.io/en/stable/generated/"
    "{estimator_module}.{estimator_name}.html"
)

MOST_ROWS = 20

_STYLE = """<style>
.skvarimp {font-family: sans-serif; font-size: 90%}
.skvarimp table {border-collapse: collapse; margin: 0.5em 0}
.skvarimp th, .skvarimp td {padding: 0.15em 0.7em; text-align: right; border: none}
.skvarimp th:first-child, .skvarimp td:first-child {
  text-align: left; max-width: 22em; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap}
.skvarimp .track {position: relative; width: 14em; height: 1em; padding: 0}
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
    errors = measure.standard_errors_
    further = {} if errors is None else {"standard error": errors}
    return _page_of(measure, note, _table_of(measure, further))


def comparison_html(fitted):
    """Measures side by side, one table with bars each.

    Parameters
    ----------
    fitted : dict
        ``model/measure`` -> fitted BaseImportance.
    """
    tables = "".join(
        f'<div style="display: inline-block; vertical-align: top; margin-right: 2em">'
        f"<b>{escape(label)}</b>"
        f"{_table_of(measure, {})}</div>"
        for label, measure in fitted.items()
    )
    return _page("Comparison", "", tables)


def leave_out_html(found, lower, upper):
    """What is lost without each entry, as a table with bars.

    Parameters
    ----------
    found : LeaveOutImportances
    lower, upper : ndarray of shape (n_entries,)
        Ends of the intervals.
    """
    further = {"standard error": found.standard_errors, "p": found.pvalues}
    columns = found.ranking, found.importances, further, lower, upper
    note = f"{found.baseline:.4g} with all columns, and the increase without each entry"
    return _page("Held-out loss", note, _table(found.entry_names, *columns))


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


def _table_of(measure, further):
    """The table of a fitted measure, with intervals where it has errors."""
    values, ends = measure.importances_, measure._ends()
    return _table(measure.entry_names_, measure.ranking_, values, further, *ends)


def _table(names, ranks, values, further, lower, upper):
    """The importances, a bar and the rank of each entry, most important first.

    Parameters
    ----------
    names : list of str
    ranks : ndarray of shape (n_entries,)
    values, lower, upper : ndarray of shape (n_entries,)
        The importances and the ends of their intervals.
    further : dict
        Name -> further column of numbers.
    """
    columns = {"importance": values} | further
    order = np.argsort(ranks, kind="stable")
    shown = order[:MOST_ROWS]
    low, high = (np.where(np.isnan(e), values, e)[shown] for e in (lower, upper))
    low, high = np.nan_to_num(low), np.nan_to_num(high)
    left, right = min(0.0, low.min(initial=0.0)), max(0.0, high.max(initial=0.0))
    width = (right - left) or 1.0

    def across(begin, end, kind):
        begin, end = sorted([begin, end])
        place = f"left: {100 * (begin - left) / width:.1f}%"
        place += f"; width: {100 * (end - begin) / width:.1f}%"
        return f'<span class="{kind}" style="{place}"></span>'

    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    digits = int(np.clip(3 - np.floor(np.log10(largest)), 0, 8)) if largest else 3
    head = "".join(f"<th>{name}</th>" for name in ["entry", *columns, "", "rank"])
    rows = []
    for place, e in enumerate(shown):
        cells = "".join(
            f"<td>{of[e]:.{3 if name == 'p' else digits}f}</td>"
            for name, of in columns.items()
        )
        bar = "" if np.isnan(values[e]) else across(0.0, values[e], "bar")
        if low[place] < high[place]:
            bar += across(low[place], high[place], "interval")
        name = escape(str(names[e]))
        rows.append(
            f'<tr><td title="{name}">{name}</td>{cells}'
            f'<td class="track">{bar}</td><td>{ranks[e]}</td></tr>'
        )
    more = len(order) - len(shown)
    rest = f"<div>and {more} more</div>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{rest}"
