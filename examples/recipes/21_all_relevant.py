"""
All columns that carry information
==================================

Columns that beat their shuffled copies.
"""

from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skvarimp import AllRelevantSelector

X, y = make_friedman1(200, n_features=8, random_state=0)
selector = AllRelevantSelector(RandomForestRegressor(30), random_state=0).fit(X, y)
selector.plot_history()
