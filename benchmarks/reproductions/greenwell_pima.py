"""Greenwell et al., section 5: the Pima diabetes data under a small network.

A network of seven logistic units with weight decay 0.01 on the rows without missing
values, from many random starts: cross-validated area under the ROC curve, partial
dependence importances on the scale of the probability, and their ranks.

    python benchmarks/reproductions/greenwell_pima.py --data DIR
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import PartialDependenceImportance

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import NotAvailable, add_option, pima


def network(seed):
    """Standardised inputs, seven units.

    R's nnet minimises deviance / 2 + decay sum w^2; MLPClassifier the mean log loss +
    alpha / (2 n) sum w^2, so that alpha is twice the decay of 0.01.
    """
    return make_pipeline(
        StandardScaler(),
        MLPClassifier(
            hidden_layer_sizes=(7,),
            activation="logistic",
            solver="lbfgs",
            alpha=0.02,
            max_iter=500,
            random_state=seed,
        ),
    )


def print_table(names, values, ranks):
    """Mean importance, its spread over the starts, mean rank."""
    n_starts = len(values)
    print(f"{'':10}{'importance':>16}{'rank':>16}   first / last of {n_starts} starts")
    for j in np.argsort(-values.mean(axis=0)):
        importance = f"{values[:, j].mean():.3f} ±{values[:, j].std():.3f}"
        rank = f"{ranks[:, j].mean():.1f} ±{ranks[:, j].std():.1f}"
        first, last = (ranks[:, j] == 1).sum(), (ranks[:, j] == len(names)).sum()
        print(f"{names[j]:10}{importance:>16}{rank:>16}{first:11d} / {last}")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_option(parser)
    parser.add_argument("--starts", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        X, y = pima(options.data)
    except NotAvailable as missing:
        print(f"skipped: {missing}")
        return
    complete = X.notna().all(axis=1).to_numpy()
    X, y = X[complete], y[complete]
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0)
    area = cross_val_score(network(0), X, y, scoring="roc_auc", cv=folds)
    print(f"{len(y)} rows; area under the ROC curve {area.mean():.3f} (published 0.77)")
    fitted = [
        PartialDependenceImportance().fit(network(seed).fit(X, y), X)
        for seed in range(options.starts)
    ]
    values = np.array([imp.importances_ for imp in fitted])
    ranks = np.array([imp.ranking_ for imp in fitted])
    print_table(list(X.columns), values, ranks)


if __name__ == "__main__":
    main()
