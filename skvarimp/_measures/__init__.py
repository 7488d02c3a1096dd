"""One file a public measure, `fit(estimator, X, y)` and `importances_`."""
