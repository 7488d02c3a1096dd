"""Impurity importance on rows that the trees were not grown on: bias, AUC, time.

    python benchmarks/impurity_unseen.py bias [regression|classes] [data sets]
    python benchmarks/impurity_unseen.py auc [regression|classes] [problems]
    python benchmarks/impurity_unseen.py time

bias: y depends on one column of six; the others are noise with 2, 10, 100 and 1000
values and continuous. The signal has half the variance of the noise. Means over the
data sets in per cent of the true column's.
auc: of telling used from unused columns, against permutation importance with ten
shuffles on the same rows and against impurity on the training rows. The design is
one after Li et al. 2019, section 4 (arXiv 1906.10845): 1000 rows; the j-th of 50 is
uniform on 0, ..., j; five of the first ten are used; two classes by a logistic function
of (2/5) sum x_j / j - 1. To have all types of columns, the last ten, which are never
used, are continuous here. Regression has that number plus standard logistic noise
itself as the target, of which the classes are the sign.
time: processor time, in units of the forest's fit or the booster's `predict`.
"""

import sys
import warnings
from collections import defaultdict

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn import ensemble
from sklearn.metrics import roc_auc_score
from timer import once, timed

from skvarimp import ImpurityImportance, PermutationImportance
from skvarimp.inspection import permutation_importance

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}


def models(kind):
    """Name -> (unfitted model with default settings, rows that splits earn on)."""
    suffix = "Classifier" if kind == "classes" else "Regressor"
    return {
        "forest": (getattr(ensemble, f"RandomForest{suffix}")(), "oob"),
        "gradient boosting": (
            getattr(ensemble, f"GradientBoosting{suffix}")(),
            "unseen",
        ),
        "histograms": (
            getattr(ensemble, f"HistGradientBoosting{suffix}")(early_stopping=False),
            "unseen",
        ),
        "xgboost": (getattr(xgboost, f"XGB{suffix}")(n_jobs=1), "unseen"),
        "lightgbm": (
            getattr(lightgbm, f"LGBM{suffix}")(n_jobs=1, verbose=-1),
            "unseen",
        ),
        "catboost": (
            getattr(catboost, f"CatBoost{suffix}")(iterations=200, **QUIET),
            "unseen",
        ),
    }


def seeded(model, seed):
    """The model with a seed."""
    return model.set_params(random_state=seed)


def bias(kind, n_sets):
    """Means over data sets of 300 rows, and as many unseen ones."""
    found = defaultdict(list)
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        true = rng.normal(size=600)
        noise = [rng.integers(0, k, 600).astype(float) for k in (2, 10, 100, 1000)]
        X = np.column_stack([true, *noise, rng.normal(size=600)])
        y = true + rng.normal(size=600) * 2**0.5
        y = y if kind == "regression" else (y > np.median(y)).astype(int)
        for name, (model, rows) in models(kind).items():
            seeded(model, seed).fit(X[:300], y[:300])
            part = slice(0, 300) if rows == "oob" else slice(300, 600)
            imp = ImpurityImportance(rows=rows).fit(model, X[part], y[part])
            found[name].append(imp.importances_)
            if name == "forest":
                found["forest, training rows"].append(model.feature_importances_)
    print(f"{kind}, {n_sets} data sets: mean in % of the true column's (its error)")
    print(f"{'':24}" + "".join(f"{k:>14}" for k in (2, 10, 100, 1000, "continuous")))
    for name, importances in found.items():
        importances = np.array(importances)
        share = 100 * importances[:, 1:] / importances[:, 0].mean()
        mean, error = share.mean(axis=0), share.std(axis=0, ddof=1) / n_sets**0.5
        cells = "".join(f"{m:8.2f} ({e:.2f})" for m, e in zip(mean, error))
        high, low = mean.argmax(), mean.argmin()
        difference = share[:, high] - share[:, low]
        spread = difference.mean() / (difference.std(ddof=1) / n_sets**0.5)
        print(f"{name:24}{cells}   spread {spread:.1f} errors", flush=True)


def auc(kind, n_problems):
    """1000 rows of columns with 2 to 41 values and continuous, and as many unseen."""
    found = defaultdict(list)
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        number = np.arange(1, 51)
        X = rng.integers(0, number + 1, (2000, 50)).astype(float)
        X[:, 40:] = rng.random((2000, 10))
        used = np.isin(number, rng.choice(10, 5, replace=False) + 1)
        y = 2 / 5 * (X[:, used] / number[used]).sum(axis=1) - 1
        y += rng.logistic(size=2000)
        y = y if kind == "regression" else (y > 0).astype(int)
        for name, (model, rows) in models(kind).items():
            seeded(model, seed).fit(X[:1000], y[:1000])
            part = slice(0, 1000) if rows == "oob" else slice(1000, 2000)
            data = X[part], y[part]
            scores = {
                "on other rows": ImpurityImportance(rows=rows)
                .fit(model, *data)
                .importances_,
                "permutation": shuffled(model, rows, kind, *data),
                "on training rows": model.feature_importances_
                if hasattr(model, "feature_importances_")
                else ImpurityImportance(convention="sklearn").fit(model).importances_,
            }
            for measure, importances in scores.items():
                found[name, measure].append(roc_auc_score(used, importances))
    print(f"{kind}, {n_problems} problems: mean AUC")
    for name in models(kind):
        cells = (
            f"{measure} {np.mean(found[name, measure]):.3f}"
            for measure in ("on other rows", "permutation", "on training rows")
        )
        print(f"{name:20}" + "   ".join(cells), flush=True)


def shuffled(model, rows, kind, X, y):
    """Permutation importance with ten shuffles."""
    if rows == "oob":
        imp = PermutationImportance(
            rows="oob", estimation="sampled", n_draws=10, random_state=0
        )
        return imp.fit(model, X, y).importances_
    scoring = "neg_log_loss" if kind == "classes" else "neg_mean_squared_error"
    return permutation_importance(
        model, X, y, n_repeats=10, random_state=0, scoring=scoring
    ).importances_mean


def times():
    """100 trees: a forest on 10 000 x 20, boosting on 100 000 x 20."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=100_000)
    few = X[:10_000], y[:10_000]
    classes = few[0], (few[1] > 0).astype(int)
    forests = (
        (ensemble.RandomForestRegressor, few),
        (ensemble.RandomForestClassifier, classes),
    )
    for kind, data in forests:
        model = kind(random_state=0)
        grown = once(model.fit, *data)[1].cpu
        imp = ImpurityImportance(rows="oob")
        taken = timed(imp.fit, model, *data)[1].cpu
        print(f"{kind.__name__:34} fit {grown:6.2f} s, out of bag {taken / grown:.2f}")
    for kind in ("regression", "classes"):
        labels = y if kind == "regression" else (y > 0).astype(int)
        for name, (model, rows) in models(kind).items():
            if rows == "oob":
                continue
            if name == "catboost":
                model.set_params(iterations=100)
            model.fit(X[:20_000], labels[:20_000])
            ask = model.predict if kind == "regression" else model.predict_proba
            asked = timed(ask, X)[1].cpu
            imp = ImpurityImportance(rows="unseen")
            taken = timed(imp.fit, model, X, labels)[1].cpu
            print(
                f"{name:18}{kind:16} predict {asked:.3f} s, "
                f"importance {taken / asked:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, *options = sys.argv[1:]
    kind = options[0] if options else "regression"
    if command == "time":
        times()
    elif command == "bias":
        bias(kind, int(options[1]) if len(options) > 1 else 200)
    else:
        auc(kind, int(options[1]) if len(options) > 1 else 50)
