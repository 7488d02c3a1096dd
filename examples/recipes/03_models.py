"""
Two models side by side
=======================

Which features matter to which model?
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import compare_importances

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
models = {"linear": LinearRegression().fit(X, y), "forest": forest.fit(X, y)}
table = compare_importances(models, X, y)
table.plot()

# %%
# The first six features.

table.plot(max_features=6)
