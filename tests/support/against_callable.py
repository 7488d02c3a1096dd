"""Fits of read models against the same model as a plain callable, drawn at random.

A callable cannot be read, so its response is the black box's: importances, standard
errors and influences must agree beyond rounding where both are exact or share their
draws, and to four errors of drawing elsewhere. The suite makes few fits; this makes any
number of others::

    PYTHONPATH=. python tests/support/against_callable.py 5000 --seed 1
"""

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import (
    ALEImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)

REGRESSORS = {
    "linear": LinearRegression(),
    "scaled": make_pipeline(StandardScaler(), LinearRegression()),
    "polynomials": make_pipeline(PolynomialFeatures(2), LinearRegression()),
    "splines": make_pipeline(SplineTransformer(n_knots=4), LinearRegression()),
    "components": make_pipeline(PCA(2), LinearRegression()),
    "poisson": PoissonRegressor(),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": RandomForestRegressor(6, max_depth=4, random_state=0),
    "extra trees": ExtraTreesRegressor(4, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=8, random_state=0),
    "histograms": HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5),
    "bagging": BaggingRegressor(LinearRegression(), 3, random_state=0),
    "vote": VotingRegressor(
        [("a", LinearRegression()), ("b", DecisionTreeRegressor(max_depth=2))]
    ),
    "process": GaussianProcessRegressor(alpha=0.1, optimizer=None),
    "kernel ridge": KernelRidge(kernel="rbf"),
    "machine": SVR(),
    "network": MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
    "neighbours": KNeighborsRegressor(3),
}
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
    "discriminant": LinearDiscriminantAnalysis(),
    "bayes": GaussianNB(),
    "machine": SVC(),
    "network": MLPClassifier(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
}
EXACT = {"estimation": "exact"}
DRAWN = {"estimation": "sampled", "tol": None, "random_state": 0}


def squared(y, predicted):
    """A loss per row of values or of several outputs."""
    predicted = predicted if predicted.ndim == 2 else predicted[:, np.newaxis]
    return np.sum((y[:, np.newaxis] - predicted) ** 2, axis=1)


MEASURES = {
    "pairs": SensitivityImportance(scale=None, **EXACT),
    "observed": SensitivityImportance(contrast="observed", scale=None, **EXACT),
    "range": SensitivityImportance(contrast="range", scale=None, **EXACT),
    "pairs, drawn": SensitivityImportance(scale=None, **DRAWN),
    "loss": PermutationImportance(loss=squared, **EXACT),
    "ratio": PermutationImportance(loss=squared, relative=True, **EXACT),
    "loss, drawn": PermutationImportance(loss=squared, **DRAWN),
    "curves": PartialDependenceImportance(grid="all"),
    "levels": PartialDependenceImportance(grid=7),
    "effects": ALEImportance(),
    "FIRM": FIRMImportance(method="conditional_mean"),
    "total": SobolImportance(random_state=0),
    "first": SobolImportance(order="first", **EXACT),
    "interaction": InteractionImportance(),
    "Shapley": ShapleyImportance(scale=None, random_state=0),
}
MOST_ROWS = 120
# Near 0, roots of sums over all pairs of rows keep half of the digits.
ROUNDING = np.sqrt(MOST_ROWS**2 * np.finfo(np.float64).eps)
CONTAINERS = {
    "array": np.asarray,
    "columns first": np.asfortranarray,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
    "sparse": sparse.csr_array,
}
# Models that take no sparse rows.
DENSE_ONLY = {"scaled", "scaled logistic", "splines", "components", "process", "vote"}
DENSE_ONLY |= {"discriminant", "bayes", "histograms"}


def table(random, n, p):
    """Columns of numbers, few values, zeros and copies, some of them constant."""
    X = random.normal(size=(n, p))
    for j in range(p):
        kind = random.choice(["as is", "few", "zeros", "binary", "copy", "constant"])
        if kind == "few":
            X[:, j] = np.round(X[:, j])
        elif kind == "zeros":
            X[random.random(n) < 0.7, j] = 0.0
        elif kind == "binary":
            X[:, j] = X[:, j] > 1.0
        elif kind == "copy" and j:
            X[:, j] = X[:, 0] + 0.1 * X[:, j]
        elif kind == "constant" and random.random() < 0.3:
            X[:, j] = 2.0
    return X


