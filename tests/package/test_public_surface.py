"""The public names, so that none appears or goes by accident."""

import importlib
import subprocess
import sys

import pytest

import skvarimp

SURFACE = {
    "skvarimp": {
        "AllRelevantDisplay",
        "AssociationDisplay",
        "SelectionPathDisplay",
        "AllRelevantSelector",
        "BackwardEliminationSelector",
        "CandidateImportances",
        "CandidatesDisplay",
        "CoefficientImportance",
        "ComparisonDisplay",
        "ConnectionWeightImportance",
        "CurvesDisplay",
        "DendrogramDisplay",
        "ALEImportance",
        "DerivativeImportance",
        "FIRMImportance",
        "FoldImportances",
        "FoldsDisplay",
        "FilterImportance",
        "ForwardSelector",
        "ImportanceDisplay",
        "ImportanceEstimator",
        "Importances",
        "ImpurityImportance",
        "InteractionImportance",
        "LeaveOutImportances",
        "MatrixDisplay",
        "NullDisplay",
        "NullImportances",
        "PartialDependenceImportance",
        "PermutationImportance",
        "SensitivityImportance",
        "ShapleyImportance",
        "SobolImportance",
        "Comparison",
        "compare_importances",
        "correlated_groups",
        "rank_intervals",
        "RankIntervals",
        "RanksDisplay",
        "DifferencesDisplay",
        "ImportanceDifferences",
        "CohortImportances",
        "importance_difference",
        "importance_by_cohort",
        "RowsDisplay",
        "importance_across_candidates",
        "importance_across_folds",
        "leave_out_importances",
        "null_importances",
        "report",
        "Report",
    },
    "skvarimp.extending": {
        "Additive",
        "BaseImportance",
        "Form",
        "Link",
        "NotReadable",
        "Observed",
        "Plan",
        "Request",
        "ResponseImportance",
        "State",
        "as_table",
        "check_target",
        "register_reader",
    },
}


def test_public_names():
    """`__all__` of each public module."""
    for name, expected in SURFACE.items():
        module = importlib.import_module(name)
        assert set(module.__all__) == expected
        assert all(hasattr(module, member) for member in expected)


@pytest.mark.thorough
def test_import_is_light():
    """Nothing optional is imported: a second, most of it scikit-learn's.

    Nor by a fit whose model and data do not need it.
    """
    optional = (
        "matplotlib pandas polars pyarrow Cython rich treelite xgboost "
        "lightgbm catboost dask distributed"
    )
    code = (
        "import sys, importlib.util, sklearn.base; "
        "found = importlib.util.find_spec('sklearn.callback'); "
        "found and __import__('sklearn.callback'); "
        "before = set(sys.modules); "
        "import skvarimp, skvarimp.filters, skvarimp.sequence; "
        f"heavy = set({optional!r}.split()); "
        "print(sorted(heavy & (set(sys.modules) - before)))\n"
        "from sklearn.linear_model import LinearRegression\n"
        "X = [[0.0, 1], [1, 0], [2, 2]]\n"
        "model = LinearRegression().fit(X, [0, 1, 2])\n"
        "skvarimp.SensitivityImportance().fit(model, X, [0, 1, 2])\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["[]", "[]"]


def test_every_public_class_is_documented():
    """Name, parameters and an example in each docstring."""
    for name in skvarimp.__all__:
        if name.endswith("Display"):  # made by the measures' plot methods
            continue
        doc = getattr(skvarimp, name).__doc__
        assert doc is not None
        assert ">>>" in doc, f"{name} has no example"
