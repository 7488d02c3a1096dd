"""Fits of read models against the same model as a plain callable, drawn at random.

A callable cannot be read, so its response is the black box's: importances, standard
errors and influences must agree beyond rounding where both are exact or share their
draws, and to four errors of drawing elsewhere. A single fit may meet none of some rare
draws, and then knows little of its error: where it is further off, the mean of others
with other draws must be within four errors. The suite makes few fits; this makes any
number of others::

    PYTHONPATH=. python tests/support/against_callable.py 5000 --seed 1

Models of LightGBM, XGBoost and CatBoost are among them where these are installed.
"""

import argparse
import sys
import warnings
from contextlib import suppress
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
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
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import (
    ALEImportance,
    DerivativeImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)

LEVELS = ["c0", "c1"]  # names of the columns of categories


def behind(encoder, model):
    """A model of encoded categories and the other columns."""
    return make_pipeline(
        make_column_transformer((encoder, LEVELS), remainder="passthrough"), model
    )


HISTOGRAMS = {"max_iter": 8, "min_samples_leaf": 5}
DUMMIES = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
CODES = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
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
    "histograms": HistGradientBoostingRegressor(**HISTOGRAMS),
    "declared": HistGradientBoostingRegressor(
        **HISTOGRAMS, categorical_features=[0, 1]
    ),
    "bagging": BaggingRegressor(LinearRegression(), 3, random_state=0),
    "vote": VotingRegressor(
        [("a", LinearRegression()), ("b", DecisionTreeRegressor(max_depth=2))]
    ),
    "process": GaussianProcessRegressor(alpha=0.1, optimizer=None),
    "kernel ridge": KernelRidge(kernel="rbf"),
    "machine": SVR(),
    "network": MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
    "neighbours": KNeighborsRegressor(3),
    "dummies": behind(DUMMIES, LinearRegression()),
    "dummies of a machine": behind(DUMMIES, SVR()),
    "codes": behind(CODES, DecisionTreeRegressor(max_depth=5, random_state=0)),
    "means": behind(TargetEncoder(random_state=0), LinearRegression()),
}
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "histograms": HistGradientBoostingClassifier(**HISTOGRAMS),
    "declared": HistGradientBoostingClassifier(
        **HISTOGRAMS, categorical_features=[0, 1]
    ),
    "discriminant": LinearDiscriminantAnalysis(),
    "bayes": GaussianNB(),
    "machine": SVC(),
    "network": MLPClassifier(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
    "dummies": behind(DUMMIES, LogisticRegression()),
    "codes": behind(CODES, RandomForestClassifier(5, max_depth=4, random_state=0)),
    "means": behind(TargetEncoder(random_state=0), LogisticRegression()),
}
with suppress(ImportError):
    from lightgbm import LGBMClassifier, LGBMRegressor

    of_light = {"n_estimators": 8, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
    REGRESSORS["LightGBM"] = LGBMRegressor(**of_light)
    CLASSIFIERS["LightGBM"] = LGBMClassifier(**of_light)
with suppress(ImportError):
    from xgboost import XGBClassifier, XGBRegressor

    of_extreme = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}
    REGRESSORS["XGBoost"] = XGBRegressor(**of_extreme, enable_categorical=True)
    CLASSIFIERS["XGBoost"] = XGBClassifier(**of_extreme, enable_categorical=True)
with suppress(ImportError):
    from catboost import CatBoostClassifier, CatBoostRegressor

    of_cat = {"iterations": 8, "depth": 3, "thread_count": 1, "random_seed": 0}
    of_cat |= {"verbose": 0, "allow_writing_files": False}
    REGRESSORS["CatBoost"] = CatBoostRegressor(**of_cat)
    CLASSIFIERS["CatBoost"] = CatBoostClassifier(**of_cat)
    REGRESSORS["CatBoost of levels"] = CatBoostRegressor(**of_cat, cat_features=LEVELS)
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
    "derivative": DerivativeImportance(),
    "FIRM": FIRMImportance(method="conditional_mean"),
    "total": SobolImportance(random_state=0),
    "first": SobolImportance(order="first", **EXACT),
    "interaction": InteractionImportance(),
    "Shapley": ShapleyImportance(scale=None, random_state=0),
}
MOST_ROWS = 120
# Near 0, roots of sums over all pairs of rows keep half of the digits.
ROUNDING = np.sqrt(MOST_ROWS**2 * np.finfo(np.float64).eps)
# What a library in single precision predicts has its rounding, in a sum over the rows.
SINGLE = MOST_ROWS * np.finfo(np.float32).eps
CONTAINERS = {
    "array": np.asarray,
    "columns first": np.asfortranarray,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
    "sparse": sparse.csr_array,
}
# Models that take no sparse rows, that need columns of categories, that take them in
# frames of pandas, that take missing values, and that are steps.
ENCODED = {"dummies", "dummies of a machine", "codes", "means"}
NEED_LEVELS = ENCODED | {"CatBoost of levels"}
TAKE_LEVELS = NEED_LEVELS | {"histograms", "LightGBM", "XGBoost"}
DENSE_ONLY = {"scaled", "scaled logistic", "splines", "components", "process", "vote"}
DENSE_ONLY |= {"discriminant", "bayes", "histograms", "declared", "CatBoost"}
TAKE_NAN = {"tree", "forest", "extra trees", "histograms", "declared", "codes"}
TAKE_NAN |= {"LightGBM", "XGBoost", "CatBoost", "CatBoost of levels"}
STEPS = TAKE_NAN | {"boosting", "vote", "neighbours"}
# Measures that neither know nor ask which columns of numbers are categories.
OF_NUMBERS = {"effects", "derivative", "FIRM"}


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


