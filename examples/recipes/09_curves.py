"""
Curves of the mean prediction
=============================

What does the model do as one feature rises?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PartialDependenceImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
curves = PartialDependenceImportance(curve_errors=True).fit(forest, X)
curves.plot()

# %%
# The curves behind the bars, with 95% bands.

curves.plot_curves(max_features=6)
