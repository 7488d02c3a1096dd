"""
Importances of refitted models
==============================

Would a refit give the same importance?
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold

from skvarimp import PermutationImportance, importance_across_folds

X, y = load_diabetes(return_X_y=True, as_frame=True)
cv = RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)
folds = importance_across_folds(LinearRegression(), X, y, PermutationImportance(), cv)
folds.plot()

# %%
# A name for the axis.

folds.plot(label="mean squared error gained")
