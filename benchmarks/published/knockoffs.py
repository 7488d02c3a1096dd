"""Selection with few false discoveries: the conditional test beside knockoffs.

400 rows of 50 or 200 columns with correlations 0.5^|i - j|, a tenth of them signals
with coefficients of plus or minus 1, as in knockpy's first example, or 0.2, where
signals can be missed. Noise has variance 1. Wanted: at most 10% false discoveries.

``python benchmarks/published/knockoffs.py FILE --runs 20`` adds the runs that FILE does
not have yet. "conditional" pools the test given the other columns over five folds, with
a lasso, and selects by Benjamini and Hochberg; the knockoffs run where ``knockpy`` is
installed, perhaps in an environment of their own, with the covariance known and
estimated.
"""

import argparse
import warnings

import numpy as np
from runs import added, by_case
from simulations import autoregressive
from sklearn.linear_model import LassoCV, Ridge

LEVEL = 0.1


def conditional(X, y, seed):
    """Ours."""
    from skvarimp import PermutationImportance, importance_across_folds

    measure = PermutationImportance(conditional=Ridge(), conditional_fit_rows=X)
    lasso = LassoCV(cv=3, alphas=30)
    found = importance_across_folds(lasso, X, y, measure, random_state=seed)
    return found.pvalues("fdr") <= LEVEL


def known(X, y, seed):
    """Gaussian knockoffs by the true covariance."""
    p = X.shape[1]
    return _knockoffs(
        X, y, seed, Sigma=0.5 ** np.abs(np.subtract.outer(*[np.arange(p)] * 2))
    )


def estimated(X, y, seed):
    """Gaussian knockoffs by a covariance that is estimated from the same rows."""
    return _knockoffs(X, y, seed)


def _knockoffs(X, y, seed, **how):
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002 what knockpy draws from
    chosen = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    return chosen.forward(X, y, fdr=LEVEL, **how).astype(bool)


METHODS = {
    "conditional": conditional,
    "knockoffs, known covariance": known,
    "knockoffs, estimated": estimated,
}


def simulate(seed, case):
    """False discovery proportion and power of one run."""
    X, y, is_signal = autoregressive(seed, case["p"], case["size"])
    found = METHODS[case["method"]](X, y, seed)
    false = found[~is_signal].sum() / max(found.sum(), 1)
    return {"false": float(false), "power": float(found[is_signal].mean())}


def main():
    """Add runs and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--columns", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--sizes", type=float, nargs="*", default=[1.0, 0.2])
    parser.add_argument("--methods", nargs="*", choices=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [
        {"method": method, "p": p, "size": size}
        for method in options.methods or []
        for p in options.columns
        for size in options.sizes
    ]
    lines = added(options.file, cases, simulate, options.runs)
    print(
        "method                         p  size  runs  false discoveries  power        "
        "  CPU s"
    )
    for (method, p, size), of_case in sorted(
        by_case(lines, "method", "p", "size").items()
    ):
        numbers = np.array([[line["false"], line["power"]] for line in of_case])
        mean, error = numbers.mean(axis=0), numbers.std(axis=0) / len(numbers) ** 0.5
        cells = "      ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error))
        seconds = np.mean([line["cpu"] for line in of_case])
        named = f"{method:28s}{p:4d}  {size:4.1f}  {len(numbers):4d}"
        print(f"{named}  {cells}  {seconds:5.1f}")


if __name__ == "__main__":
    main()
