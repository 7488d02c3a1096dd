"""Is the spread of importances over folds a standard error? No: by how much not.

    python benchmarks/fold_spread.py

For simulated data sets, the standard error of the mean importance that the folds'
spread would suggest, as a share of the true one (the spread of the mean over data
sets): naively, sd / sqrt(number of folds), and after Nadeau and Bengio (2003),
sd * sqrt(1 / number of folds + held-out rows / training rows). 1 would be right.
"""

import warnings

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold, ShuffleSplit
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
)

N_ROWS, N_DATA_SETS, SLOPES = 100, 150, [1.0, 0.5, 0.0]
MODELS = {"linear": LinearRegression(), "tree": DecisionTreeRegressor(max_depth=3)}
MEASURES = {
    "permutation": PermutationImportance(),
    "sensitivity": SensitivityImportance(scale=None),
}
SPLITTERS = {  # all hold out a fifth
    "5 folds": 5,
    "5 folds, 3 times": RepeatedKFold(n_splits=5, n_repeats=3),
    "15 random splits": ShuffleSplit(15, test_size=0.2),
}
OVERLAP = 0.2 / 0.8


def shares(model, measure, splitter):
    """Naive and corrected standard error of each column, as shares of the true one."""
    means, variances = [], []
    for seed in range(N_DATA_SETS):
        random = np.random.default_rng(seed)
        X = random.standard_normal((N_ROWS, len(SLOPES)))
        y = X @ SLOPES + random.standard_normal(N_ROWS)
        folds = importance_across_folds(
            model, X, y, measure, splitter, random_state=seed
        )
        means.append(folds.mean)
        variances.append(folds.sd**2)
    n_folds = len(folds.importances)
    true = np.std(means, axis=0, ddof=1)
    spread = np.sqrt(np.mean(variances, axis=0))
    return spread / np.sqrt(n_folds) / true, spread * np.sqrt(
        1 / n_folds + OVERLAP
    ) / true


def main():
    """Print the table."""
    print(f"{N_DATA_SETS} data sets of {N_ROWS} rows, slopes {SLOPES}")
    for name, model in MODELS.items():
        for what, measure in MEASURES.items():
            for which, splitter in SPLITTERS.items():
                naive, corrected = shares(model, measure, splitter)
                print(
                    f"{name:7} {what:12} {which:17} naive {naive.round(2)}  "
                    f"corrected {corrected.round(2)}"
                )


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
