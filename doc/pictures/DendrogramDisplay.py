from sklearn.datasets import load_diabetes

from skvarimp import correlated_groups

X, y = load_diabetes(return_X_y=True, as_frame=True)
correlated_groups(X, threshold=0.5).plot()
