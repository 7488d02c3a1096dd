"""Table 2 of Huh & Lee: one scale of importance for three kinds of model.

1000 rows of Y = 4 X1 + 3 X2 + 2 X3 + X4 + e, all standard normal. Printed beside the
published figures: mean and spread over simulated samples, exactly over all pairs of
rows and from ten sampled repeats.

    python benchmarks/reproductions/huh_lee.py --samples 20
"""

import argparse

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import SensitivityImportance

COEFFICIENTS = np.array([4.0, 3.0, 2.0, 1.0])

# Huh & Lee, Table 2: X1 to X4, D_y, GoFit
PUBLISHED = {
    "linear regression": (0.72, 0.54, 0.37, 0.19, 6.18, 0.82),
    "network": (0.71, 0.53, 0.36, 0.18, 6.18, 0.81),
    "tree of depth 5": (0.70, 0.47, 0.22, 0.01, 6.17, 0.60),
}


def simulate(seed, n=1000):
    """The data of section 4."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4))
    return X, X @ COEFFICIENTS + random.standard_normal(n)


def models(seed):
    """Linear regression, a network of two logistic hidden units, a tree of depth 5.

    Clementine's network has a logistic output node too, on y scaled to [0, 1]; here
    the output is linear, on y scaled to [0, 1].
    """
    network = MLPRegressor(
        hidden_layer_sizes=(2,),
        activation="logistic",
        solver="lbfgs",
        alpha=0.0,
        max_iter=5000,
        tol=1e-8,
        random_state=seed,
    )
    return {
        "linear regression": LinearRegression(),
        "network": TransformedTargetRegressor(network, transformer=MinMaxScaler()),
        "tree of depth 5": DecisionTreeRegressor(max_depth=5, random_state=seed),
    }


def importances(model, X, y, estimation, seed):
    """X1 to X4, D_y and GoFit of one fitted model."""
    imp = SensitivityImportance(
        estimation=estimation, n_draws=20, random_state=seed, n_jobs=1
    ).fit(model, X, y)
    return [*imp.importances_, imp.scale_, imp.goodness_of_fit_]


def run(n_samples):
    """{model: {estimation: (n_samples, 6)}}."""
    results = {name: {"exact": [], "sampled": []} for name in PUBLISHED}
    for seed in range(n_samples):
        X, y = simulate(seed)
        for name, model in models(seed).items():
            model.fit(X, y)
            for estimation, rows in results[name].items():
                rows.append(importances(model, X, y, estimation, seed))
    return {
        name: {e: np.array(rows) for e, rows in of_model.items()}
        for name, of_model in results.items()
    }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    results = run(parser.parse_args().samples)
    columns = ["X1", "X2", "X3", "X4", "D_y", "GoFit"]
    print(f"{'':34}" + "".join(f"{c:>14}" for c in columns))
    for name, of_model in results.items():
        print(f"{name:20}{'published':14}", end="")
        print("".join(f"{v:14.2f}" for v in PUBLISHED[name]))
        for estimation, rows in of_model.items():
            print(f"{'':20}{estimation:14}", end="")
            mean, spread = rows.mean(axis=0), rows.std(axis=0, ddof=1)
            print("".join(f"{m:7.3f} ±{s:5.3f}" for m, s in zip(mean, spread)))


if __name__ == "__main__":
    main()
