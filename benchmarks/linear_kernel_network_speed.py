"""Exact importances of linear, kernel and network models: equality, then time.

Every problem is timed in one process and one thread, best of a few runs, CPU and wall:
pairs, observed, range (five equidistant values) and partial dependence of all features
in one walk, against scikit-learn's `permutation_importance(n_repeats=10)`, or against
the same walk by predictions of the model (the black box; a few features, scaled up).
Problems from `naive_bayes` on are timed for pairs alone, through the public class.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \\
        python benchmarks/linear_kernel_network_speed.py [problem ...]
"""

import argparse
import resource
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

from skvarimp import SensitivityImportance
from skvarimp._data.entries import resolve_features
from skvarimp._measures.problem import Request, make_problem
from skvarimp._response.engine import run_walk
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.responses.black_box import BlackBoxResponse


class Timer:
    """Best CPU and wall seconds of a few runs."""

    def __init__(self, function, runs):
        self.cpu = self.wall = np.inf
        for _ in range(runs):
            cpu, wall = time.process_time(), time.perf_counter()
            self.result = function()
            self.cpu = min(self.cpu, time.process_time() - cpu)
            self.wall = min(self.wall, time.perf_counter() - wall)


def regression_data(n, p, seed=0):
    """Columns of independent normals, a target with interactions and noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    return X, y + 0.3 * random.normal(size=n)


def four_reductions(problem, response, entries):
    """One walk: pairs, observed and partial dependence, and the range."""
    n, ones = problem.table.n_samples, np.ones(len(problem.base))
    reductions = [Pairs(), Observed(), PartialDependence.over("std", n, 200)]
    requests = [
        Request("all", reductions, [ones] * 3),
        Request("equidistant", [Range()], [ones]),
    ]
    of_requests = run_walk(problem.walk(response, entries, requests))
    return [outcome for outcomes in of_requests for outcome in outcomes]


def ours(model, X, y, features=None):
    """Everything from the fitted model on: validation, lowering, probe, walk."""
    problem = make_problem(model, X, y, None, "auto")
    entries = resolve_features(features, None, X.shape[1])
    response = problem.response(entries)
    assert not response.path.startswith("black box"), response.path
    return four_reductions(problem, response, entries)


def by_black_box(model, X, y, features):
    """The same by predictions of the model."""
    problem = make_problem(model, X, y, None, "auto")
    response = BlackBoxResponse(problem.model, len(problem.base))
    return four_reductions(
        problem, response, resolve_features(features, None, X.shape[1])
    )


def largest_gap(fast, slow, features):
    """Largest relative difference of importances and standard errors."""
    gaps = []
    for one, other in zip(fast, slow):
        size = np.abs(other.importances).max()
        gaps.append(np.abs(one.importances[features] - other.importances).max() / size)
        errors = one.standard_errors[features] - other.standard_errors
        gaps.append(np.abs(errors).max() / size)
    return max(gaps)


def pairs(model, X, y):
    """Exact pairs with standard errors, the probe included."""
    measure = SensitivityImportance(scale=None, estimation="exact").fit(model, X)
    assert not measure.response_path_.startswith("black box"), measure.response_path_
    return measure


def against_permutation(
    name, model, X, y, limit, runs=3, few=(0, 3), rows=300, timed=ours
):
    """Equality on some rows and features, then the ratio to ten permutations."""
    fast = ours(model, X[:rows], y[:rows])
    slow = by_black_box(model, X[:rows], y[:rows], list(few))
    gap = largest_gap(fast, slow, list(few))
    mine = Timer(lambda: timed(model, X, y), runs)
    rival = Timer(
        lambda: permutation_importance(model, X, y, n_repeats=10, n_jobs=1),
        min(runs, 2),
    )
    row(name, gap, mine, rival.cpu, rival.wall, f"at most {limit}")


def row(name, gap, mine, rival_cpu, rival_wall, limit):
    """Print one line of the table."""
    ratios = f"{mine.cpu / rival_cpu:8.3f} {mine.wall / rival_wall:8.3f}"
    print(
        f"{name:34s} {gap:8.1e} {mine.cpu:8.3f} {mine.wall:8.3f} {rival_cpu:9.3f} "
        f"{rival_wall:9.3f} {ratios}  {limit}"
    )


def ridge():
    """Ridge, 5000 x 20."""
    X, y = regression_data(5000, 20)
    against_permutation("Ridge 5000 x 20", Ridge().fit(X, y), X, y, 0.25, runs=9)


def ridge_large():
    """Ridge, 100 000 x 100."""
    X, y = regression_data(100_000, 100)
    model = Ridge().fit(X, y)
    seconds("Ridge 100 000 x 100", lambda: ours(model, X, y), "under 3 s")


def logistic():
    """Binary logistic regression's probability, 5000 x 20."""
    X, y = regression_data(5000, 20)
    model = LogisticRegression().fit(X, y > 0)
    against_permutation("LogisticRegression 5000 x 20", model, X, y > 0, 3, runs=5)


def svr():
    """SVR with a Gaussian kernel, 2000 x 20."""
    X, y = regression_data(2000, 20)
    against_permutation("SVR (RBF) 2000 x 20", SVR().fit(X, y), X, y, 0.1, runs=2)


