"""A user's script, for type checkers: `mypy --strict` finds nothing wrong in it."""

import numpy as np
from numpy.typing import NDArray

from skvarimp import (
    BackwardEliminationSelector,
    CandidateImportances,
    FilterImportance,
    FIRMImportance,
    FoldImportances,
    ImpurityImportance,
    InteractionImportance,
    NullImportances,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    importance_across_candidates,
    importance_across_folds,
    null_importances,
)
from skvarimp.feature_functions import Conjunction, Not, Product
from skvarimp.filters import auc, group_statistic
from skvarimp.sequence import OligomerVectorizer, weighted_degree_kernel


def model(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Any callable is a model."""
    return X[:, 0] * X[:, 1]


X: NDArray[np.float64] = np.random.default_rng(0).standard_normal((60, 4))
y = model(X)

sensitivity = SensitivityImportance(
    contrast="observed",
    features={"first": [0, 1], "last": 3},
    grid={"last": [-1.0, 0.0, 1.0]},
    scale=None,
    random_state=np.random.default_rng(0),
).fit(model, X)
first: np.float64 = sensitivity.importances_[0]
names: list[str] = sensitivity.features_
errors: NDArray[np.float64] | None = sensitivity.standard_errors_
table = sensitivity.to_frame()

PermutationImportance(loss=lambda y, f: np.abs(y - f), n_jobs=1).fit(model, X, y)
frame = PermutationImportance(loss="zero_one", features=["x0", [1, 2]]).to_frame
PartialDependenceImportance(grid="deciles", features=[0, [1, 2]]).fit(model, X)
InteractionImportance(statistic="h", pairs=[(0, 1), ("x1", "x2")]).fit(model, X)
FIRMImportance(feature_functions=[Product(0, 1), Conjunction(0, Not(3))]).fit(model, X)
ImpurityImportance(surrogates=3, convention="rpart")
FilterImportance(score_func=auc).fit(None, X, y > 0)
statistic, pvalues = group_statistic(X, y > 0)

comparison = compare_importances({"product": model}, X, measures=[sensitivity])
selector = BackwardEliminationSelector(
    object(), PermutationImportance(), step=0.1, cv=5
)

# What is wrong is found: strict checkers complain about an ignore without need.
SensitivityImportance(contrast="pair")  # type: ignore[arg-type]
PermutationImportance(n_draws="many")  # type: ignore[arg-type]
FilterImportance(score_func=3)  # type: ignore[arg-type]


def refits(estimator: object) -> tuple[FoldImportances, NullImportances]:
    """Typed results."""
    folds = importance_across_folds(estimator, X, y, sensitivity, cv=[([0, 1], [2, 3])])
    null = null_importances(
        estimator, X, y, lambda e, X, y: np.ones(4), n_permutations=9, n_jobs=None
    )
    shown = folds.sd.round(2), null.pvalues("fdr").tolist(), null.to_frame()
    assert len(shown) == 3
    return folds, null


def candidates(estimator: object) -> CandidateImportances:
    """Typed good models."""
    given = {"one": (estimator, [0.8, 0.9]), "two": (estimator, 0.85)}
    found = importance_across_candidates(given, X, y, within=0.05, max_models=5)
    assert found.lowest.round(2).tolist() <= found.highest.tolist()
    return found


kernel = weighted_degree_kernel(["ACGT", "AGGT"], degree=2)
columns = OligomerVectorizer(2, unknown="ignore").fit_transform(["ACGT", "AGGT"])
shown = first, names, errors, kernel.shape, statistic[0], pvalues[0], columns.shape
