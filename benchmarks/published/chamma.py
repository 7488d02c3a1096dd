"""Rerun the benchmark of Chamma, Engemann & Thirion (NeurIPS 2023).

1000 rows, 50 columns in ten blocks of correlation 0.8, 20 of them signals, and five
targets. A model is chosen by cross-validation among four families, the same for every
target, and each measure tests whether a column adds anything, given the others. The
ranking is by p-value, as in the publication. Seeds are 0, 1, 2, ...

``python benchmarks/published/chamma.py run FILE --runs 40 --methods residuals`` adds
the runs that FILE does not have yet, one line each, and ``... report FILE`` prints the
table beside the published numbers. Rivals run with ``hidimstat`` and
``sage-importance`` installed, perhaps in an environment of their own.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from rivals_published import hidimstat_cfi, hidimstat_loco, sage_values
from simulations import TARGETS, chamma, chooser, chosen
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

SIGNALS, COLUMNS, LEVEL = 20, 50, 0.05

# Means over 100 runs from the publication's result files, in the order of TARGETS.
PUBLISHED = {
    "CPI-DNN": {
        "auc": (0.973, 0.985, 0.989, 0.937, 0.875),
        "power": (0.890, 0.930, 0.945, 0.783, 0.645),
    },
    "knockoffs, lasso": {"auc": (0.984, 0.503, 0.600, 0.875, 0.900)},
}
PUBLISHED_RANGES = """\
Published ranges over the targets: type I error of CPI-DNN 0.024 to 0.034, of
conditional forests 0.35 to 0.48; AUC of SAGE 0.69 to 0.81 (classes 0.65), of SHAP 0.59
to 0.69."""


def residuals(model, X, y, seed):
    """Ours: predictions plus residuals of other rows, pooled over five folds."""
    from skvarimp import PermutationImportance, importance_across_folds

    # whether a column adds to y is tested: the other columns may be known from all rows
    measure = PermutationImportance(conditional=Ridge(), conditional_fit_rows=X)
    found = importance_across_folds(model, X, y, measure, random_state=seed)
    return found.importances, found.pvalues()


def subgroups(model, X, y, seed):
    """Ours: other rows of the same subgroup, pooled over five folds."""
    return _pooled(model, X, y, seed, conditional="subgroups")


def marginal(model, X, y, seed):
    """Ours: any other row, pooled over five folds."""
    return _pooled(model, X, y, seed)


def _pooled(model, X, y, seed, **how):
    from skvarimp import PermutationImportance, importance_across_folds

    measure = PermutationImportance(estimation="sampled", **how)
    found = importance_across_folds(model, X, y, measure, random_state=seed)
    return found.importances, found.pvalues()


def leave_out(model, X, y, seed):
    """Ours: refits without each column in five folds."""
    from skvarimp import leave_out_importances

    found = leave_out_importances(model, X, y, random_state=seed)
    return found.importances, found.pvalues()


METHODS = {
    "residuals": residuals,
    "subgroups": subgroups,
    "marginal": marginal,
    "leave out": leave_out,
    "hidimstat CFI": hidimstat_cfi,
    "hidimstat LOCO": hidimstat_loco,
    "sage-importance": sage_values,
}


def run(options):
    """Add one line to the file for each run that it does not have."""
    path, done = Path(options.file), set()
    if path.exists():
        known = [json.loads(line) for line in path.read_text("utf8").splitlines()]
        done = {(r["seed"], r["target"], r["method"], r["choice"]) for r in known}
    for seed in range(options.first, options.runs):
        for target in options.targets:
            for method in options.methods:
                if (seed, target, method, options.choice) in done:
                    continue
                X, y, is_signal = chamma(seed, target)
                start = time.process_time()
                name, model = "in folds", chooser(y)
                if options.choice == "all":
                    name, model = chosen(X, y)
                of_choice = time.process_time() - start
                importances, pvalues = METHODS[method](model, X, y, seed)
                seconds = time.process_time() - start
                line = {
                    "seed": seed,
                    "target": target,
                    "method": method,
                    "choice": options.choice,
                    "model": name,
                    "cpu": seconds,
                    "cpu_of_choice": of_choice,
                    "signals": np.flatnonzero(is_signal).tolist(),
                    "importances": np.asarray(importances).tolist(),
                    "pvalues": None
                    if pvalues is None
                    else np.asarray(pvalues).tolist(),
                }
                with path.open("a", encoding="utf8") as file:
                    file.write(json.dumps(line) + "\n")


def numbers(line):
    """(AUC, type I error, power, CPU seconds) of one run."""
    is_signal = np.isin(np.arange(COLUMNS), line["signals"])
    if line["pvalues"] is None:
        score, found = np.array(line["importances"]), np.full(COLUMNS, np.nan)
    else:
        # a column that the model does not use: 0 / 0 in some packages, not found
        p = np.nan_to_num(np.array(line["pvalues"], dtype=float), nan=1.0)
        score, found = -p, p < LEVEL
    auc = roc_auc_score(is_signal, score)
    return auc, found[~is_signal].mean(), found[is_signal].mean(), line["cpu"]


def report(options):
    """Print the means over the runs, with standard errors, and the published ones."""
    lines = Path(options.file).read_text("utf8").splitlines()
    by_case = {}
    for line in map(json.loads, lines):
        if line["choice"] == options.choice:
            by_case.setdefault((line["method"], line["target"]), []).append(line)
    print(
        "method            target    runs  AUC            type I error   power   "
        "       CPU s  (longest)"
    )
    for method in METHODS:
        for target in TARGETS:
            known = by_case.get((method, target))
            if not known:
                continue
            found = np.array([numbers(line) for line in known])
            mean = found.mean(axis=0)
            error = found.std(axis=0, ddof=1 if len(found) > 1 else 0)
            error /= np.sqrt(len(found))
            shown = [
                f"{m:.3f} ± {e:.3f}" if m == m else f"{'-':13s}"
                for m, e in zip(mean[:3], error[:3])
            ]
            print(
                f"{method:17s} {target:9s} {len(known):4d}  {'  '.join(shown)}  "
                f"{mean[3]:5.1f}  ({found[:, 3].max():.0f})"
            )
    print("\nPublished means of 100 runs")
    print(" " * 24 + "  ".join(f"{target:8s}" for target in TARGETS))
    for method, of_method in PUBLISHED.items():
        for what, values in of_method.items():
            cells = "  ".join(f"{value:<8g}" for value in values)
            print(f"{method:17s} {what:6s} {cells}")
    print(PUBLISHED_RANGES)


def main():
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--targets", nargs="*", choices=TARGETS, default=TARGETS)
    parser.add_argument("--choice", choices=("folds", "all"), default="folds")
    parser.add_argument(
        "--methods", nargs="*", choices=list(METHODS), default=["residuals"]
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    {"run": run, "report": report}[options.what](options)


if __name__ == "__main__":
    main()
