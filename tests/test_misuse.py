"""What a newcomer gets wrong: each mistake has a message of ours, before any work."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from skvarimp import (
    FilterImportance,
    FIRMImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp.filters import auc, lowess_r2

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:60, :3], Y.iloc[:60]
LINEAR = LinearRegression().fit(X, Y)
DATES = pd.date_range("2020-01-01", periods=len(Y))

MEASURES_OF_Y = {
    "sensitivity": lambda y: SensitivityImportance().fit(LINEAR, X, y),
    "permutation": lambda y: PermutationImportance().fit(LINEAR, X, y),
    "firm": lambda y: FIRMImportance().fit(None, X, y),
    "lowess": lambda y: FilterImportance(lowess_r2).fit(None, X, y),
    "auc": lambda y: FilterImportance(auc).fit(None, X, y),
}


@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_dates_are_no_target(measure):
    """NumPy counts them as nanoseconds: all importances would be next to 0."""
    with pytest.raises(ValueError, match="y must hold numbers or labels, got dates"):
        MEASURES_OF_Y[measure](DATES)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_missing_targets(measure, missing):
    y = Y.astype(object)
    y.iloc[3] = missing
    with pytest.raises(ValueError, match="y has missing labels or numbers. Leave"):
        MEASURES_OF_Y[measure](y)
