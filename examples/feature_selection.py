"""
Choosing columns inside a grid search
=====================================

How few columns are enough? ``BackwardEliminationSelector`` refits the estimator, drops
the least important columns and repeats. It takes any importance and any estimator. A
grid search tunes the selector together with the estimator inside. The test rows are
used once, after everything has been chosen on the training rows.

The data are thirty measurements of cell nuclei, and whether the tumour is malignant.
Some measurements are nearly the same: radius, perimeter and area correlate at 0.99.
"""

import matplotlib.pyplot as plt
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skvarimp import BackwardEliminationSelector, SensitivityImportance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, stratify=y, test_size=0.3, random_state=0
)

# %%
# The estimator is a support vector machine, which has no importances of its own. The
# selector measures how far its decision function moves when a column takes other rows'
# values. Each step drops 30% of the columns, and 30% of the rows are held out to score
# the subsets.

machine = make_pipeline(StandardScaler(), SVC(gamma=0.02))
selector = BackwardEliminationSelector(
    machine,
    SensitivityImportance(contrast="observed", scale=None),
    step=0.3,
    random_state=0,
)

# %%
# The search tunes C of the machine, and the share of the best score that the chosen
# subset must reach.

search = GridSearchCV(
    selector,
    {
        "performance_threshold": [0.97, 0.99],
        "estimator__svc__C": [1, 10],
    },
    cv=3,
).fit(X_train, y_train)
best = search.best_estimator_
print({name.split("__")[-1]: value for name, value in search.best_params_.items()})
print(f"{best.n_features_} of {X.shape[1]} columns:")
print(", ".join(best.get_feature_names_out()))

# %%
# The path goes from right to left. The ring marks the kept subset, the smallest whose
# score reaches 97% of the best score. With a single split the scores jump by a percent
# or two. ``cv=5`` in the selector averages over folds, at five times the cost.

display = best.plot_path()
display.ax_.set_title("Two of thirty columns score within 3% of the best subset")
plt.show()

# %%
# On the test rows, two columns make a few more errors than all thirty, with the same C:

everything = clone(best.estimator).fit(X_train, y_train)
print(f"accuracy with {best.n_features_} columns: {search.score(X_test, y_test):.3f}")
print(f"accuracy with all 30: {everything.score(X_test, y_test):.3f}")
