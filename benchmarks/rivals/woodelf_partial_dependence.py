"""woodelf-explainer's exact partial dependence of tree models, every distinct value."""

import numpy as np

from rivals._checks import close
from skvarimp import PartialDependenceImportance

PACKAGE = "woodelf_explainer"
NAME, ESTIMAND = "woodelf-explainer", "sd of curve, all distinct values"


def load():
    """The function."""
    from woodelf.pdp import woodelf_fast_pdp

    return woodelf_fast_pdp


def ours(model, X, y):
    """Ours, over every distinct value."""
    return PartialDependenceImportance().fit(model, X).importances_


def run(model, X, y):
    """Standard deviation of each column's centred curve."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    curves = load()(model, frame, frame, centered=True, verbose=False)
    result = np.zeros(X.shape[1])
    for j, name in enumerate(frame.columns):
        if name in curves:
            first = np.unique(X[:, j], return_index=True)[1]
            result[j] = np.std(np.asarray(curves[name])[first], ddof=1)
    return result


def same(theirs, ours):
    """The same numbers but for its 32-bit arithmetic."""
    return close(theirs, ours, 1e-5)
