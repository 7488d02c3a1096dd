"""
The path of an elimination
==========================

How many columns suffice?
"""

from sklearn.datasets import make_friedman1
from sklearn.tree import DecisionTreeRegressor

from skvarimp import BackwardEliminationSelector

X, y = make_friedman1(300, random_state=0)
tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
selector = BackwardEliminationSelector(tree, cv=5).fit(X, y)
selector.plot_path()
