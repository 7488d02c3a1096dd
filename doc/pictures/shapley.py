from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import ShapleyImportance

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = GradientBoostingRegressor(max_depth=2, random_state=0).fit(X[:300], y[:300])
importance = ShapleyImportance(loss="squared_error", random_state=0)
importance.fit(model, X[300:], y[300:]).plot()
