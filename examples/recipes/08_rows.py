"""
A point for each row
====================

Which values lift the prediction, and in which rows?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import RowsDisplay, SensitivityImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance(keep_rows=True).fit(forest, X, y)
importance.plot()

# %%
# A point is a patient; its colour is the value of the feature.

RowsDisplay.from_importance(importance, X)
