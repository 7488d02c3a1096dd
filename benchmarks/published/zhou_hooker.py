"""Impurity importance of columns with few and with many levels.

After Zhou & Hooker (2021), section 3.3: 1000 rows of one normal column and columns with
2, 4, 10 and 20 levels, 100 trees of depth 5. Where y depends on nothing, are all
importances centred at 0? And from which strength on is the column with two levels
first?

``python benchmarks/published/zhou_hooker.py FILE --runs 100`` adds the runs that FILE
does not have yet and prints both tables.
"""

import argparse

import numpy as np
from runs import added, by_case
from simulations import LEVELS, columns_of_many_levels
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from skvarimp import ImpurityImportance, PermutationImportance

STRENGTHS = (0.0, 0.05, 0.1, 0.15, 0.2)
FORESTS = {"classes": RandomForestClassifier, "regression": RandomForestRegressor}
METHODS = {
    "impurity": None,
    "impurity, out of bag": ImpurityImportance(rows="oob"),
    "permutation, out of bag": PermutationImportance(rows="oob"),
}


def simulate(seed, case):
    """Importances by each method."""
    X, y = columns_of_many_levels(seed, case["strength"], case["kind"])
    forest = FORESTS[case["kind"]](100, max_depth=5, random_state=seed).fit(X, y)
    return {
        name: list(
            forest.feature_importances_
            if measure is None
            else measure.fit(forest, X, y).importances_
        )
        for name, measure in METHODS.items()
    }


def main():
    """Add runs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    cases = [{"kind": k, "strength": s} for k in FORESTS for s in STRENGTHS]
    lines = added(options.file, cases, simulate, options.runs)
    found = by_case(lines, "kind", "strength")
    print("y depends on nothing: mean importance in its errors, by levels")
    print(f"{'':37s}{'normal':>8s}" + "".join(f"{k:8d}" for k in LEVELS))
    for kind in FORESTS:
        for name in METHODS:
            values = np.array([line[name] for line in found[kind, 0.0]])
            error = values.std(axis=0, ddof=1) / len(values) ** 0.5
            cells = "".join(f"{z:8.1f}" for z in values.mean(axis=0) / error)
            print(f"{kind:12s}{name:25s}{cells}")
    n = len(found["classes", 0.0])
    print(f"\nMean rank of the column with two levels, {n} runs (1 is best)")
    print(f"{'strength':37s}" + "".join(f"{s:8.2f}" for s in STRENGTHS))
    for kind in FORESTS:
        for name in METHODS:
            ranks = [
                np.mean([_rank(line[name]) for line in found[kind, s]])
                for s in STRENGTHS
            ]
            print(f"{kind:12s}{name:25s}" + "".join(f"{r:8.2f}" for r in ranks))


def _rank(importances):
    """Of the column with two levels."""
    return 1 + sum(value > importances[1] for value in importances)


if __name__ == "__main__":
    main()
