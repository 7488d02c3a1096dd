"""How often `tol` is kept: estimates within 1.96 tol of exact, and the draws it took.

    python benchmarks/tolerance_accuracy.py --seeds 400

Draws stop when the standard error of each importance is estimated below `tol` times
the largest importance. If the errors were known and normal, 95% of the estimates would
end within 1.96 tol; skewed draws are hard, because the first ones look more even than
they are. Data and model stay the same, the draws change from seed to seed.
"""

import argparse
import warnings

import numpy as np

from skvarimp import SensitivityImportance

N_ROWS = 1000


def problems():
    """Name -> (model, rows): even, heavy-tailed, and rarely hit draws."""
    random = np.random.default_rng(0)
    normal = random.standard_normal((N_ROWS, 2))
    tails = random.standard_t(2, (N_ROWS, 2))

    def product(X):
        return X[:, 0] * (1 + X[:, 1])

    def weighted(X):
        return 5 * X[:, 0] + X[:, 1]

    result = {"normal": (product, normal), "t2 tails": (product, tails)}
    for share in (0.1, 0.02, 0.005):
        rare = random.permutation(N_ROWS) < share * N_ROWS
        rows = np.column_stack([rare, random.standard_normal(N_ROWS)])
        result[f"binary, {share}"] = (weighted, rows)
    return result


def kept(model, X, n_seeds, tol, **parameters):
    """Share of seeds within 1.96 tol, per entry, and the mean number of draws."""
    parameters = {"scale": None, "grid": 50, **parameters}
    exact = SensitivityImportance(**parameters | {"estimation": "exact"})
    exact = exact.fit(model, X).importances_
    inside, draws = [], []
    for seed in range(n_seeds):
        imp = SensitivityImportance(
            tol=tol, n_repeats=1000, random_state=seed, **parameters
        ).fit(model, X)
        inside.append(np.abs(imp.importances_ - exact) <= 1.96 * tol * exact.max())
        draws.append(imp.n_draws_)
    return np.mean(inside, axis=0), np.mean(draws, axis=0)


def main():
    """Print a line per problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    cases = [("sampled", "pairs"), ("sampled", "observed"), ("rows", "observed")]
    for estimation, contrast in cases:
        for name, (model, X) in problems().items():
            for tol in (0.1, 0.03):
                shares, draws = kept(
                    model, X, n_seeds, tol, estimation=estimation, contrast=contrast
                )
                print(
                    f"{estimation:8} {contrast:9} {name:14} tol={tol:<5}"
                    f" kept {shares.round(3)}  draws {draws.round().astype(int)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
