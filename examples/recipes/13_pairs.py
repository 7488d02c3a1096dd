"""
Which pairs interact?
=====================

A cell for each pair of features.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import InteractionImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
pairs = InteractionImportance().fit(forest, X)
pairs.plot()

# %%
# Bars of the strongest pairs.

pairs.plot(kind="bars", max_features=8)
