"""
Which features interact?
========================

Friedman's first problem has ten features on [0, 1] of which five matter:

.. math:: y = 10 \\sin(\\pi x_0 x_1) + 20 (x_2 - 1/2)^2 + 10 x_3 + 5 x_4 + e

x0 and x1 interact, and all other effects add up. Did a boosted model learn this? Two
statistics measure every pair. Both use the joint partial dependence on two features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import (
    InteractionImportance,
    PartialDependenceImportance,
    SensitivityImportance,
)

X, y = make_friedman1(500, noise=1.0, random_state=0)
model = GradientBoostingRegressor(max_depth=3, random_state=0).fit(X, y)

# %%
# Left: how much the flatness along one feature changes with the other, in units of y.
# The pair x0 and x1 has the largest number, and the others are small. Right: Friedman's
# H, the *share* of a pair's joint effect that is not additive. If neither feature
# matters, this is a large share of very little. Some pairs of the useless features x5
# to x9 have an H as large as that of the true pair.

conditional = InteractionImportance().fit(model, X)
share = InteractionImportance(statistic="h").fit(model, X)
fig, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
conditional.plot(ax=axes[0])
axes[0].set_title("Conditional deviation: x0 and x1")
share.plot(ax=axes[1])
axes[1].set_title("H: also pairs of features that do not matter")

# %%
# The three strongest pairs by each statistic:

for imp in (conditional, share):
    print(imp.statistic)
    print(imp.to_frame().head(3)[["feature", "importance"]].round(2).to_string())

# %%
# So read H together with the importances, and compute it only for features that matter:

importances = SensitivityImportance().fit(model, X, y)
strong = [int(j) for j in np.flatnonzero(importances.importances_ > 0.1)]
print(importances.to_frame().head(6).round(2).to_string(index=False))
of_strong = InteractionImportance(statistic="h", features=strong).fit(model, X)
print(of_strong.to_frame().head(3)[["feature", "importance"]].round(2))

# %%
# The last picture shows the effect of x0 for a small, a middle and a large x1. If x1 is
# small, x0 changes the prediction by 3, otherwise by 8. For larger x1 the curve levels
# off and falls earlier, as sin(pi x0 x1) does. Without an interaction the three curves
# would be parallel.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
grid = np.linspace(0, 1, 41)
for value, colour in zip((0.1, 0.5, 0.9), ("#0072B2", "#D55E00", "#009E73")):
    at_value = X.copy()
    at_value[:, 1] = value
    curve = PartialDependenceImportance(features=[0], grid=grid).fit(model, at_value)
    ax.plot(*curve.curves_["x0"], color=colour, lw=2, label=f"x1 = {value}")
ax.set(xlabel="x0", ylabel="mean prediction")
ax.set_title("The effect of x0 depends on x1")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()
