"""
Groups of rows side by side
===========================

Does the importance hold for all groups of rows?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance, importance_by_cohort

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance(keep_rows=True).fit(forest, X, y)
importance.plot()

# %%
# Patients up to 50 years and older ones.

age = X["age"].gt(50).map({True: "above 50", False: "up to 50"})
importance_by_cohort(importance, age).plot()
