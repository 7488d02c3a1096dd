from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skvarimp import PartialDependenceImportance

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(
    max_depth=4,
    n_estimators=60,
    learning_rate=0.08,
    min_samples_leaf=10,
    random_state=0,
)
of_rows = PartialDependenceImportance(
    kind="individual", statistic="std", features=["bmi", "s5", "s6", "s3", "sex"]
)
of_rows.fit(model.fit(X, y), X).plot_curves(
    max_features=3, centred=True, figsize=(6.4, 2.6)
)
