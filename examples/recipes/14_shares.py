"""
Shares of the variance
======================

What does a feature explain alone, and with others?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SobolImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
SobolImportance().fit(forest, X).plot()
