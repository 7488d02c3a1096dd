"""
Two features at once
====================

What do two features do together?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PartialDependenceImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
curves = PartialDependenceImportance(pairs=[("bmi", "s5")]).fit(forest, X)
curves.plot()

# %%
# The mean prediction over both features, and what is left without the additive parts.

curves.plot_surfaces()
curves.plot_surfaces(effect="interaction")
