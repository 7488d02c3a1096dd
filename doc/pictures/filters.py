from sklearn.datasets import load_diabetes

from skvarimp import FilterImportance
from skvarimp.filters import lowess_r2

X, y = load_diabetes(return_X_y=True, as_frame=True)
FilterImportance(score_func=lowess_r2).fit(None, X, y).plot()
