from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import SensitivityImportance, rank_intervals

X, y = load_diabetes(return_X_y=True, as_frame=True)
forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
importance = SensitivityImportance(keep_rows=True).fit(forest, X, y)
rank_intervals(importance).plot()
