from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV

from skvarimp import PermutationImportance, importance_difference

X, y = load_diabetes(return_X_y=True, as_frame=True)
forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
linear = RidgeCV().fit(X, y)
first, second = (
    PermutationImportance(keep_rows=True).fit(model, X, y) for model in (forest, linear)
)
importance_difference(first, second).plot()
