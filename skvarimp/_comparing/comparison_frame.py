"""The table that `compare_importances` returns; the only module that needs pandas."""

import numpy as np
import pandas as pd

from skvarimp._display.html import comparison_html


class Comparison(pd.DataFrame):
    """Importances, errors and ranks by feature; see `compare_importances`."""

    _metadata = ["fitted", "labels"]  # noqa: RUF012 pandas' form

    @property
    def _constructor(self):
        return Comparison

    @classmethod
    def from_fitted(cls, fitted, labels):
        """Table of fitted measures.

        Parameters
        ----------
        fitted : dict
            ``model/measure`` -> measure.
        labels : dict
            ``model/measure`` -> (model, measure), whose names may hold a "/".

        Returns
        -------
        Comparison
        """
        columns = {}
        for label, measure in fitted.items():
            names = pd.Index(measure.features_, name="feature")
            errors = measure.standard_errors_
            errors = np.nan if errors is None else errors
            columns[label] = pd.Series(measure.importances_, names)
            columns[f"{label}/standard_error"] = pd.Series(errors, names)
            columns[f"{label}/rank"] = pd.Series(measure.ranking_, names)
        table = cls(columns).sort_values(f"{next(iter(fitted))}/rank", kind="stable")
        table.fitted, table.labels = fitted, labels
        return table

    def _repr_html_(self):
        """Bars of the whole table; a part of it is shown as pandas shows it."""
        fitted = getattr(self, "fitted", None) or {}
        features = {name for of in fitted.values() for name in of.features_}
        whole = fitted and self.shape == (len(features), 3 * len(fitted))
        return comparison_html(self) if whole else super()._repr_html_()

    def plot(self, ax=None, **kwargs):
        """Draw the table.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `ComparisonDisplay.from_comparison`.

        Returns
        -------
        display : ComparisonDisplay
            Holds `ax_` and `figure_`.
        """
        from skvarimp._display.comparison import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax, **kwargs)
