"""What a newcomer gets wrong: each mistake has a message of ours, before any work."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

from skvarimp import (
    BackwardEliminationSelector,
    ComparisonDisplay,
    FilterImportance,
    FIRMImportance,
    FoldsDisplay,
    ImpurityImportance,
    InteractionImportance,
    NullDisplay,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp.filters import auc, lowess_r2
from skvarimp.sequence import OligomerVectorizer, PositionalOligomerImportance

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:60, :3], Y.iloc[:60]
LINEAR = LinearRegression().fit(X, Y)
DATES = pd.date_range("2020-01-01", periods=len(Y))

MEASURES_OF_Y = {
    "sensitivity": lambda y: SensitivityImportance().fit(LINEAR, X, y),
    "permutation": lambda y: PermutationImportance().fit(LINEAR, X, y),
    "firm": lambda y: FIRMImportance().fit(None, X, y),
    "lowess": lambda y: FilterImportance(lowess_r2).fit(None, X, y),
    "auc": lambda y: FilterImportance(auc).fit(None, X, y),
}


@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_dates_are_no_target(measure):
    """NumPy counts them as nanoseconds: all importances would be next to 0."""
    with pytest.raises(ValueError, match="y must hold numbers or labels, got dates"):
        MEASURES_OF_Y[measure](DATES)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_missing_targets(measure, missing):
    """An object array hides them from NumPy's own check."""
    y = Y.astype(object)
    y.iloc[3] = missing
    with pytest.raises(ValueError, match="y has missing labels or numbers"):
        MEASURES_OF_Y[measure](y)


SELECTOR = BackwardEliminationSelector(Ridge())
OLIGOMERS = PositionalOligomerImportance(2)
BEFORE_FIT = {
    "to_frame": SensitivityImportance().to_frame,
    "plot": SensitivityImportance().plot,
    "plot_curves": PartialDependenceImportance().plot_curves,
    "plot_association": ImpurityImportance().plot_association,
    "heat map": InteractionImportance().plot,
    "plot_path": SELECTOR.plot_path,
    "get_support": SELECTOR.get_support,
    "get_feature_names_out": SELECTOR.get_feature_names_out,
    "predict": lambda: SELECTOR.predict(X),
    "score": lambda: SELECTOR.score(X, Y),
    "score_of": lambda: OLIGOMERS.score_of("GA"),
    "max_by_order": lambda: OLIGOMERS.max_by_order(2),
    "plot_motif": lambda: OLIGOMERS.plot_motif("GA"),
    "oligomers to_frame": OLIGOMERS.to_frame,
    "oligomers plot": OLIGOMERS.plot,
    "transform": lambda: OligomerVectorizer(2).transform(["ACGT"]),
}


@pytest.mark.parametrize("call", BEFORE_FIT)
def test_before_fit(call):
    """What a fit would set is not there yet: no AttributeError about insides."""
    with pytest.raises(NotFittedError, match="not fitted yet"):
        BEFORE_FIT[call]()


FITTED = SensitivityImportance().fit(LINEAR, X, Y)
CURVES = PartialDependenceImportance().fit(LINEAR, X)
PAIRS = InteractionImportance().fit(LINEAR, X)
FOLDS = FoldsDisplay([[0.2, 0.9], [0.4, 0.7]], ["age", "bmi"])
NULL = NullDisplay([("age", 3.0, [0.5, 1.0, 1.5], 0.25, 0.25)])
COMPARISON = ComparisonDisplay({"pairs": {"ridge": [0.2, 0.9]}}, ["age", "bmi"])
PLOTS = {
    "bars": FITTED.plot,
    "heat map": PAIRS.plot,
    "folds": FOLDS.plot,
    "comparison": COMPARISON.plot,
    "curves": lambda ax: CURVES.plot_curves(axes=ax),
    "null": lambda ax: NULL.plot(axes=ax),
}


@pytest.mark.parametrize("ax", [3, "axes", "figure"])
@pytest.mark.parametrize("plot", PLOTS)
def test_axes_that_are_none(plot, ax):
    """A figure or a number is no Axes."""
    ax = Figure() if ax == "figure" else ax
    with pytest.raises(TypeError, match="must be matplotlib Axes, got"):
        PLOTS[plot](ax)


@pytest.mark.parametrize("plot", ["bars", "folds", "comparison"])
def test_keywords_of_plots(plot):
    """They go to matplotlib, whose own message is about rectangles."""
    with pytest.raises(TypeError, match=r"matplotlib's barh, .* \['title'\]"):
        PLOTS[plot](None, title="Importances")


def test_keywords_of_histograms():
    """Their axes are called `axes`, one a panel."""
    with pytest.raises(TypeError, match=r"matplotlib's hist, .* \['ax'\]"):
        NULL.plot(ax=3)
