"""How far numbers of rows in partitions are off those of the same rows in memory.

Usage: ``OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/partition_errors.py [--rows N]
[--donors N] [--partitions N] [--seeds N] [--measures NAME ...]``. Of more rows than
donors, partitions move their rows to the values of the donors, which are drawn without
replacement. The error of all rows is estimated from the donors: its square is the
squared error of the donors alone times their share of the rows. What the drawing adds
is the squared standard error in partitions minus that. It is an estimate from a few
samples, so that the mean over all seeds is taken. The difference of the two importances
over the root of that mean is a z-value for each seed and feature: if the errors are
honest, the z-values have a standard deviation of about 1. It is 0 if the drawing adds
nothing but rounding. Fewer rows and donors take less time.
"""

import argparse

import dask.array as da
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skvarimp import (
    ALEImportance,
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
    compare_importances,
)
from skvarimp._partitions import partitions

MEASURES = {
    "sensitivity, pairs": SensitivityImportance(estimation="exact"),
    "sensitivity, observed": SensitivityImportance(
        contrast="observed", estimation="exact"
    ),
    "sensitivity, range": SensitivityImportance(
        contrast="range", estimation="exact", scale=None
    ),
    "permutation": PermutationImportance(estimation="exact"),
    "partial dependence": PartialDependenceImportance(),
    "Sobol', total": SobolImportance(estimation="exact"),
    "ALE": ALEImportance(),
    "FIRM": FIRMImportance(),
}
COLUMNS = 5


def simulate(n_rows, seed):
    """Correlated normal columns, and a target with an interaction."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS))
    X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :-1]
    y = X[:, 0] * X[:, 1] + 3 * np.sin(X[:, 2]) + X[:, 3]
    return X, y + rng.standard_normal(n_rows)


def difference(memory, apart, donors, share):
    """The difference of each feature's importances, and the variance it should have."""
    added = apart.standard_errors**2 - share * donors.standard_errors**2
    rounding = (1e-6 * memory.standard_errors) ** 2
    return apart.importances - memory.importances, added + rounding


def main():
    """Print mean and standard deviation of the z-values by measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--donors", type=int, default=partitions.MOST_DONORS)
    parser.add_argument("--partitions", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=MEASURES)
    given = parser.parse_args()
    partitions.MOST_DONORS = given.donors
    measures = {name: MEASURES[name] for name in given.measures}
    found = {name: [] for name in measures}
    X, y = simulate(5000, 2**20)
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X, y)
    chunk = -(-given.rows // given.partitions)
    for seed in range(given.seeds):
        X, y = simulate(given.rows, seed)
        parts = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
        rows = partitions.Partitions(*parts, None, None)
        donors = rows.table.native, rows.y, rows.sample_weight
        memory, apart, donors = (
            compare_importances({"": model}, X, y, measures, sample_weight=w).results
            for X, y, w in ((X, y, None), (*parts, None), donors)
        )
        for name, values in found.items():
            results = (one["", name] for one in (memory, apart, donors))
            values.append(difference(*results, rows.share))
    print(f"{'measure':24s}{'z-values':>9s}{'mean':>7s}{'sd':>6s}{'range':>15s}")
    for name, values in found.items():
        differences, added = map(np.array, zip(*values))
        z = differences / np.sqrt(added.mean(axis=0))
        ends = f"{z.min():.2f} to {z.max():.2f}"
        print(f"{name:24s}{z.size:9d}{z.mean():7.2f}{z.std():6.2f}{ends:>15s}")


if __name__ == "__main__":
    main()
