"""How often FIRM takes identifiers that are noise for an effect.

    python benchmarks/firm_levels.py --samples 400

300 rows of a normal score, and a column of k different strings that has nothing to do
with it. A row of the output: the share of samples whose importance is more than three
standard errors above 0, and the share whose importance cannot be estimated (NaN).
"""

import argparse
import warnings

import numpy as np

from skvarimp import FIRMImportance

N_ROWS = 300


def ratio(k, random):
    """Importance by its standard error; NaN where it is not estimated."""
    codes = np.concatenate([np.arange(k), random.integers(0, k, N_ROWS - k)])
    names = np.array([f"id{code}" for code in codes], dtype=object)
    score = random.standard_normal(N_ROWS)
    importance = FIRMImportance().fit(None, names[:, np.newaxis], score)
    value, error = importance.importances_[0], importance.standard_errors_[0]
    return 0.0 if error == 0 else value / error


def main():
    """Print one line per number of levels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    samples = parser.parse_args().samples
    warnings.simplefilter("ignore")
    print(f"{'levels':>6} {'above 3 errors':>15} {'not estimated':>14}")
    for k in (3, 10, 30, 100, 150, 200, 235, 250, 299):
        random = np.random.default_rng(k)
        found = np.array([ratio(k, random) for _ in range(samples)])
        print(f"{k:6d} {np.mean(found > 3):15.3f} {np.isnan(found).mean():14.3f}")


if __name__ == "__main__":
    main()
