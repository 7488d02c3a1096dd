"""
Curves of single rows
=====================

Do all rows react in the same way?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PartialDependenceImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
curves = PartialDependenceImportance(kind="individual").fit(forest, X)
curves.plot()

# %%
# 25 patients, from one starting point.

curves.plot_curves(max_features=3, centred=True)
