"""Level and power in the simulation of Watson & Wright (Machine Learning 110, 2021).

1000 rows of ten columns with correlations 0.5^|i - j|, coefficients 0, 0.1, ..., 0.9,
and noise of variance 1. In the step version a column counts as 1 between its quartiles
and as -1 elsewhere. How often is the first column, which y does not depend on, found at
the level of 5%? They print that their test holds its level with any learner.

``python benchmarks/published/watson_wright.py FILE --runs 400`` adds the runs that FILE
does not have yet and prints the shares of runs. As published, one third of the rows is
held out; ``--protocol folds`` pools five folds. ``--columns 0 1 2 3`` tests further
columns, whose shares are the power.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from simulations import watson_wright
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge

from skvarimp import PermutationImportance, importance_across_folds

LEVEL = 0.05
KEY = "protocol", "model", "version", "seed"


def models(seed):
    """Name -> unfitted model."""
    forest = {"n_estimators": 30, "min_samples_leaf": 5, "max_features": 1 / 3}
    return {
        "linear model": LinearRegression(),
        "forest": RandomForestRegressor(**forest, random_state=seed),
    }


def in_folds(model, X, y, columns, seed):
    """p-values of some columns, pooled over five folds."""
    measure = measure_of(X, columns)
    return importance_across_folds(model, X, y, measure, random_state=seed).pvalues()


def held_out(model, X, y, columns, seed):
    """p-values on one third of the rows, as published, with a model of the others."""
    n_test = len(X) // 3
    model.fit(X[n_test:], y[n_test:])
    measure = measure_of(X, columns).set_params(random_state=seed)
    measure.fit(model, X[:n_test], y[:n_test])
    errors = np.hypot(measure.standard_errors_, measure.monte_carlo_errors_)
    return student.sf(measure.importances_ / errors, n_test - 1)


def measure_of(X, columns):
    """The measure; what the columns tell of each other may be known from all rows."""
    given = {"conditional": Ridge(), "conditional_fit_rows": X}
    return PermutationImportance(**given, features=columns)


PROTOCOLS = {"folds": in_folds, "held out": held_out}


def main():
    """Add runs and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--columns", type=int, nargs="*", default=[0])
    parser.add_argument("--models", nargs="*", default=list(models(0)))
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="held out")
    options = parser.parse_args()
    path, known = Path(options.file), {}
    if path.exists():
        for line in map(json.loads, path.read_text("utf8").splitlines()):
            known[tuple(line[name] for name in KEY)] = line
    for model in options.models:
        for version in ("linear", "step"):
            for seed in range(options.runs):
                key = options.protocol, model, version, seed
                if key in known:
                    continue
                X, y = watson_wright(seed, version)
                start = time.process_time()
                test = PROTOCOLS[options.protocol]
                found = test(models(seed)[model], X, y, options.columns, seed)
                line = dict(zip(KEY, key)) | {
                    "columns": options.columns,
                    "pvalues": found.tolist(),
                    "cpu": time.process_time() - start,
                }
                known[key] = line
                with path.open("a", encoding="utf8") as file:
                    file.write(json.dumps(line) + "\n")
    report(known.values())


def report(lines):
    """Print the share of runs that find each column, with its standard error."""
    cases = {}
    for line in lines:
        for column, p in zip(line["columns"], line["pvalues"]):
            case = *(line[name] for name in KEY[:3]), column
            cases.setdefault(case, []).append((p <= LEVEL, line["cpu"]))
    print(
        "protocol  model         version  coefficient  runs  found        CPU s a run"
    )
    for (protocol, model, version, column), of_case in cases.items():
        found, seconds = np.array(of_case).T
        share = found.mean()
        error = np.sqrt(share * (1 - share) / len(found))
        print(
            f"{protocol:9s} {model:13s} {version:8s} {column / 10:11.1f}  "
            f"{len(found):4d}  {share:5.1%} ± {error:.1%}    {seconds.mean():.2f}"
        )


if __name__ == "__main__":
    main()
