"""
Accumulated local effects
=========================

Curves that ask only about rows that could have occurred.
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import ALEImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
effects = ALEImportance().fit(forest, X)
effects.plot()

# %%
# The curves, with 95% bands.

effects.plot_curves(max_features=3)
