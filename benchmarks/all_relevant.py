"""`AllRelevantSelector` on noise, on Madelon, and beside the package boruta.

    python benchmarks/all_relevant.py noise --sets 50
    python benchmarks/all_relevant.py madelon --data DIRECTORY
    python benchmarks/all_relevant.py boruta --sets 10

noise: columns selected of 50 that have nothing to do with y, 200 rows. madelon: which
of the 20 columns that carry information are found, and which others are selected.
boruta: agreement and CPU time on the same forests, with the same limit of rounds.
"""

import argparse
import warnings

import data
import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from timer import once

from skvarimp import AllRelevantSelector, ImpurityImportance, SensitivityImportance

IMPORTANCES = {
    "default": None,
    "impurity": ImpurityImportance(),
    "sensitivity": SensitivityImportance(contrast="observed", scale=None),
}


def noise(arguments):
    """Selected columns on data without any information."""
    importance = IMPORTANCES[arguments.importance]
    for kind in (RandomForestRegressor, RandomForestClassifier):
        counts, tentative, rounds = [], [], []
        for seed in range(arguments.sets):
            random = np.random.default_rng(seed)
            X, y = random.standard_normal((200, 50)), random.standard_normal(200)
            if kind is RandomForestClassifier:
                y = (y > 0).astype(int)
            forest = kind(arguments.trees, n_jobs=1)
            selector = AllRelevantSelector(forest, importance, random_state=seed)
            selector.fit(X, y)
            counts.append(selector.n_features_)
            tentative.append(selector.tentative_.sum())
            rounds.append(selector.n_iter_)
        print(
            f"{kind.__name__}, {arguments.importance}: selected {np.mean(counts):.2f} "
            f"of 50 on average ({np.bincount(counts)}), tentative "
            f"{np.mean(tentative):.2f}, rounds {np.mean(rounds):.0f}",
            flush=True,
        )


def informative(X):
    """Madelon's 20 columns: those that another column predicts.

    Five columns are informative, fifteen are linear combinations of them (and copies),
    480 are noise: a column of the first kinds has a correlation of at least 0.2 with
    one of the others, a column of noise has none above 0.15.
    """
    correlation = np.abs(np.corrcoef(X.T)) - np.eye(X.shape[1])
    return np.flatnonzero(correlation.max(axis=0) > 0.2)


def madelon(arguments):
    """Found and false columns of Madelon's training rows."""
    X, y, _, _ = data.nips2003("madelon", arguments.data)
    truth = informative(X)
    importance = IMPORTANCES[arguments.importance]
    forest = RandomForestClassifier(2 * arguments.trees)
    idle = arguments.n_iter_no_change
    selector = AllRelevantSelector(
        forest, importance, n_iter_no_change=idle, random_state=0
    )
    _, spent = once(selector.fit, X, y)
    selected = selector.get_support(indices=True)
    print(
        f"Madelon, {len(truth)} columns carry information: "
        f"{len(np.intersect1d(selected, truth))} found, "
        f"{len(np.setdiff1d(selected, truth))} false, "
        f"{selector.tentative_.sum()} tentative, {selector.n_iter_} rounds, "
        f"{spent.cpu:.0f} s"
    )


def example(seed):
    """One of three kinds of data: classes, classes with weak columns, a regression."""
    if seed % 3 == 2:
        X, y = make_friedman1(400, n_features=30, noise=2.0, random_state=seed)
        return X, y, RandomForestRegressor
    X, y = make_classification(
        500,
        40,
        n_informative=6,
        n_redundant=4,
        class_sep=1.0 if seed % 3 else 0.6,
        flip_y=0.05,
        shuffle=False,
        random_state=seed,
    )
    return X, y, RandomForestClassifier


def boruta(arguments):
    """Agreement and time beside BorutaPy."""
    from boruta import BorutaPy

    agreement, own_time, other_time = [], 0.0, 0.0
    for seed in range(arguments.sets):
        X, y, kind = example(seed)
        forest = kind(arguments.trees, max_depth=7)
        own = AllRelevantSelector(
            forest, IMPORTANCES[arguments.importance], random_state=seed
        )
        other = BorutaPy(forest, n_estimators=arguments.trees, random_state=seed)
        _, ours = once(own.fit, X, y)
        _, theirs = once(other.fit, X, y)
        own_time, other_time = own_time + ours.cpu, other_time + theirs.cpu
        agreement.append((own.support_ == other.support_).mean())
        print(
            f"{seed}: ours {own.get_support(indices=True)}, {own.n_iter_} rounds, "
            f"{ours.cpu:.1f} s; BorutaPy {np.flatnonzero(other.support_)}, "
            f"{len(other.importance_history_) - 1} rounds, {theirs.cpu:.1f} s",
            flush=True,
        )
    print(
        f"agreement on {np.mean(agreement):.1%} of the columns, at worst "
        f"{np.min(agreement):.1%}; time {own_time:.0f} s and {other_time:.0f} s, ratio "
        f"{own_time / other_time:.2f}"
    )


def main():
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("noise", "madelon", "boruta"))
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--importance", choices=IMPORTANCES, default="default")
    parser.add_argument("--n-iter-no-change", type=int, default=5, help="of madelon")
    data.add_option(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    globals()[arguments.study](arguments)


if __name__ == "__main__":
    main()
