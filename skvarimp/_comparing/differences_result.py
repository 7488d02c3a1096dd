"""What `importance_difference` and `importance_by_cohort` return."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from skvarimp._data.frames import frame_of
from skvarimp._data.statistics import holm
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.ranks import DifferencesDisplay
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
    adjusted,
)
from skvarimp._results.sentences import number_texts, rows_in_words
from skvarimp._results.words import capitalized, count, listed, named
from skvarimp._types import Axes, Floats, Frame

LEVEL = 0.05  # of what a summary calls a difference
NAMED = 6  # cohorts, at most


@dataclass(eq=False, repr=False)
class ImportanceDifferences(Importances):
    """Differences of two importances of the same features, with tests.

    Made by :func:`importance_difference`. The features are ranked by the sizes of their
    differences; `interval` holds for each feature by itself.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        The differences, first minus second.
    p_values : ndarray of shape (n_features,)
        Two-sided p-values of no difference.
    joint_ends : ndarray of shape (2, n_features)
        Ends of intervals that hold for all features together, which `plot` draws.
    compared : tuple of str
        What is compared, in words.
    **kwargs : dict
        Further attributes of :class:`Importances`; `confidence` is that of the
        intervals.

    Notes
    -----
    `to_frame` has the columns feature, difference, standard_error, monte_carlo_error
    (where numbers were drawn), lower, upper, p_value and adjusted_p_value (Holm, over
    the features).

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import ALEImportance, importance_difference
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> old = ALEImportance(keep_rows=True).fit(lambda X: X[:, 0] + X[:, 1], X)
    >>> new = ALEImportance(keep_rows=True).fit(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> importance_difference(new, old).pvalues("holm") < 0.01
    array([ True, False])
    """

    _: KW_ONLY
    p_values: Floats
    joint_ends: Floats
    compared: tuple[str, str]

    _title = "Differences of importances"

    def _ranked(self):
        return np.abs(self.importances)

    def pvalues(self, adjust: Literal["holm", "fdr"] | None = None) -> Floats:
        """Two-sided p-values of no difference.

        Parameters
        ----------
        adjust : {"holm", "fdr"}, default=None
            As in :meth:`Importances.pvalues`.

        Returns
        -------
        ndarray of shape (n_features,)
            1 where the difference is 0; NaN where no error is known.
        """
        return adjusted(self.p_values, adjust)

    def _columns(self, confidence):
        lower, upper = self.ends(confidence)
        columns = {"difference": self.importances}
        columns["standard_error"] = self.standard_errors
        if self.drawing_errors is not None:
            columns["monte_carlo_error"] = self.drawing_errors
        columns |= {"lower": lower, "upper": upper, "p_value": self.pvalues()}
        return columns | {"adjusted_p_value": self.pvalues("holm")}

    def _beside(self):
        return {"adjusted p": [f"{p:.3f}" for p in self.pvalues("holm")]}

    def caption(self) -> str:
        first, second = self.compared
        text = f"{capitalized(self.quantity.definition)}"
        if self.quantity.unit:
            text += f", in {self.quantity.unit}"
        return (
            f"{text}: {first} minus {second}. Lines are {self.confidence:.0%} intervals"
            f"{rows_in_words(self)}; they hold for all features together."
        )

    def summary(self, top: int = 5) -> str:
        first, second = self.compared
        texts = [f"Compared are {first} and {second}."]
        order = np.argsort(self.ranking, kind="stable")
        known = order[~np.isnan(self.importances[order])]
        moved = known[self.importances[known] != 0.0]
        if not len(known):
            return f"{texts[0]} No difference is known."
        if not len(moved):
            return f"{texts[0]} The importance of each feature is the same in both."
        shown = moved[: int(top)]
        numbers = number_texts(self, shown)
        names = [self.features[e] for e in shown]
        text = f"The largest difference is that of {names[0]} with {numbers[0]}"
        others = [f"{name} with {of}" for name, of in zip(names[1:], numbers[1:])]
        if others:
            text += f", followed by {listed(others)}"
        unit = f" (in {self.quantity.unit})" if self.quantity.unit else ""
        texts.append(f"{text}{unit}.")
        pvalues = self.pvalues("holm")
        apart = [self.features[e] for e in known if pvalues[e] <= LEVEL]
        same = [self.features[e] for e in known if pvalues[e] > LEVEL]
        if apart:
            verb = "importance" if len(apart) == 1 else "importances"
            differs = "differs" if len(apart) == 1 else "differ"
            texts.append(
                f"The {verb} of {named(apart)} {differs} (p-values of at most {LEVEL} "
                "after Holm's adjustment)."
            )
        if same:
            texts.append(f"No difference was found for {named(same)}.")
        return " ".join(texts)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> DifferencesDisplay:
        """Draw the differences as points with intervals for all features together.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `DifferencesDisplay.from_differences`.

        Returns
        -------
        display : DifferencesDisplay
            Holds `ax_` and `figure_`.
        """
        return DifferencesDisplay.from_differences(self, ax=ax, **kwargs)


@dataclass(eq=False, repr=False)
class CohortImportances(Importances):
    """Importances of all rows, and of groups of rows.

    Made by :func:`importance_by_cohort`.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Those of all rows.
    by_cohort : dict
        Cohort -> `Importances` of its rows.
    differences : ndarray of shape (n_cohorts, n_features)
        Importance in each cohort minus that of all other rows; NaN for a single cohort.
    p_values : ndarray of shape (n_cohorts, n_features)
        Two-sided p-values of no difference.
    column : str, default=""
        The column whose values are the cohorts, where it is a single one.
    **kwargs : dict
        Further attributes of :class:`Importances`; `confidence` is that of the
        intervals.

    Notes
    -----
    `to_frame` has one row per cohort and feature, and the columns cohort, feature,
    n_samples (rows of positive weight), importance, standard_error, monte_carlo_error
    (where numbers were drawn), lower, upper, difference and p_value, the cohorts in
    sorted order, the most important feature of each first.

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import SensitivityImportance, importance_by_cohort
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> imp = SensitivityImportance(features=[0], scale=None, keep_rows=True)
    >>> imp = imp.fit(lambda X: X[:, 0] * (1 + X[:, 1]), X)
    >>> found = importance_by_cohort(imp, ["a", "a", "b", "b"])
    >>> found.by_cohort["b"].importances
    array([1.])
    """

    _: KW_ONLY
    by_cohort: dict[Any, Importances]
    differences: Floats
    p_values: Floats
    column: str = ""

    _title = "Importances of cohorts"

    def _cohorts_in_words(self):
        """Such as "north", or "region=north" where the column is known."""
        labels = list(self.by_cohort)
        texts = [f"{of:.4g}" if isinstance(of, float) else str(of) for of in labels]
        texts = texts if len(set(texts)) == len(texts) else list(map(str, labels))
        return [f"{self.column}={text}" if self.column else text for text in texts]

    def to_frame(
        self, confidence: float | None = None, per_output: bool = False
    ) -> Frame:
        if per_output:
            return super().to_frame(confidence, per_output)
        table = []
        for c, (cohort, found) in enumerate(self.by_cohort.items()):
            lower, upper = found.ends(confidence)
            numbers = {"importance": found.importances}
            numbers["standard_error"] = found.standard_errors
            if self.drawing_errors is not None:
                drawn = found.drawing_errors  # None: not known of this cohort
                unknown = np.full(len(found.importances), np.nan)
                numbers["monte_carlo_error"] = unknown if drawn is None else drawn
            numbers |= {"lower": lower, "upper": upper}
            numbers |= {"difference": self.differences[c], "p_value": self.p_values[c]}
            for e in np.argsort(found.ranking, kind="stable"):
                row = {"cohort": cohort, "feature": self.features[e]}
                row["n_samples"] = found.circumstances.n_samples
                table.append(row | {key: float(of[e]) for key, of in numbers.items()})
        keys = ["cohort", "feature", "n_samples", *numbers]
        columns = {key: [row[key] for row in table] for key in keys}
        return frame_of(columns, self.frame_library)

    def _beside(self):
        return {
            cohort: number_texts(found, range(len(self.features)), "")
            for cohort, found in zip(self._cohorts_in_words(), self.by_cohort.values())
        }

    def _marks_in_words(self):
        rows = [
            f"{cohort} ({count(found.circumstances.n_samples, 'row')})"
            for cohort, found in zip(self._cohorts_in_words(), self.by_cohort.values())
        ]
        if len(rows) > NAMED:
            rows = [f"{len(rows)} cohorts of rows"]
        return (
            f"Bars are the importances in {listed(rows)}. {super()._marks_in_words()}"
        )

    def _conclusions(self):
        texts, said, cohorts = [], [], self._cohorts_in_words()
        for cohort, found in list(zip(cohorts, self.by_cohort.values()))[:NAMED]:
            order = np.argsort(found.ranking, kind="stable")[:1]
            if len(order) and np.isfinite(found.importances[order[0]]):
                number = number_texts(found, order, "" if texts else None)[0]
                texts.append(f"{self.features[order[0]]} in {cohort} with {number}")
        if texts:
            said.append(
                f"By cohort, the largest importance is that of {listed(texts)}."
            )
        pvalues = holm(np.ravel(self.p_values)).reshape(np.shape(self.p_values))
        apart = [
            f"{self.features[e]} in {cohorts[c]}"
            for c, e in np.argwhere(pvalues <= LEVEL)
        ]
        if apart:
            verb = "differs" if len(apart) == 1 else "differ"
            said.append(
                f"From all other rows {named(apart, noun='pair')} {verb} (p-values of "
                f"at most {LEVEL} after Holm's adjustment)."
            )
        elif np.isfinite(pvalues).any():
            said.append("No cohort was found to differ from all other rows.")
        return said

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ComparisonDisplay:
        """Draw the importances of the cohorts side by side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `ComparisonDisplay.from_cohorts`.

        Returns
        -------
        display : ComparisonDisplay
            Holds `ax_` and `figure_`.
        """
        return ComparisonDisplay.from_cohorts(self, ax=ax, **kwargs)
