from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)

importance = SensitivityImportance().fit(forest, X, y)
importance.plot(title="Sensitivity of a forest")
