"""
Groups of correlated columns
============================

Which columns stand in for each other?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance, correlated_groups

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
groups = correlated_groups(X, threshold=0.5)
groups.plot()

# %%
# Each group moves as one.

SensitivityImportance(features=groups).fit(forest, X, y).plot()
