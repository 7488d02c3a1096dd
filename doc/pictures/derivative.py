from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

from skvarimp import DerivativeImportance

X, y = load_diabetes(return_X_y=True, as_frame=True)
machine = SVR(C=100).fit(X, y)
DerivativeImportance().fit(machine, X).plot()
