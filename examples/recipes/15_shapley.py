"""
Fair shares of R²
=================

The shares sum to what the model explains.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import ShapleyImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(max_depth=2, random_state=0).fit(X[:300], y[:300])
shares = ShapleyImportance(loss="squared_error").fit(model, X[300:], y[300:])
shares.plot()
print(f"R² of these rows: {shares.total_:.2f}")