def perceptron():
    """One hidden layer of 100 rectified linear units, 2000 x 20, and the black box."""
    X, y = regression_data(2000, 20)
    model = MLPRegressor(hidden_layer_sizes=(100,), random_state=0).fit(X, y)
    few = [1, 3]
    slow = Timer(lambda: by_black_box(model, X, y, few), 2)
    mine = Timer(lambda: ours(model, X, y), 3)
    gap = largest_gap(mine.result, slow.result, few)
    scale = X.shape[1] / len(few)
    name = "ReLU MLP 2000 x 20 (black box)"
    row(name, gap, mine, scale * slow.cpu, scale * slow.wall, "at most 0.05")


def seconds(name, function, limit):
    """Print the time alone."""
    mine = Timer(function, 2)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:34s} {'':8s} {mine.cpu:8.3f} {mine.wall:8.3f} {'':37s} {limit}; "
        f"peak {memory:.2f} GB, fit included"
    )


def wide():
    """100 000 columns through the public class, dense and sparse."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 100_000)), random.normal(size=200)
    S = sparse.random_array((800, 100_000), density=0.01, format="csr", rng=random)
    z = random.normal(size=800)
    for where, model, data in (
        ("dense 200", Ridge().fit(X, y), X),
        ("sparse 800", Ridge().fit(S, z), S),
    ):
        for contrast in ("observed", "pairs"):
            measure = SensitivityImportance(contrast=contrast, scale=None)
            name = f"Ridge {where} x 100 000 {contrast}"
            seconds(name, lambda m=measure, f=model, d=data: m.fit(f, d), "under 3 s")


def wide_perceptron():
    """10 hyperbolic tangents on a sparse binary 800 x 100 000 matrix."""
    random = np.random.default_rng(0)
    S = sparse.random_array((800, 100_000), density=0.01, format="csr", rng=random)
    S.data[:] = 1.0
    y = S[:, :100].sum(axis=1) + random.normal(size=800) > 1.0
    model = MLPClassifier((10,), activation="tanh", max_iter=3, random_state=0).fit(
        S, y
    )
    measure = SensitivityImportance(contrast="observed", scale=None)
    seconds(
        "tanh MLP sparse 800 x 100 000", lambda: measure.fit(model, S), "15 s, 2 GB"
    )
    assert measure.estimation_ == "exact"
    own = model.predict_proba(S)[:, 1]
    for j in (0, 7, 50_000):
        D, share = S.tolil(), S[:, [j]].sum() / 800
        moved = []
        for value in (0.0, 1.0):
            D[:, j] = value
            moved.append(model.predict_proba(D.tocsr())[:, 1])
        expected = (1 - share) * np.abs(own - moved[0]) + share * np.abs(own - moved[1])
        assert np.isclose(measure.importances_[j], expected.mean(), rtol=1e-9)


def pairs_of(name, model, limit, n_classes=2):
    """Pairs of a model of 2000 x 20, of classes or of numbers (n_classes=0)."""
    X, y = regression_data(2000, 20)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model.fit(X, y)
    against_permutation(f"{name} pairs", model, X, y, limit, runs=2, timed=pairs)


def naive_bayes():
    """Gaussian naive Bayes of two classes."""
    pairs_of("GaussianNB", GaussianNB(), 10)


def components():
    """Logistic regression on ten principal components."""
    model = make_pipeline(StandardScaler(), PCA(10), LogisticRegression())
    pairs_of("PCA, LogisticRegression", model, 0.5)


def calibrated():
    """A calibrated forest: the mean of three forests, each behind a sigmoid."""
    forest = RandomForestClassifier(100, random_state=0)
    pairs_of("calibrated forest", CalibratedClassifierCV(forest, cv=3), 0.5)


def one_versus_rest():
    """One ridge for each of three classes."""
    model = OneVsRestClassifier(RidgeClassifier())
    pairs_of("one-versus-rest of ridges", model, 0.5, n_classes=3)


def quadratic():
    """Quadratic discriminant analysis of two classes."""
    pairs_of("QuadraticDiscriminantAnalysis", QuadraticDiscriminantAnalysis(), 10)


def polynomial():
    """A ridge of polynomial features of degree 2."""
    model = make_pipeline(PolynomialFeatures(2), Ridge())
    pairs_of("polynomial, Ridge", model, 10, n_classes=0)


def three_classes():
    """A regression of three classes, whose probabilities turn."""
    pairs_of("LogisticRegression, 3 classes", LogisticRegression(), 20, n_classes=3)


PROBLEMS = {
    f.__name__: f
    for f in (
        ridge,
        ridge_large,
        logistic,
        svr,
        perceptron,
        wide,
        wide_perceptron,
        naive_bayes,
        components,
        calibrated,
        one_versus_rest,
        quadratic,
        polynomial,
        three_classes,
    )
}


def main():
    """Run the problems named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "problems", nargs="*", default=list(PROBLEMS), metavar="problem"
    )
    named = parser.parse_args().problems
    warnings.simplefilter("ignore")  # networks fitted for a few steps
    print(
        f"{'':34s} {'gap':>8s} {'ours cpu':>8s} {'wall':>8s} {'rival cpu':>9s} "
        f"{'wall':>9s} {'cpu ratio':>8s} {'wall':>8s}  aim"
    )
    for name in named:
        PROBLEMS[name]()


if __name__ == "__main__":
    main()
