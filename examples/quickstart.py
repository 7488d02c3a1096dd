"""
Which features matter to three models of one data set?
======================================================

A linear model, a random forest and a neural network predict the progression of
diabetes. The measure is the mean change of the prediction when a feature takes another
patient's value, as a share of the mean difference between two patients' outcomes. It
needs only the output of a model, so all three models are on one scale.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    PartialDependenceImportance,
    RowsDisplay,
    SensitivityImportance,
    compare_importances,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
network = MLPRegressor(
    hidden_layer_sizes=(5,), solver="lbfgs", alpha=1000, max_iter=2000, random_state=0
)
models = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(100, min_samples_leaf=5, random_state=0),
    "network": make_pipeline(StandardScaler(), network),
}
for model in models.values():
    model.fit(X, y)

compared = compare_importances(models, X, y)

# %%
# Each row has a feature, with its importance, its 95% interval (the sampling error of
# these patients, with the model held fixed) and its rank.

table = compared.to_frame().set_index("model").drop(columns="measure")
for name in models:
    print(f"{name}\n{table.loc[name].head(4).round(3).to_string(index=False)}\n")
fitted = {name: measure for (name, _), measure in compared.fitted.items()}
for name, measure in fitted.items():
    print(f"GoFit of {name}: {measure.goodness_of_fit_:.2f}")

# %%
# In all three models bmi and s5 move the prediction a lot. Another patient's body mass
# index changes it by 32% of the mean difference between two patients' outcomes. The
# models disagree about the blood serum values s1 and s2, which are highly correlated.
# The linear model gives them large coefficients of opposite sign, so s1 is first there.
# The penalised network and the forest do not: see
# :ref:`sphx_glr_gallery_correlated_features.py`.
#
# GoFit says how well each model fits these rows.
#
# Four pictures follow. The first shows the numbers of the table with 95% intervals.

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("Install matplotlib for pictures.")
    raise SystemExit from None

compared.plot(figsize=(5.4, 4))
plt.savefig("quickstart.png", dpi=200)

# %%
# One model. The marks say which way the mean prediction goes as the feature rises.

forest = models["forest"]
importance = SensitivityImportance(keep_rows=True).fit(forest, X, y)
importance.plot(figsize=(5.4, 4))
plt.savefig("quickstart_bars.png", dpi=200)

# %%
# The mean prediction along the features whose curves are least flat.

curves = PartialDependenceImportance(curve_errors=True).fit(forest, X)
curves.plot_curves(max_features=6, figsize=(5.4, 4))
plt.savefig("quickstart_curves.png", dpi=200)

# %%
# Each point is a patient, at the place to which the own value lifts the prediction.

RowsDisplay.from_importance(importance, X, figsize=(5.4, 4))
plt.savefig("quickstart_rows.png", dpi=200)
print("Pictures saved as quickstart.png, quickstart_bars.png and so on")
