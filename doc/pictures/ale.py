from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skvarimp import ALEImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
ALEImportance().fit(forest, X).plot_curves(max_features=3, figsize=(6.4, 2.6))
