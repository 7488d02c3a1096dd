"""One file per public measure, `fit(estimator, X, y)` and `importances_`."""
