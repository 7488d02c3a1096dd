"""CPU seconds of whole fits, one thread."""

import os
import time

from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from skvarimp import (
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
)

FOUR = {
    "pairs": SensitivityImportance(scale=None, estimation="exact"),
    "observed": SensitivityImportance(contrast="observed", estimation="exact"),
    "range": SensitivityImportance(contrast="range", scale=None, estimation="exact"),
    "partial dependence": PartialDependenceImportance(),
}


def four(model, X, y):
    """Four exact measures of every column in one walk."""
    return compare_importances({"model": model}, X, y, FOUR)


def fitting(measure):
    """A fit of one measure."""
    return lambda model, X, y: measure.fit(model, X, y)


def in_numpy(fit):
    """The same without compiled kernels."""

    def plain(model, X, y):
        os.environ["SKVARIMP_COMPILED"] = "0"
        try:
            return fit(model, X, y)
        finally:
            del os.environ["SKVARIMP_COMPILED"]

    return plain


FOREST = RandomForestRegressor(100, random_state=0)
BOOSTING = GradientBoostingRegressor(random_state=0)
HISTOGRAM = HistGradientBoostingRegressor(random_state=0)
CASES = {  # model, rows, columns, what is timed
    "ridge": (Ridge(), 100_000, 50, four),
    "logistic": (LogisticRegression(), 5000, 20, four),
    "log loss": (
        LogisticRegression(),
        5000,
        20,
        fitting(PermutationImportance(estimation="exact")),
    ),
    "support vectors": (SVR(C=10.0), 2000, 20, four),
    "network": (MLPRegressor(max_iter=10, random_state=0), 1000, 20, four),
    "forest": (FOREST, 1000, 10, four),
    "forest in NumPy": (FOREST, 1000, 10, in_numpy(four)),
    "boosting": (BOOSTING, 20_000, 20, four),
    "boosting in NumPy": (BOOSTING, 5000, 20, in_numpy(four)),
    "histogram boosting": (HISTOGRAM, 20_000, 20, four),
    "pairs of columns": (
        HISTOGRAM,
        10_000,
        20,
        fitting(InteractionImportance(grid=5)),
    ),
    "surrogates": (
        RandomForestClassifier(50, random_state=0),
        2000,
        20,
        fitting(ImpurityImportance(surrogates=True)),
    ),
    "conditional scores": (BOOSTING, 20_000, 20, fitting(FIRMImportance())),
}


class Fits:
    """Time of each case."""

    params = tuple(CASES)
    param_names = ("case",)
    timer = staticmethod(time.process_time)
    timeout = 300

    def setup(self, case):
        """Fit the model."""
        model, n, p, self.timed = CASES[case]
        self.X, self.y = make_friedman1(n, p, noise=1.0, random_state=0)
        if hasattr(model, "predict_proba"):
            self.y = (self.y > 14).astype(int)
        self.model = model.fit(self.X, self.y)

    def time_fit(self, case):
        """The fit of the importances."""
        self.timed(self.model, self.X, self.y)