def one_fit(random):
    """A fitted model, the same as a callable, a measure for each, and what to give."""
    n, p = int(random.integers(40, MOST_ROWS)), int(random.integers(3, 6))
    X = table(random, n, p)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    classify = random.random() < 0.35
    models = CLASSIFIERS if classify else REGRESSORS
    name, of = str(random.choice([*models])), str(random.choice([*MEASURES]))
    if classify:
        shares = [0.5] if random.random() < 0.5 else [0.3, 0.6]
        y = np.digitize(y, np.quantile(y, shares))
    elif name == "poisson":
        y = np.round(np.exp(np.clip(y, -2, 2)))
    container = str(random.choice([*CONTAINERS]))
    if container == "sparse" and name in DENSE_ONLY:
        container = "array"
    rows = CONTAINERS[container](X)
    measure, options, given = clone(MEASURES[of]), {}, {}
    takes = measure.get_params()
    if of not in {"effects", "FIRM", "interaction"} and random.random() < 0.4:
        grouped = random.random() < 0.6
        options["features"] = [[0, 1], *range(2, p)] if grouped else [0, 2]
    if "keep_rows" in takes and random.random() < 0.5:
        options["keep_rows"] = True
    if "conditional" in takes and random.random() < 0.25:
        options["conditional"] = random.integers(0, 3, n)
    if random.random() < 0.4:
        given["sample_weight"] = random.choice([0.0, 1.0, 2.0, 0.5], size=n)
    if "keep_rows" in takes and random.random() < 0.25:
        given["groups"] = random.integers(0, 15, n)
    fitted = clone(models[name]).fit(rows, y)
    response = "predict"
    if classify:
        can = [m for m in ("predict_proba", "decision_function") if hasattr(fitted, m)]
        response = str(random.choice(can))
    two = classify and len(fitted.classes_) == 2

    def black_box(X):
        out = getattr(fitted, response)(X)
        return out[:, 1] if two and out.ndim == 2 else out

    measure.set_params(**options)
    reading = clone(measure).set_params(response_method=response)
    if isinstance(measure, PermutationImportance):
        given["y"] = y.astype(np.float64)
    said = {k: v if k == "features" else "..." for k, v in options.items()}
    words = f"{of} of {name} ({response}), {container} {n} x {p}, {said}, {[*given]}"
    return words, (reading, fitted), (measure, black_box), rows, given


def outcome(measure, model, rows, given):
    """The fit, or the words of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return measure.fit(model, rows, **given)
        except (ValueError, TypeError) as error:
            return f"{type(error).__name__}: {error}"


def difference(read, asked):
    """What two fits differ in, in words; None where nothing differs."""
    if isinstance(read, str) or isinstance(asked, str):
        both = isinstance(read, str) and isinstance(asked, str)
        return None if both else f"one fails: {read!s:.300} | {asked!s:.300}"
    drawn = [getattr(m, "monte_carlo_errors_", None) for m in (read, asked)]
    errors = np.sqrt(sum(np.nan_to_num(e) ** 2 for e in drawn if e is not None))
    watched = ["importances_", "standard_errors_", "influences_"]
    if isinstance(
        read, ShapleyImportance
    ):  # a black box draws the donors' part of both
        watched = ["importances_"]
    for attribute in watched:
        one, two = (getattr(m, attribute, None) for m in (read, asked))
        if (one is None) != (two is None):
            return f"{attribute} of one only: {one} | {two}"
        other_draws = (drawn[0] is None) != (drawn[1] is None)
        if one is None or (other_draws and attribute != "importances_"):
            continue
        largest = np.nanmax(np.abs([*np.ravel(one), *np.ravel(two)]), initial=0.0)
        allowed = ROUNDING * max(largest, 1.0)
        if attribute == "importances_" and other_draws:
            allowed = allowed + 4.0 * errors
        if one.shape != two.shape:
            return f"{attribute} of shapes {one.shape} | {two.shape}"
        unlike = np.isnan(one) != np.isnan(two)
        if unlike.any() or np.any(np.abs(one - two) > allowed):
            return f"{attribute}: {one} | {two}; drawn {drawn}"[:900]
    return None


def differing(n_fits, seed):
    """Words on each fit that differs, and the number of fits that both refuse."""
    found, refused = [], 0
    for at in range(n_fits):
        random = np.random.default_rng([seed, at])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words, *both, rows, given = one_fit(random)
        read, asked = (outcome(*one, rows, given) for one in both)
        refused += isinstance(read, str) and isinstance(asked, str)
        what = difference(read, asked)
        if what is not None:
            found.append(f"{at}: {words}: {what}")
            if __name__ == "__main__":
                sys.stdout.write(f"{found[-1]}\n")
                sys.stdout.flush()
    return found, refused


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_fits", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, refused = differing(given.n_fits, given.seed)
    sys.stdout.write(
        f"{given.n_fits} fits, seed {given.seed}: {len(found)} differ, both refuse "
        f"{refused}\n"
    )
