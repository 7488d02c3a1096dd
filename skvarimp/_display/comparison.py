"""`ComparisonDisplay`: importances of several models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.bars import DOTS, draw_intervals
from skvarimp._display.drawing import (
    COLORS,
    LARGEST_DRAWN,
    add_legend,
    axes_for,
    check_choice,
    drawable,
    hue,
    with_fitting_text,
)
from skvarimp._display.named_rows import (
    NamedRows,
    check_no_other_names,
    finish_rows,
    mark_directions,
    result_of,
    row_size,
    write_texts,
)

HATCHES = ("", "//", "..", "xx")  # once the colours are used up
MARKERS = "os^D"  # of dots
MOST_BARS, OF_DOTS = 60, 1.2  # bars of a panel; height of a row of dots


@dataclass(eq=False, repr=False)
class ComparisonDisplay(NamedRows):
    """Importances of several models side by side, one panel per measure.

    Parameters
    ----------
    importances : dict
        Measure -> {model -> array of shape (n_features,)}; NaN is not drawn.
    feature_names : sequence of str
        Names of the features.
    intervals : dict, default=None
        Measure -> {model -> array of shape (n_features, 2)}, lower and upper ends,
        drawn as lines; models may be missing.
    directions : array-like of shape (n_features, n_models), default=None
        See `ImportanceDisplay`; a feature whose models differ has a diamond.

    Attributes
    ----------
    axes_ : ndarray of shape (n_measures,)
        The panels, matplotlib Axes.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    bars_ : dict
        (measure, model) -> matplotlib BarContainer, or Line2D of dots.
    errors_ : dict
        (measure, model) -> matplotlib ErrorbarContainer or None.

    See Also
    --------
    compare_importances : Makes the table.
    ImportanceDisplay : One model under one measure.

    Notes
    -----
    Measures have scales of their own, so each has its panel; the models within a
    panel share one. Features are in the order of their mean importance, each column
    divided by its largest.

    Examples
    --------
    >>> from skvarimp import ComparisonDisplay
    >>> bars = {"pairs": {"ridge": [0.2, 0.9], "lasso": [0.0, 1.0]}}
    >>> display = ComparisonDisplay(bars, ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    importances: Mapping[str, Mapping[str, ArrayLike]]
    feature_names: Sequence[str]
    _: KW_ONLY
    intervals: Mapping[str, Mapping[str, ArrayLike]] | None = None
    directions: ArrayLike | None = None

    _in_units, _n_lines = False, 6

    @classmethod
    def from_comparison(cls, comparison: Any, **kwargs: Any) -> Self:
        """Draw what `compare_importances` returned.

        Parameters
        ----------
        comparison : Comparison
            Importances of several models under several measures.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ComparisonDisplay
            The drawn display.
        """
        importances, intervals, directions = by_measure(comparison)
        given = {"intervals": intervals, "directions": directions}
        return cls(importances, comparison.features, **given).plot(**kwargs)

    @classmethod
    def from_outputs(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the outputs of a fitted importance side by side.

        Parameters
        ----------
        importance : measure or Importances
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ComparisonDisplay
            The drawn display.
        """
        found = result_of(importance)
        names, what = [*map(str, found.output_names)], found.quantity.label
        bars = {what: dict(zip(names, found.per_output.T))}
        ends = np.moveaxis(found.ends_per_output(), [2, 1, 0], [0, 1, 2])
        intervals = {what: dict(zip(names, ends))}
        display = cls(bars, found.features, intervals=intervals)
        return display.plot(**kwargs)

    @classmethod
    def from_cohorts(cls, cohorts: Any, **kwargs: Any) -> Self:
        """Draw what `importance_by_cohort` returned, the cohorts side by side.

        Parameters
        ----------
        cohorts : CohortImportances
            Importances of each cohort.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ComparisonDisplay
            The drawn display.
        """
        found = dict(zip(cohorts._cohorts_in_words(), cohorts.by_cohort.values()))
        what = cohorts.quantity.label
        bars = {what: {name: of.importances for name, of in found.items()}}
        ends = {what: {name: of.ends().T for name, of in found.items()}}
        return cls(bars, cohorts.features, intervals=ends).plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Any = None,
        *,
        max_features: int | None = None,
        kind: Literal["auto", "bars", "dots"] = "auto",
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            One per measure; None makes a figure that is large enough.
        max_features : int, default=None
            Features shown, the most important; a note says how many are not. None: 30,
            or as many as fit into `ax` or `figsize`.
        kind : {"auto", "bars", "dots"}, default="auto"
            A bar per model and feature, or the dots of all models on one line per
            feature; "auto": dots from 61 bars in a panel on.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`, or `plot` of dots.

        Returns
        -------
        display : ComparisonDisplay
            This object.
        """
        check_choice("kind", kind, ["auto", "bars", "dots"])
        check_no_other_names(kwargs)
        shape = (len(self.feature_names),)
        columns = {
            (measure, model): drawable(v, shape, f"importances[{measure!r}][{model!r}]")
            for measure, of_measure in self.importances.items()
            for model, v in of_measure.items()
        }
        if not columns:
            raise ValueError("`importances` holds no model's importances to draw.")
        models = list(dict.fromkeys(model for _, model in columns))
        self._share = _mean_share(np.array(list(columns.values())))
        given = [v for of_model in self.importances.values() for v in of_model.values()]
        sizes = np.abs([np.asarray(values, dtype=np.float64) for values in given])
        self._share[np.any(sizes > LARGEST_DRAWN, axis=0)] = np.inf
        of_bars, n_panels = max(1.0, 0.4 + 0.45 * len(models)), len(self.importances)
        least = of_bars if kind == "bars" else OF_DOTS
        names, below, shown = self._chosen(ax, max_features, figsize, least, n_panels)
        many = len(models) * len(shown) > MOST_BARS
        dots = kind == "dots" or (kind == "auto" and many)
        size = row_size(names, OF_DOTS if dots else of_bars, self._n_lines, n_panels)
        axes = axes_for(ax, n_panels, figsize, size, title, n_panels, sharey=True)
        self.axes_ = axes[:n_panels]
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.bars_, self.errors_ = {}, {}
        for panel, measure in zip(self.axes_, self.importances):
            self._panel(panel, measure, models, columns, shown, dots, kwargs)
            finish_rows(panel, names)
        if len(models) > 1:
            by_model = {model: bars for (_, model), bars in self.bars_.items()}
            end = "upper" if title is None else "lower"
            handles = [by_model[model] for model in models]
            add_legend(self.ax_, ax is None, handles, models, end)
        for panel, measure in zip(self.axes_, self.importances):
            panel.set_xlabel(measure)
        if self.directions is not None:
            known = np.asarray(self.directions, dtype=np.float64)[shown]
            below[1:1] = mark_directions(self.ax_, known)
        if any(self.errors_.values()):
            below.insert(1, "lines: 95% intervals")
        self.key_ = write_texts(self.ax_, names, self.axes_, below[1:])
        return self

    def _rows(self, most, room):
        first = next(iter(self.importances))
        return self._largest(self._share, most, room, first)

    def _panel(self, ax, measure, models, columns, shown, dots, kwargs):
        height = (0.5 if dots else 0.8) / len(models)
        for m, model in enumerate(models):
            key = measure, model
            if key not in columns:
                continue
            values = columns[key]
            at = np.arange(len(shown)) + height * (m + 0.5 - 0.5 * len(models))
            drawn, round_ = values[shown], m // len(COLORS)
            style, error_style = {"color": hue(m), "label": model}, {}
            if dots:
                style |= DOTS | {"marker": MARKERS[round_ % len(MARKERS)]}
                self.bars_[key] = ax.plot(drawn, at, **(style | kwargs))[0]
                error_style = {"ecolor": style["color"], "capsize": 0.0}
            else:
                style["hatch"] = HATCHES[round_ % len(HATCHES)]
                style["height"] = 0.92 * height
                self.bars_[key] = ax.barh(at, drawn, **(style | kwargs))
            ends = (self.intervals or {}).get(measure, {}).get(model)
            errors = draw_intervals(ax, at, values, ends, shown, **error_style)
            self.errors_[key] = errors


def _mean_share(columns):
    """Mean over the columns of each column's share of its largest value."""
    largest = np.nanmax(np.abs(columns), axis=1, initial=0.0, keepdims=True)
    shares = np.divide(columns, largest, out=columns, where=largest > 0)
    return np.ma.masked_invalid(shares).mean(axis=0).filled(np.nan)


def by_measure(comparison):
    """What is compared, in panels; NaN where a measure has not all features.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    importances, intervals : dict
        Measure -> {model -> array of shape (n_features,) or (n_features, 2)}.
    directions : ndarray of shape (n_features, n_models)
    """
    place = {name: e for e, name in enumerate(comparison.features)}
    importances, intervals, directions = {}, {}, []
    for (model, measure), found in comparison.results.items():
        numbers = np.full((4, len(place)), np.nan)
        at = [place[name] for name in found.features]
        known = np.full(len(at), np.nan)
        known = known if found.directions is None else found.directions
        numbers[:, at] = [found.importances, *found.ends(), known]
        title = comparison.titles[measure]
        importances.setdefault(title, {})[model] = numbers[0]
        intervals.setdefault(title, {})[model] = numbers[1:3].T
        directions.append(numbers[3])
    return importances, intervals, np.column_stack(directions)
