"""Importances of 100 000 columns, dense and sparse: seconds and memory.

    python benchmarks/wide_speed.py

A ridge, and a network of ten hyperbolic tangents whose importances of three columns are
compared with the model's own predictions.
"""

import argparse
import resource

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from timer import timed

from skvarimp import SensitivityImportance


def report(name, measure, model, X):
    """Print one line of the table."""
    _, spent = timed(measure.fit, model, X)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:44s} {spent} s, peak {memory:.2f} GB, fit of the model included")


def ridge(n_columns):
    """Both contrasts of a ridge."""
    random = np.random.default_rng(0)
    dense = random.normal(size=(200, n_columns))
    thin = sparse.random_array((800, n_columns), density=0.01, format="csr", rng=random)
    for where, X in (("dense", dense), ("sparse", thin)):
        model = Ridge().fit(X, random.normal(size=X.shape[0]))
        for contrast in ("observed", "pairs"):
            measure = SensitivityImportance(contrast=contrast, scale=None)
            report(f"Ridge, {where} {X.shape}, {contrast}", measure, model, X)


def network(n_columns):
    """A network on binary columns, 1% of them ones."""
    random = np.random.default_rng(0)
    X = sparse.random_array((800, n_columns), density=0.01, format="csr", rng=random)
    X.data[:] = 1.0
    y = X[:, :100].sum(axis=1) + random.normal(size=800) > 1.0
    model = MLPClassifier((10,), activation="tanh", max_iter=3, random_state=0)
    model.fit(X, y)
    measure = SensitivityImportance(contrast="observed", scale=None)
    report(f"tanh network, sparse {X.shape}, observed", measure, model, X)
    own = model.predict_proba(X)[:, 1]
    for j in (0, 7, n_columns // 2):
        moved, share = X.tolil(), X[:, [j]].sum() / X.shape[0]
        effects = []
        for value in (0.0, 1.0):
            moved[:, j] = value
            at_value = model.predict_proba(moved.tocsr())[:, 1]
            effects.append(np.mean(np.abs(own - at_value)))
        expected = (1 - share) * effects[0] + share * effects[1]
        np.testing.assert_allclose(measure.importances_[j], expected, rtol=1e-9)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=100_000)
    n_columns = parser.parse_args().columns
    ridge(n_columns)
    network(n_columns)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # the network is fitted for a few steps
    main()
