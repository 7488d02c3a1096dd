from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from skvarimp import CoefficientImportance, compare_importances

X, y = load_diabetes(return_X_y=True, as_frame=True)
measures = {
    "t statistic": CoefficientImportance(),
    "standardised coefficient": CoefficientImportance(statistic="standardized"),
}
model = LinearRegression().fit(X, y)
compare_importances({"linear": model}, X, y, measures).plot()
