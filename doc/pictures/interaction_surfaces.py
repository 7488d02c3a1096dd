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
pairs = [("bmi", "s5"), ("s5", "s6"), ("sex", "s3")]
curves = PartialDependenceImportance(pairs=pairs).fit(model.fit(X, y), X)
curves.plot_surfaces()
curves.plot_surfaces(effect="interaction")
