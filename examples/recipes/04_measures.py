"""
Two measures side by side
=========================

Each panel has its own unit.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import FIRMImportance, SensitivityImportance, compare_importances

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
measures = {"moves": SensitivityImportance(), "tells": FIRMImportance()}
compare_importances({"forest": forest}, X, y, measures).plot()
