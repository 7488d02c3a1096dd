"""
All good models of a search
===========================

Does another good model need the feature?
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from skvarimp import importance_across_candidates

X, y = load_diabetes(return_X_y=True, as_frame=True)
grid = {"alpha": [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]}
search = GridSearchCV(Ridge(), grid, cv=5).fit(X, y)
importance_across_candidates(search, X, y).plot()
