from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import PartialDependenceImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X, y)
PartialDependenceImportance(curve_errors=True).fit(model, X).plot_curves()
