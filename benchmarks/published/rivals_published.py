"""What other packages say of the same question, asked as they recommend."""

import numpy as np

FOLDS, PERMUTATIONS, SAGE_ROWS = 5, 20, 200


def hidimstat_cfi(model, X, y, seed):
    """Conditional feature importance over five folds, by their corrected t-test."""
    from hidimstat import CFICV

    return _hidimstat(CFICV, model, X, y, seed, n_permutations=PERMUTATIONS)


def hidimstat_loco(model, X, y, seed):
    """Leave one covariate out over five folds, by their corrected t-test."""
    from hidimstat import LOCOCV

    return _hidimstat(LOCOCV, model, X, y, seed)


def _hidimstat(kind, model, X, y, seed, **how):
    from sklearn.metrics import log_loss, mean_squared_error
    from sklearn.model_selection import KFold

    if y.dtype.kind == "i":
        how |= {"method": "predict_proba", "loss": log_loss}
    else:
        how |= {"loss": mean_squared_error}
    if "n_permutations" in how:
        how["random_state"] = seed
    found = kind(model, KFold(FOLDS), **how)
    importances = found.fit_importance(X, y)
    return np.asarray(importances, dtype=float), np.asarray(found.pvalues_, dtype=float)


def sage_values(model, X, y, seed):
    """SAGE with the marginal imputer of some rows, on the held-out fifth; no p-values.

    Drawn until its own rule of convergence says enough.
    """
    import sage

    held_out = len(X) // FOLDS
    fitted = model.fit(X[held_out:], y[held_out:])
    rows, loss = X[held_out : held_out + SAGE_ROWS], "mse"
    predict = fitted.predict
    if y.dtype.kind == "i":
        predict, loss = fitted.predict_proba, "cross entropy"
    imputer = sage.MarginalImputer(predict, rows)
    estimator = sage.PermutationEstimator(imputer, loss, random_state=seed)
    values = estimator(X[:held_out], y[:held_out], bar=False, thresh=0.1, batch_size=64)
    return values.values, None
