"""
Is it more than noise?
======================

A band has the importances for shuffled targets.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from skvarimp import null_importances

X, y = load_diabetes(return_X_y=True, as_frame=True)
null = null_importances(LinearRegression(), X, y, random_state=0)
null.plot()

# %%
# The first six features.

null.plot(max_features=6)
