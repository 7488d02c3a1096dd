"""What each display's `from_estimator` makes of a model and data before it draws.

Displays lie below what makes their numbers and do not import it: the table here says
for each of them what its drawing method is given.
"""

from sklearn.base import clone

from skvarimp._comparing.compare import compare_importances
from skvarimp._display.all_relevant import AllRelevantDisplay
from skvarimp._display.association import AssociationDisplay
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.curves import CurvesDisplay
from skvarimp._display.matrix import MatrixDisplay
from skvarimp._display.path import SelectionPathDisplay
from skvarimp._display.points import RowsDisplay
from skvarimp._display.stability import FoldsDisplay, NullDisplay
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._selection.all_relevant import AllRelevantSelector
from skvarimp._selection.named import named
from skvarimp._selection.selectors import BackwardEliminationSelector
from skvarimp._stability.folds import importance_across_folds
from skvarimp._stability.null_importances import null_importances


def _fitted(importance, estimator, X, y, sample_weight=None):
    importance = clone(named(importance))
    return importance.fit(estimator, X, y, sample_weight=sample_weight)


def _measure(default):
    def make(estimator, X, y, *, importance=default, **options):
        return (_fitted(importance, estimator, X, y, **options),)

    return make


def _rows(estimator, X, y, *, importance=SensitivityImportance(), **options):  # noqa: B008
    importance = clone(named(importance)).set_params(keep_rows=True)
    return _fitted(importance, estimator, X, y, **options), X


def _selector(kind):
    def make(estimator, X, y, **options):
        return (kind(estimator, **options).fit(X, y),)

    return make


def _refitted(function):
    def make(estimator, X, y, *, importance="permutation", **options):
        return (function(estimator, X, y, importance, **options),)

    return make


def _compared(estimator, X, y, **options):
    return (compare_importances(estimator, X, y, **options),)


MAKERS = {
    ImportanceDisplay: _measure("sensitivity"),
    ComparisonDisplay: _compared,
    CurvesDisplay: _measure("partial_dependence"),
    MatrixDisplay: _measure("interaction"),
    AssociationDisplay: _measure(ImpurityImportance(surrogates=True)),
    RowsDisplay: _rows,
    FoldsDisplay: _refitted(importance_across_folds),
    NullDisplay: _refitted(null_importances),
    SelectionPathDisplay: _selector(BackwardEliminationSelector),
    AllRelevantDisplay: _selector(AllRelevantSelector),
}

for display, make in MAKERS.items():
    display._made = staticmethod(make)
