"""
Surrogate splits: hidden importance
===================================

Each node of a tree splits on one column, and only this column gets credit. If two
columns carry the same information, the other one looks useless. A surrogate split is
the split on another column that sends the rows nearly the same way. Surrogate splits
give credit to the other column too.

The data are ten mean measurements of cell nuclei. Radius, perimeter and area correlate
at 0.99.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skvarimp import ImpurityImportance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
X_train, _, y_train, _ = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# A tree with four leaves splits on three columns, and impurity importance sees only
# these (left). With surrogates (right) the seven other columns get credit too. The tree
# never used perimeter, area and radius, but now they are more important than texture,
# which it used.

tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X_train, y_train)
plain = ImpurityImportance().fit(tree, X_train, y_train)
with_surrogates = ImpurityImportance(surrogates=True).fit(tree, X_train, y_train)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plain.plot(ax=axes[0], label="Gini impurity removed, mean over the splits")
axes[0].set_title("Splits alone")
with_surrogates.plot(ax=axes[1], label="Gini impurity removed, mean over the splits")
axes[1].set_title("Splits and surrogate splits")

# %%
# Which column can replace which? The picture shows the association of surrogate splits
# (columns) with the splits of the tree (rows). 1 is a perfect imitation. Only the three
# columns that the tree splits on have associations. Concavity imitates the split on
# concave points best (0.79), then perimeter (0.70).

display = with_surrogates.plot_association()
display.ax_.set_title("How well columns can replace the tree's splits")
plt.show()
