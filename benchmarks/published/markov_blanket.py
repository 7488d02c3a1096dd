"""Which measure finds the Markov blanket of y in a Gaussian graph?

After De Castellane (2025): 500 rows to fit a forest of 50 trees, 500 others to measure.
How often are the four most important columns the four of the blanket? The graph is
`simulations.gaussian_graph`: ten columns, of which the two parents, the child and the
spouse are the blanket.

``python benchmarks/published/markov_blanket.py FILE --runs 50`` adds the runs that FILE
does not have yet and prints the shares.
"""

import argparse

import numpy as np
from runs import added, by_case
from simulations import BLANKET, gaussian_graph
from sklearn.ensemble import RandomForestRegressor

from skvarimp import (
    ImpurityImportance,
    PermutationImportance,
    ShapleyImportance,
    leave_out_importances,
)

ROWS = 500
TRAIN, TEST = slice(0, ROWS), slice(ROWS, 2 * ROWS)


def on_test_rows(measure):
    """A measure of the rows that the forest has not seen."""
    return lambda forest, X, y: measure.fit(forest, X[TEST], y[TEST]).importances_


def on_training_rows(measure):
    """A measure of the rows that are out of bag of each tree."""
    return lambda forest, X, y: measure.fit(forest, X[TRAIN], y[TRAIN]).importances_


def leave_out(forest, X, y):
    """Refits without each column."""
    split = [(np.arange(ROWS), np.arange(ROWS, 2 * ROWS))]
    everyone = np.arange(len(X))
    return leave_out_importances(
        forest, X, y, cv=split, groups=everyone, random_state=0
    ).importances


METHODS = {
    "impurity": lambda forest, X, y: forest.feature_importances_,
    "impurity, out of bag": on_training_rows(ImpurityImportance(rows="oob")),
    "impurity, unseen rows": on_test_rows(ImpurityImportance(rows="unseen")),
    "permutation": on_test_rows(PermutationImportance(random_state=0)),
    "permutation, out of bag": on_training_rows(PermutationImportance(rows="oob")),
    "Shapley (SAGE)": on_test_rows(
        ShapleyImportance(loss="squared_error", n_repeats=4, random_state=0)
    ),
    "conditional, residuals": on_test_rows(
        PermutationImportance(conditional="residuals", random_state=0)
    ),
    "leave out": leave_out,
}


def simulate(seed, case):
    """Whether the four of the blanket are on top, and how many of them are."""
    columns, y = gaussian_graph(seed, 2 * ROWS)
    names, X = list(columns), np.column_stack(list(columns.values()))
    forest = RandomForestRegressor(50, random_state=seed).fit(X[TRAIN], y[TRAIN])
    found = METHODS[case["method"]](forest, X, y)
    top = {names[j] for j in np.argsort(-found)[: len(BLANKET)]}
    hits = len(top & set(BLANKET))
    return {"hits": hits, "all": hits == len(BLANKET)}


def main():
    """Add runs and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=METHODS)
    options = parser.parse_args()
    cases = [{"method": method} for method in options.methods]
    lines = added(options.file, cases, simulate, options.runs)
    print("measure                  runs  all four on top  of the four  CPU s")
    for (method,), of_case in by_case(lines, "method").items():
        share = np.mean([line["all"] for line in of_case])
        hits = np.mean([line["hits"] for line in of_case])
        error = np.sqrt(share * (1 - share) / len(of_case))
        seconds = np.mean([line["cpu"] for line in of_case])
        cells = f"{share:6.2f} ± {error:.2f}{hits:16.2f}{seconds:9.2f}"
        print(f"{method:24s}{len(of_case):5d}  {cells}")


if __name__ == "__main__":
    main()
