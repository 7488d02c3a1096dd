from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from skvarimp import PermutationImportance

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
forest.fit(X_train, y_train)
PermutationImportance().fit(forest, X_test, y_test).plot(kind="dots")
