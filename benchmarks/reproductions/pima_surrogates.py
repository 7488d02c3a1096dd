"""Accuracy with missing values: surrogate splits, imputation, scikit-learn's own way.

Pima Indians Diabetes with missing values as such (mlbench PimaIndiansDiabetes2: 768
rows; 374 lack insulin, 227 triceps, 46 others). Repeated stratified cross-validation;
every way of handling missing values gets the same folds and the same model.

    python benchmarks/reproductions/pima_surrogates.py --data DIRECTORY [--repeats 10]

The data are read from pima2.csv in the directory, else from OpenML (where 0 stands for
missing), else the script says that it cannot run.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skvarimp import SurrogateTreePredictor

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import NotAvailable, add_option, from_openml, in_directory

COLUMNS = [
    "pregnant",
    "glucose",
    "pressure",
    "triceps",
    "insulin",
    "mass",
    "pedigree",
    "age",
]
MAY_BE_MISSING = [1, 2, 3, 4, 5]  # a measured 0 is impossible in these


def load(directory):
    """X with NaN where missing, and y as 0 and 1."""
    path = in_directory(directory, "pima2.csv")
    if path is not None:
        text = np.genfromtxt(path, delimiter=",", dtype=str, skip_header=1)
        text = np.char.strip(text, '"')
        return np.where(text[:, :8] == "NA", "nan", text[:, :8]).astype(float), (
            text[:, 8] == "pos"
        ).astype(int)
    X, y = from_openml("diabetes")
    X = np.array(X, dtype=float)
    for j in MAY_BE_MISSING:
        X[X[:, j] == 0, j] = np.nan
    return X, (np.asarray(y) == "tested_positive").astype(int)


MODELS = {
    "tree of depth 4": DecisionTreeClassifier(
        max_depth=4, min_samples_leaf=7, random_state=0
    ),
    "forest of 100 trees": RandomForestClassifier(
        100, min_samples_leaf=3, random_state=0
    ),
}


class GrownOnImputed:
    """Grow on medians, find surrogates there, and predict rows with their gaps."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit the imputer, the model and its surrogates."""
        complete = SimpleImputer(strategy="median").fit_transform(X)
        self.predictor = SurrogateTreePredictor(self.model).fit(complete, y)
        return self

    def predict_proba(self, X):
        """Gaps follow surrogates."""
        return self.predictor.predict_proba(X)


class GrownOnCompleteRows(GrownOnImputed):
    """Grow on the rows without gaps, and predict rows with their gaps."""

    def fit(self, X, y):
        """Fit the model and its surrogates."""
        complete = ~np.isnan(X).any(axis=1)
        self.predictor = SurrogateTreePredictor(self.model)
        self.predictor.fit(X[complete], y[complete])
        return self


WAYS = {
    "scikit-learn's own": lambda model: model,
    "surrogates": SurrogateTreePredictor,
    "surrogates, grown on medians": GrownOnImputed,
    "surrogates, complete rows": GrownOnCompleteRows,
    "median": lambda model: make_pipeline(SimpleImputer(strategy="median"), model),
    "median and indicator": lambda model: make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), model
    ),
    "5 nearest neighbours": lambda model: make_pipeline(KNNImputer(), model),
}


def hide(X, share, rng):
    """X with further values missing at random."""
    return np.where(rng.random(X.shape) < share, np.nan, X)


def compare(X, y, n_repeats, hidden):
    """Accuracy and AUC of every way on every fold.

    Parameters
    ----------
    hidden : float
        Share of further values made missing in the rows to predict.

    Returns
    -------
    dict
        (model, way) -> ndarray of shape (n_folds, 2).
    """
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=n_repeats, random_state=0)
    scores = {(model, way): [] for model in MODELS for way in WAYS}
    for number, (train, test) in enumerate(folds.split(X, y)):
        rows = hide(X[test], hidden, np.random.default_rng(number))
        for (model, way), of_folds in scores.items():
            fitted = WAYS[way](clone(MODELS[model])).fit(X[train], y[train])
            positive = fitted.predict_proba(rows)[:, 1]
            of_folds.append(
                (
                    accuracy_score(y[test], positive > 0.5),
                    roc_auc_score(y[test], positive),
                )
            )
    return {key: np.array(of_folds) for key, of_folds in scores.items()}


def main():
    """Print one table for each share of hidden values."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_option(parser)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    try:
        X, y = load(options.data)
    except NotAvailable as reason:
        sys.exit(f"skipped, no data: {reason}")
    counts = np.isnan(X).sum(axis=0)
    shown = {c: int(m) for c, m in zip(COLUMNS, counts) if m}
    print(f"{len(X)} rows, {y.sum()} positive; missing: {shown}")
    for hidden in (0.0, 0.3):
        print(
            f"\n{hidden:.0%} further values missing in the rows to predict; mean over "
            f"{5 * options.repeats} folds, difference to scikit-learn's own ± its "
            "standard deviation over repeats"
        )
        print(f"{'':<52}{'accuracy':>9}{'':>17}{'AUC':>8}")
        for (model, way), scores in compare(X, y, options.repeats, hidden).items():
            if way == "scikit-learn's own":
                base = scores
            mean = scores.mean(axis=0)
            by_repeat = (scores - base).reshape(options.repeats, 5, 2).mean(axis=1)
            spread = by_repeat.std(axis=0, ddof=1) if options.repeats > 1 else [0, 0]
            gap = by_repeat.mean(axis=0)
            columns = [
                f"{mean[k]:9.3f} ({gap[k]:+.3f} ±{spread[k]:.3f})" for k in (0, 1)
            ]
            print(f"{model:<22}{way:<30}" + "".join(columns))


if __name__ == "__main__":
    main()
