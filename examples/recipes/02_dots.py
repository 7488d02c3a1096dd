"""
Dots with intervals
===================

Dots hide no half of an interval.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PermutationImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = PermutationImportance().fit(forest, X, y)
importance.plot(kind="dots")

# %%
# Another colour and a title.

importance.plot(kind="dots", color="tab:orange", title="Loss of accuracy")
