"""The README's sentence on speed: exact sensitivity beside permutation importance.

Histogram boosting with scikit-learn's default parameters on 100 000 rows x 20 columns;
processor time of one process. The two answer related questions, not the same one:
sensitivity watches the prediction, scikit-learn's function the score.

    OMP_NUM_THREADS=1 python benchmarks/readme_fact.py
"""

from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from timer import once

from skvarimp import SensitivityImportance

X, y = make_friedman1(100_000, 20, noise=1.0, random_state=0)
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
SensitivityImportance(estimation="exact").fit(model, X[:100], y[:100])  # imports
importance, ours = once(SensitivityImportance(estimation="exact").fit, model, X, y)
_, theirs = once(
    lambda: permutation_importance(model, X, y, n_repeats=5, random_state=0)
)
print(importance.to_frame().head(5).round(4).to_string(index=False))
print(importance.estimation_, importance.response_path_)
print(f"exact sensitivity with standard errors   {ours.cpu:6.1f} s")
print(f"permutation_importance(n_repeats=5)      {theirs.cpu:6.1f} s")
print(f"ratio                                    {theirs.cpu / ours.cpu:6.1f}")
