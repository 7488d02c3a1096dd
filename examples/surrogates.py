"""
Surrogate splits: hidden importance and missing values
======================================================

Each node of a tree splits on one column, and only this column gets credit. If two
columns carry the same information, the other one looks useless. A surrogate split is
the split on another column that sends the rows nearly the same way. Surrogate splits
give credit to the other column too, and they decide where rows with missing values go.

The data are ten mean measurements of cell nuclei. Radius, perimeter and area correlate
at 0.99.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skvarimp import ImpurityImportance, SurrogateTreePredictor

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

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

# %%
# A forest is trained on complete rows and must predict rows with missing values, which
# are drawn at random. There are three ways: surrogate splits, medians instead of
# missing values, and scikit-learn's own rule, which sends a missing value to the larger
# child if there were none in training.

forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
forest.fit(X_train, y_train)
by_surrogates = SurrogateTreePredictor(forest).fit(X_train, y_train)
ways = {
    "surrogate splits": by_surrogates.predict_proba,
    "medians": lambda X: forest.predict_proba(X.fillna(X_train.median())),
    "larger child": forest.predict_proba,
}
rng = np.random.default_rng(0)
shares = np.arange(0, 0.8, 0.1)
scores = {way: [] for way in ways}
for share in shares:
    incomplete = [X_test.mask(rng.random(X_test.shape) < share) for _ in range(5)]
    for way, predict in ways.items():
        aucs = [roc_auc_score(y_test, predict(rows)[:, 1]) for rows in incomplete]
        scores[way].append(np.mean(aucs))

# %%
# With half of the values missing the area under the curve is 0.96 with surrogate splits
# and 0.94 with the other two. Medians are worst, because they move every row to the
# middle.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
styles = [("#0072B2", "o-"), ("#D55E00", "s--"), ("#009E73", "^:")]
for (way, values), (colour, line) in zip(scores.items(), styles):
    ax.plot(shares, values, line, color=colour, label=way)
ax.set(xlabel="share of values missing at prediction", ylabel="area under the curve")
ax.set_title("A forest asked about incomplete rows")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()
for way, values in scores.items():
    print(f"{way:17}", " ".join(f"{value:.3f}" for value in values))
