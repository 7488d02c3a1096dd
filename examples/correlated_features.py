"""
Correlated features: two questions, two answers
===============================================

In the diabetes data the blood serum values s1 (total cholesterol) and s2 (low-density
cholesterol) have a correlation of 0.90, and a linear model gives them large
coefficients of opposite sign. Is s1 important? That depends on the question.

*Marginal* measures replace s1 and keep all other values: what does the model compute
with s1? *Conditional* measures compare patients as they are, so s2 changes with s1:
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
# Left: s1 is first by the marginal measure. Another patient's s1 changes the prediction
# by almost half of the mean difference between two outcomes. Right: s1 is seventh of
# ten by the conditional measure, because the effects of s1 and s2 cancel in real
# patients.

measures = [SensitivityImportance(), FIRMImportance()]
compared = compare_importances({"linear model": model}, X, y, measures)
marginal, conditional = compared.plot().axes_
marginal.set_title("marginal: s1 comes first")
conditional.set_title("conditional: s1 comes seventh")

# %%
# The curves show why. The partial dependence falls steeply: if all other values stay,
# more s1 means a lower prediction. But the mean prediction of the patients with a given
# s1 *rises*, because their s2 and other values rise too. Neither line is wrong. They
# answer different questions.

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
# A third way is to move s1 and s2 together to the values of one other patient, so only
# existing pairs of values occur. The pair moves the prediction about half as far as s1
# alone, because the two effects partly cancel.

groups = SensitivityImportance(features=[["s1", "s2"], "s1", "s2"]).fit(model, X, y)
print(groups.to_frame().round(3).to_string(index=False))
assert groups.importances_[0] < 0.6 * groups.importances_[1]

# %%
# Which one should you report? Report the marginal one to say what the model does with
# a feature, or if it can be set alone. Report the conditional one or a group to
# say what a feature tells about the outcome, or if moved rows would be absurd. The page
# on :ref:`FIRM <firm>` has more, :ref:`correlated` compares five answers on one
# example, and :ref:`which_measure` helps to decide.
