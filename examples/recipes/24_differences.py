"""
The difference of two models
============================

Which features matter more to one model than to another?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV

from skvarimp import SensitivityImportance, importance_difference

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
measure = SensitivityImportance(keep_rows=True)
first = measure.fit(forest, X, y)
second = SensitivityImportance(keep_rows=True).fit(RidgeCV().fit(X, y), X, y)
importance_difference(first, second).plot()
