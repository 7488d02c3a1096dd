"""
Correlated inputs: two questions, two answers
=============================================

In the diabetes data the blood serum values s1 (total cholesterol) and s2 (low-density
cholesterol) have a correlation of 0.90, and a linear model gives them large
coefficients of opposite sign. Is s1 important? That depends on what is asked.

*Marginal* measures replace s1 and keep everything else: what does the model compute
with it? *Conditional* measures compare patients as they are, whose s2 follows their s1:
what does s1 tell about the prediction?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from skvarimp import (
    FIRMImportance,
    PartialDependenceImportance,
    SensitivityImportance,
    compare_importances,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = LinearRegression().fit(X, y)
print(f"correlation of s1 and s2: {X['s1'].corr(X['s2']):.2f}")
print(f"coefficients: s1 {model.coef_[4]:.2f}, s2 {model.coef_[5]:.2f}")

# %%
# Left, the marginal measure puts s1 first: another patient's s1 changes the prediction
# by almost half of the mean difference between two outcomes. Right, the conditional
# measure puts s1 seventh of ten. The coefficients of s1 and s2 cancel along the data.

measures = [SensitivityImportance(), FIRMImportance()]
table = compare_importances({"linear model": model}, X, y, measures)
marginal, conditional = table.plot().axes_
marginal.set(
    title="marginal: s1 comes first",
    xlabel="share of the mean difference\nbetween two outcomes",
)
conditional.set(
    title="conditional: s1 comes seventh",
    xlabel="standard deviation of the\nmean prediction given the input",
)

# %%
# The curves behind the two numbers. The partial dependence falls steeply: with all else
# the same, more s1 means a lower prediction. The mean prediction of the patients who
# have a given s1 *rises*, because their s2 and other values rise too. Neither line is
# wrong; they answer different questions.

marginal = PartialDependenceImportance(features=["s1"]).fit(model, X)
conditional = FIRMImportance(features=["s1"], method="conditional_mean").fit(model, X)
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(X["s1"], model.predict(X), ".", color="0.75", label="patients")
ax.plot(*marginal.curves_["s1"], color="#0072B2", lw=2.5, label="partial dependence")
centres, scores = conditional.conditional_scores_["s1"]
ax.plot(centres, scores, "o-", color="#D55E00", lw=2, label="mean given s1")
ax.set(xlabel="s1 (mg/dl)", ylabel="predicted progression")
ax.set_title("The same model, marginal and conditional")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# A third way is to move s1 and s2 together, both taken from the same other patient, so
# that only pairs of values occur that exist. The pair moves the prediction by about
# half of what s1 does alone: most of what either does, the other undoes.

groups = SensitivityImportance(features=[["s1", "s2"], "s1", "s2"]).fit(model, X, y)
print(groups.to_frame().round(3).to_string(index=False))
assert groups.importances_[0] < 0.6 * groups.importances_[1]

# %%
# Which one to report? To say what the model does with an input, and for inputs that can
# be set one at a time, the marginal one. To say what an input tells about the outcome,
# or where moved rows would be absurd, the conditional one or a group. The guide to
# :ref:`FIRM <firm>` has more, :ref:`correlated` compares five answers on one example,
# and :ref:`which_measure` is a short way to decide.
