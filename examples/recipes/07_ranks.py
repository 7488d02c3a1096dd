"""
Which ranks are possible?
=========================

The first two features may change places.
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance, rank_intervals

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance(keep_rows=True).fit(forest, X, y)
importance.plot()

# %%
# The ranks that the data allow stand at the right.

rank_intervals(importance).plot()
