"""
One bar for each class
======================

Which features separate which class?
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

from skvarimp import ComparisonDisplay, SensitivityImportance

X, y = load_wine(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance().fit(forest, X, y)
importance.plot()

# %%
# The classes apart.

ComparisonDisplay.from_outputs(importance)
