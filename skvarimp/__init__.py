"""Which features matter to a fitted model, how much, and which can go."""

from skvarimp._comparing.associations import correlated_groups
from skvarimp._comparing.compare import compare_importances
from skvarimp._comparing.comparison import Comparison
from skvarimp._comparing.differences import importance_by_cohort, importance_difference
from skvarimp._comparing.differences_result import (
    CohortImportances,
    ImportanceDifferences,
)
from skvarimp._comparing.ranks import RankIntervals, rank_intervals
from skvarimp._data.table import ROWS_APART
from skvarimp._display.bars import ImportanceDisplay, NullDisplay
from skvarimp._display.candidates import CandidatesDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._display.curves import CurvesDisplay
from skvarimp._display.matrix import (
    AssociationDisplay,
    DendrogramDisplay,
    MatrixDisplay,
)
from skvarimp._display.points import RowsDisplay
from skvarimp._display.ranks import DifferencesDisplay, RanksDisplay
from skvarimp._display.refits import (
    AllRelevantDisplay,
    FoldsDisplay,
    SelectionPathDisplay,
)
from skvarimp._measures.accumulated_local_effects import ALEImportance
from skvarimp._measures.coefficients.coefficients import CoefficientImportance
from skvarimp._measures.coefficients.weights import ConnectionWeightImportance
from skvarimp._measures.derivative import DerivativeImportance
from skvarimp._measures.filter_importance import FilterImportance
from skvarimp._measures.firm.firm import FIRMImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.joint.interaction import InteractionImportance
from skvarimp._measures.joint.shapley import ShapleyImportance
from skvarimp._measures.joint.sobol import SobolImportance
from skvarimp._measures.partial_dependence import PartialDependenceImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._partitions.partitions import Partitions
from skvarimp._refits.all_relevant import AllRelevantSelector
from skvarimp._refits.candidates import importance_across_candidates
from skvarimp._refits.candidates_result import CandidateImportances
from skvarimp._refits.folds import importance_across_folds
from skvarimp._refits.folds_result import FoldImportances
from skvarimp._refits.leave_out import leave_out_importances
from skvarimp._refits.leave_out_result import LeaveOutImportances
from skvarimp._refits.null_importances import NullImportances, null_importances
from skvarimp._refits.selectors import (
    BackwardEliminationSelector,
    ForwardSelector,
    ImportanceEstimator,
)
from skvarimp._report.report import Report, report
from skvarimp._results.importances import Importances

ROWS_APART.append(Partitions)  # elsewhere that room is not mentioned

__version__ = "0.1.0"
__doc_url__ = "https://skvarimp.readthedocs.io"  # also: `doc` of a checkout

__all__ = [
    "SensitivityImportance",
    "DerivativeImportance",
    "PartialDependenceImportance",
    "ShapleyImportance",
    "SobolImportance",
    "InteractionImportance",
    "ALEImportance",
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
    "AssociationDisplay",
    "SelectionPathDisplay",
    "FoldsDisplay",
    "CandidatesDisplay",
    "NullDisplay",
    "RowsDisplay",
    "AllRelevantDisplay",
    "DendrogramDisplay",
    "BackwardEliminationSelector",
    "ForwardSelector",
    "AllRelevantSelector",
    "ImportanceEstimator",
    "correlated_groups",
    "compare_importances",
    "Comparison",
    "RanksDisplay",
    "DifferencesDisplay",
    "rank_intervals",
    "RankIntervals",
    "importance_difference",
    "ImportanceDifferences",
    "importance_by_cohort",
    "CohortImportances",
    "importance_across_folds",
    "Importances",
    "FoldImportances",
    "importance_across_candidates",
    "CandidateImportances",
    "leave_out_importances",
    "LeaveOutImportances",
    "null_importances",
    "NullImportances",
    "report",
    "Report",
]