def codes_of(values):
    """Numbers of four categories, of which one is rare; -1 where they are missing."""
    return np.where(np.isnan(values), -1, np.digitize(values, [-0.5, 0.5, 2.0]))


def rows_of(random, name, X):
    """A container that the model takes, and X in it with categories or NaN."""
    container = str(random.choice([*CONTAINERS]))
    if name in NEED_LEVELS:
        container = "polars" if container == "polars" and name in ENCODED else "pandas"
    elif name in DENSE_ONLY and container == "sparse":
        container = "array"
    if name == "declared":
        X[:, :2] = codes_of(X[:, :2])
    if name in TAKE_NAN and container != "sparse" and random.random() < 0.3:
        some = X[:, 2:] if name == "CatBoost of levels" else X
        some[random.random(some.shape) < 0.1] = np.nan
    levels = name in TAKE_LEVELS and container == "pandas" and random.random() < 0.5
    if name in NEED_LEVELS or levels:
        return f"levels in {container}", with_levels(X, container)
    return container, CONTAINERS[container](X)


def with_levels(X, container):
    """A frame whose first columns are categories, of which one has no row."""
    frame = CONTAINERS["pandas"](X)
    for j, (name, letters) in enumerate(zip(LEVELS, ["badce", "vwxyz"])):
        frame[name] = pd.Categorical.from_codes(codes_of(X[:, j]), [*letters])
    return pl.from_pandas(frame) if container == "polars" else frame


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
    container, rows = rows_of(random, name, X)
    has_none = of == "derivative" and name in STEPS
    if has_none or (of in OF_NUMBERS and name == "declared"):
        of = "pairs"
    measure, options, given = clone(MEASURES[of]), {}, {}
    takes = measure.get_params()
    if of not in OF_NUMBERS | {"interaction"} and random.random() < 0.4:
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
    fitted = deepcopy(models[name]).fit(rows, y)  # CatBoost cannot always be cloned
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
    if name == "declared" and "categorical_features" in takes:
        measure.set_params(categorical_features=[0, 1])  # a callable declares nothing
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


def difference(read, asked, rounding=ROUNDING):
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
        allowed = rounding * max(largest, 1.0)
        if attribute == "importances_" and other_draws:
            allowed = allowed + 4.0 * errors
        if one.shape != two.shape:
            return f"{attribute} of shapes {one.shape} | {two.shape}"
        unlike = np.isnan(one) != np.isnan(two)
        if unlike.any() or np.any(np.abs(one - two) > allowed):
            return f"{attribute}: {one} | {two}; drawn {drawn}"[:900]
    return None


N_AGAIN = 20  # fits with other draws


def redrawn(measure, model, rows, given):
    """A fit that has the mean importances of several, and the error of this mean."""
    fits = [
        outcome(clone(measure).set_params(random_state=1 + k), model, rows, given)
        for k in range(N_AGAIN)
    ]
    errors = np.square([fit.monte_carlo_errors_ for fit in fits])
    result = fits[0].result_
    result.importances = np.mean([fit.importances_ for fit in fits], axis=0)
    result.drawing_errors = np.sqrt(errors.mean(axis=0) / N_AGAIN)
    return fits[0]


def draws(found):
    """Whether a fit has errors of drawing."""
    return getattr(found, "monte_carlo_errors_", None) is not None


def differing(n_fits, seed):
    """Words on each fit that differs, and on each that both refuse."""
    found, refused = [], []
    for at in range(n_fits):
        random = np.random.default_rng([seed, at])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words, *both, rows, given = one_fit(random)
        read, asked = (outcome(*one, rows, given) for one in both)
        rounding = SINGLE if "XGBoost" in words else ROUNDING
        what = difference(read, asked, rounding)
        if what is not None and draws(asked) and not draws(read):
            asked = redrawn(*both[1], rows, given)
            what = difference(read, asked, rounding)
        if what is not None:
            found.append(f"{at}: {words}: {what}")
        elif isinstance(read, str):
            refused.append(f"{at}: {words}: refused: {read:.300} | {asked:.300}")
        else:
            continue
        if __name__ == "__main__":
            sys.stdout.write(f"{(refused if what is None else found)[-1]}\n")
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
        f"{len(refused)}\n"
    )
