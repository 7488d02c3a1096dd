"""Which inputs matter to a fitted model, how much, and which can go."""

from skvarimp._base import BaseImportance
from skvarimp._compare import compare_importances
from skvarimp._connection_weights import ConnectionWeightImportance
from skvarimp._derivative import DerivativeImportance
from skvarimp._display import ComparisonDisplay, ImportanceDisplay
from skvarimp._display_curves import CurvesDisplay
from skvarimp._display_matrix import MatrixDisplay
from skvarimp._display_stability import FoldsDisplay, NullDisplay
from skvarimp._filter_importance import FilterImportance
from skvarimp._firm import FIRMImportance
from skvarimp._importance_estimator import ImportanceEstimator
from skvarimp._impurity import ImpurityImportance
from skvarimp._interaction import InteractionImportance
from skvarimp._null_importances import NullImportances, null_importances
from skvarimp._partial_dependence import PartialDependenceImportance
from skvarimp._permutation import PermutationImportance
from skvarimp._selection import BackwardEliminationSelector, ForwardSelector
from skvarimp._sensitivity import SensitivityImportance
from skvarimp._stability import FoldImportances, importance_across_folds
from skvarimp._surrogate_predictor import SurrogateTreePredictor
from skvarimp._weights import CoefficientImportance

__version__ = "0.1.0"

__all__ = [
    "SensitivityImportance",
    "DerivativeImportance",
    "PartialDependenceImportance",
    "InteractionImportance",
    "PermutationImportance",
    "FIRMImportance",
    "ImpurityImportance",
    "CoefficientImportance",
    "ConnectionWeightImportance",
    "FilterImportance",
    "ImportanceDisplay",
    "ComparisonDisplay",
    "CurvesDisplay",
    "MatrixDisplay",
    "FoldsDisplay",
    "NullDisplay",
    "BackwardEliminationSelector",
    "ForwardSelector",
    "ImportanceEstimator",
    "SurrogateTreePredictor",
    "compare_importances",
    "importance_across_folds",
    "FoldImportances",
    "null_importances",
    "NullImportances",
    "BaseImportance",
]
