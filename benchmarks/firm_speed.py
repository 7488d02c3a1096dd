"""Time of FIRM on wide data, dense and sparse, after a check of the numbers.

    python benchmarks/firm_speed.py

A linear score on 1000 x 20 000 dense rows (each method, each covariance), binary data
of 800 x 100 000 with 1% ones, and the score of a kernel machine on 1000 x 20 rows.
"""

import argparse

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.svm import SVR
from timer import once

from skvarimp import FIRMImportance


def linear_model(n_features, seed=0):
    """A fitted linear model with random coefficients."""
    random = np.random.default_rng(seed)
    model = Ridge().fit(np.zeros((2, n_features)), [0.0, 1.0])
    model.coef_ = random.standard_normal(n_features)
    return model


def report(label, spent, limit=None):
    """One line of the table."""
    bound = "" if limit is None else f"(asked for: under {limit:g})"
    print(f"{label:56s} {spent.wall:7.2f} s wall {spent.cpu:7.2f} s CPU {bound}")


def dense(n_samples, n_features):
    """A linear score on wide dense data."""
    X = np.random.default_rng(1).standard_normal((n_samples, n_features))
    model = linear_model(n_features)
    shape = f"{n_samples} x {n_features} dense"
    s = model.predict(X)
    some = np.arange(0, n_features, max(1, n_features // 50))
    literal = [np.polyfit(X[:, j], s, 1)[0] * X[:, j].std() for j in some]
    for method in ("auto", "linear", "gaussian"):
        imp, spent = once(FIRMImportance(method=method).fit, model, X)
        np.testing.assert_allclose(
            imp.signed_importances_[some, 0], literal, rtol=1e-8, atol=1e-8
        )
        report(f"{shape}, method={method!r}", spent, 2)
    _, spent = once(FIRMImportance(method="conditional_mean").fit, model, X)
    report(f"{shape}, method='conditional_mean'", spent)
    for covariance in ("ledoit_wolf", "schaefer_strimmer"):
        imp = FIRMImportance(method="gaussian", covariance=covariance)
        report(f"{shape}, gaussian, {covariance}", once(imp.fit, model, X)[1])


def binary(n_samples, n_features):
    """Binary sparse data, eq. 11 in one pass over the stored elements."""
    X = sparse.random_array(
        (n_samples, n_features),
        density=0.01,
        format="csr",
        rng=np.random.default_rng(2),
    )
    X.data[:] = 1.0
    model = linear_model(n_features)
    s = model.predict(X)
    for container in (X.tocsr(), X.tocsc()):
        imp, spent = once(FIRMImportance().fit, model, container)
        assert set(imp.method_) == {"binary"}
        for j in range(0, n_features, max(1, n_features // 20)):
            ones = X[:, [j]].toarray()[:, 0] == 1
            p = ones.mean()
            literal = (s[ones].mean() - s[~ones].mean()) * np.sqrt(p * (1 - p))
            np.testing.assert_allclose(
                imp.signed_importances_[j, 0], literal, rtol=1e-9
            )
        label = f"{n_samples} x {n_features} binary {container.format}, 1% ones"
        report(label, spent, 1)


def kernel_machine():
    """A score with a gradient: closed form against conditional means."""
    X = np.random.default_rng(3).standard_normal((1000, 20))
    model = SVR().fit(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
    label = f"1000 x 20, {len(model.support_)} support vectors"
    for method in ("conditional_mean", "gaussian"):
        _, spent = once(FIRMImportance(method=method).fit, model, X)
        report(f"{label}, {method}", spent)
    _, spent = once(model.predict, X)
    report(f"{label}, one prediction of X", spent)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the columns")
    scale = parser.parse_args().scale
    dense(1000, int(20_000 * scale))
    binary(800, int(100_000 * scale))
    kernel_machine()


if __name__ == "__main__":
    main()
