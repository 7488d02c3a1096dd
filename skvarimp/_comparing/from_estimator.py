"""What each display's `from_estimator` makes of a model and data before it draws.

Displays lie below what makes their numbers and do not import it: the table here says
for each of them what its drawing method is given.
"""

from sklearn.base import clone

from skvarimp._comparing.compare import compare_importances
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.curves import CurvesDisplay
from skvarimp._display.matrix import AssociationDisplay, MatrixDisplay
from skvarimp._display.points import RowsDisplay
from skvarimp._display.selection import AllRelevantDisplay, SelectionPathDisplay
from skvarimp._display.stability import FoldsDisplay, NullDisplay
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._selection.all_relevant import AllRelevantSelector
from skvarimp._selection.checks import named
from skvarimp._selection.selectors import BackwardEliminationSelector
from skvarimp._stability.folds import importance_across_folds
from skvarimp._stability.null_importances import null_importances


def _made_by(function, **defaults):
    """What a display draws is what a function makes of a model and data."""

    def make(estimator, X, y, **options):
        return (function(estimator, X, y, **(defaults | options)),)

    return make


def _fitted(estimator, X, y, *, importance, sample_weight=None):
    importance = clone(named(importance))
    return importance.fit(estimator, X, y, sample_weight=sample_weight)


def _rows(estimator, X, y, *, importance="sensitivity", **options):
    importance = clone(named(importance)).set_params(keep_rows=True)
    return _fitted(estimator, X, y, importance=importance, **options), X


def _selected(estimator, X, y, *, kind, **options):
    return kind(estimator, **options).fit(X, y)


MAKERS = {
    ImportanceDisplay: _made_by(_fitted, importance="sensitivity"),
    ComparisonDisplay: _made_by(compare_importances),
    CurvesDisplay: _made_by(_fitted, importance="partial_dependence"),
    MatrixDisplay: _made_by(_fitted, importance="interaction"),
    AssociationDisplay: _made_by(
        _fitted, importance=ImpurityImportance(surrogates=True)
    ),
    RowsDisplay: _rows,
    FoldsDisplay: _made_by(importance_across_folds, importance="permutation"),
    NullDisplay: _made_by(null_importances, importance="permutation"),
    SelectionPathDisplay: _made_by(_selected, kind=BackwardEliminationSelector),
    AllRelevantDisplay: _made_by(_selected, kind=AllRelevantSelector),
}

for display, make in MAKERS.items():
    display._made = staticmethod(make)
