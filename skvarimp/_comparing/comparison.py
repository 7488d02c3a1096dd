"""`Comparison`: what `compare_importances` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skvarimp._data.frames import frame_of
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.html import comparison_html
from skvarimp._results.importances import Importances
from skvarimp._results.sentences import (
    definition_of,
    lines_of,
    number_texts,
    setting_of,
)
from skvarimp._results.words import capitalized, count, listed
from skvarimp._types import Axes, Frame


@dataclass(eq=False, repr=False)
class Comparison:
    """Importances of several models under several measures, side by side.

    Made by :func:`compare_importances`.

    Parameters
    ----------
    results : dict
        (model, measure) -> `Importances`.
    fitted : dict
        (model, measure) -> fitted measure.
    titles : dict
        Measure -> what its numbers are, for pictures.

    Attributes
    ----------
    features : list of str
        Names of all features, those that matter most to the first model under the first
        measure in front.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, LinearRegression
    >>> from skvarimp import compare_importances
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    >>> models = [LinearRegression().fit(X, [0, 1, 2, 3]), Lasso().fit(X, [0, 1, 2, 3])]
    >>> found = compare_importances(models, X, [0, 1, 2, 3])
    >>> found.results["Lasso", "SensitivityImportance"].ranking
    array([1, 2])
    """

    results: dict[tuple[str, str], Importances]
    fitted: dict[tuple[str, str], Any]
    titles: dict[str, str]

    def __post_init__(self):
        self.features = []
        for found in self.results.values():
            order = np.argsort(found.ranking, kind="stable")
            names = [found.features[e] for e in order]
            self.features += names
        self.features = list(dict.fromkeys(self.features))

    def __repr__(self) -> str:
        n_models = len({model for model, _ in self.results})
        parts = count(n_models, "model"), count(len(self.titles), "measure")
        features = count(len(self.features), "feature")
        return f"<Comparison: {' and '.join(parts)}, {features}; see to_frame()>"

    def _repr_html_(self) -> str:
        return comparison_html(self)

    def to_frame(self, confidence: float = 0.95) -> Frame:
        """Table of all importances.

        Parameters
        ----------
        confidence : float, default=0.95
            Of the intervals.

        Returns
        -------
        frame
            One row per model, measure and feature, and the columns model, measure,
            feature, importance, lower and upper (NaN where no error is known) and rank,
            the most important feature of each model and measure first, in the frame
            library X came in (pandas for arrays).
        """
        table = []
        for (model, measure), found in self.results.items():
            lower, upper = found.ends(confidence)
            for e in np.argsort(found.ranking, kind="stable"):
                row = {"model": model, "measure": measure, "feature": found.features[e]}
                row["importance"] = float(found.importances[e])
                row |= {"lower": float(lower[e]), "upper": float(upper[e])}
                table.append(row | {"rank": int(found.ranking[e])})
        first, *_ = self.results.values()
        names = "model", "measure", "feature", "importance", "lower", "upper", "rank"
        columns = {name: [row[name] for row in table] for name in names}
        return frame_of(columns, first.frame_library)

    def caption(self) -> str:
        """What the numbers are, which models and rows they are of, and what lines are.

        Returns
        -------
        str
            A few sentences for below a figure.
        """
        texts = []
        for measure in self.titles:
            found = {m: of for (m, name), of in self.results.items() if name == measure}
            settings = [f"{setting_of(of)} ({model})" for model, of in found.items()]
            first, *_ = found.values()
            about = f" under {measure}" if len(self.titles) > 1 else ""
            definition = capitalized(definition_of(first))
            texts.append(f"{definition}{about}: {listed(settings)}.")
        lines = [lines_of(found) for found in self.results.values()]
        return " ".join(dict.fromkeys(filter(None, [*texts, *lines])))

    def summary(self, top: int = 5) -> str:
        """A short paragraph on what the models have in common.

        Parameters
        ----------
        top : int, default=5
            How many features are named for each model.

        Returns
        -------
        str
            What was measured, and the most important features of each model with their
            intervals.
        """
        texts = []
        for (model, measure), found in self.results.items():
            order = np.argsort(found.ranking, kind="stable")
            known = order[~np.isnan(found.importances[order])][: int(top)]
            about = f" under {measure}" if len(self.titles) > 1 else ""
            if not len(known):
                texts.append(f"No importance of {model}{about} is known.")
                continue
            numbers = zip(known, number_texts(found, known))
            most = listed(f"{found.features[e]} with {text}" for e, text in numbers)
            texts.append(f"To {model}{about}, what matters most is {most}.")
        for measure in self.titles:
            found = [of for (_, name), of in self.results.items() if name == measure]
            orders = {tuple(of.ranking) for of in found}
            about = f" under {measure}" if len(self.titles) > 1 else ""
            if len(found) > 1 and len(orders) == 1:
                texts.append(f"The order is the same in all models{about}.")
        return f"{self.caption()} {' '.join(texts)}"

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ComparisonDisplay:
        """Draw the models side by side, one panel per measure.

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
        return ComparisonDisplay.from_comparison(self, ax=ax, **kwargs)
