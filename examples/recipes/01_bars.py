"""
Bars of one model
=================

How far does each feature move the prediction?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance().fit(forest, X, y)
importance.plot()

# %%
# The width of a column in a journal, the first five features, without numbers.

importance.plot(figsize=(3.4, 2.4), max_features=5, values=False)
