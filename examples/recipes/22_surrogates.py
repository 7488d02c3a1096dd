"""
Which splits imitate which?
===========================

The surrogate splits of a forest.
"""

# sphinx_gallery_thumbnail_number = 2

from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from skvarimp import ImpurityImportance

X, y = load_iris(return_X_y=True, as_frame=True)
forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(X, y)
importance = ImpurityImportance(surrogates=True).fit(forest, X, y)
importance.plot()

# %%
# 1 is a perfect imitation.

importance.plot_association()
