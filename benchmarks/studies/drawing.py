"""Errors of random draws, and whether drawing until `tol` keeps its promise."""

import warnings

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skvarimp import PermutationImportance, SensitivityImportance, SobolImportance
from skvarimp.exceptions import ImportanceWarning


def product(X):
    """A model with an interaction."""
    return X[:, 0] * (1 + X[:, 1])


def monte_carlo(samples=1000, rows=100):
    """Share of seeds within 1.96 Monte Carlo errors of the exact importance.

    `interval()` adds the sampling error of the rows, which is not asked about here.
    """
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 3))
    model = KNeighborsRegressor(5).fit(X, product(X))
    for contrast in ("pairs", "observed"):
        parameters = {"contrast": contrast, "scale": None}
        exact = SensitivityImportance(estimation="exact", **parameters).fit(model, X)
        inside = []
        for seed in range(samples):
            drawn = SensitivityImportance(
                estimation="sampled", random_state=seed, **parameters
            ).fit(model, X)
            gap = np.abs(drawn.importances_ - exact.importances_)
            inside.append(gap < 1.96 * drawn.monte_carlo_errors_)
        print(f"{contrast}, six draws: {np.mean(inside, axis=0).round(3)}")


def weighted(X):
    """A linear model."""
    return 5 * X[:, 0] + X[:, 1]


def tolerance_problems(n):
    """Name -> (model, rows): even, heavy-tailed, and rarely hit draws."""
    random = np.random.default_rng(0)
    normal, tails = random.standard_normal((n, 2)), random.standard_t(2, (n, 2))
    problems = {"normal": (product, normal), "t2 tails": (product, tails)}
    for share in (0.1, 0.02, 0.005):
        rare = random.permutation(n) < share * n
        rows = np.column_stack([rare, random.standard_normal(n)])
        problems[f"binary, {share}"] = (weighted, rows)
    return problems


def tolerance(samples=400, rows=1000):
    """How often `tol` is kept: estimates within 1.96 tol of exact, and the draws.

    Draws stop when the standard error of each importance is estimated below `tol` times
    the largest importance. If the errors were known and normal, 95% of the estimates
    would end within 1.96 tol; skewed draws are hard, because the first ones look more
    even than they are. Data and model stay the same, the draws change.
    """
    warnings.simplefilter("ignore")
    for estimation, contrast in (
        ("sampled", "pairs"),
        ("sampled", "observed"),
        ("rows", "observed"),
    ):
        common = {"contrast": contrast, "scale": None, "grid": 50}
        for name, (model, X) in tolerance_problems(rows).items():
            exact = SensitivityImportance(estimation="exact", **common)
            exact = exact.fit(model, X).importances_
            for tol in (0.1, 0.03):
                inside, draws = [], []
                for seed in range(samples):
                    imp = SensitivityImportance(
                        estimation=estimation,
                        tol=tol,
                        random_state=seed,
                        **common,
                    ).fit(model, X)
                    gap = np.abs(imp.importances_ - exact)
                    inside.append(gap <= 1.96 * tol * exact.max())
                    draws.append(imp.n_draws_)
                kept, mean = np.mean(inside, axis=0), np.mean(draws, axis=0)
                print(
                    f"{estimation:8} {contrast:9} {name:14} tol={tol:<5}"
                    f" kept {kept.round(3)}  draws {mean.round().astype(int)}",
                    flush=True,
                )


def rare_model(X):
    """x1 acts where x2 is 1."""
    return X[:, 0] + (X[:, 2] == 1) * X[:, 1]


def rare(samples=100):
    """Does drawing until `tol` overlook an input that acts on few rows?

    x1 acts on the 0.5% of the rows whose x2 is 1, and x2 itself is 1 there only. How
    often each is declared to be 0, and how many draws were made.
    """
    warnings.simplefilter("ignore", ImportanceWarning)  # the cap, where it is reached
    print(f"{'rows':>6} {'estimation':12}{'contrast':10}{'tol':>6}", end="")
    print(f"{'x1 is 0':>10}{'x2 is 0':>10}   mean draws of x0, x1, x2")
    cases = [("sampled", "pairs", "all"), ("sampled", "observed", "all")]
    cases += [("rows", contrast, 20) for contrast in ("pairs", "observed", "range")]
    for n in (400, 2000, 20_000):
        random = np.random.default_rng(0)
        X = np.column_stack([random.standard_normal((n, 2)), np.arange(n) < n // 200])
        X = X[random.permutation(n)]
        for estimation, contrast, grid in cases:
            for tol in (0.2, 0.05, 0.01):
                zeros, draws = np.zeros(3, int), np.zeros(3)
                for seed in range(samples):
                    imp = SensitivityImportance(
                        contrast=contrast,
                        estimation=estimation,
                        grid=grid,
                        tol=tol,
                        scale=None,
                        random_state=seed,
                    ).fit(rare_model, X)
                    zeros += imp.importances_ == 0
                    draws += imp.n_draws_ / samples
                print(f"{n:6} {estimation:12}{contrast:10}{tol:6}", end="")
                print(f"{zeros[1]:10}{zeros[2]:10}   {draws.round().astype(int)}")


class Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier of two classes that is not read.

    Parameters
    ----------
    chance : callable
        The probability of the second class, of rows.
    """

    def __init__(self, chance):
        self.chance = chance

    def fit(self, X, y):
        """Look at the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Of both classes."""
        second = self.chance(X)
        return np.column_stack([1 - second, second])


def honest(samples=400, rows=300, only="", seed=0, data=1):
    """Whether drawn importances have a bias, and their z-values, over seeds.

    For measures, models and kinds of columns (numbers, ties, two kinds of levels, a
    group), by settings: weights, subgroups, rows drawn and tolerances. `only` is a part
    of the settings' names, or of the measures' or models'. Seeds are counted from
    `seed`, and rows and models are drawn with the seed `data`.

    The bias is the mean of estimate - exact in its own standard errors, which is within
    4 where there is none. The mean of z, in the same unit, may be farther off without a
    bias, where an estimate and its error are correlated: skewed contributions do this.
    A bias beyond 4, and a deviation of z that is not between 0.7 and 1.1, are marked.
    With 300 rows some are, of the log loss of neighbours with drawn rows or exponential
    weights: it hangs on a few rows that meet probabilities of 0, and draws that miss
    them do not know it. With 400 of 1200 rows drawn the deviation is 0.8 to 0.94.
    """
    warnings.simplefilter("ignore", ImportanceWarning)
    random = np.random.default_rng(data)
    X = random.normal(size=(rows, 6))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2], X[:, 3] = random.integers(0, 9, rows), random.integers(0, 12, rows)
    y = mixed(X) + 0.5 * random.normal(size=rows)
    labels = (random.random(rows) < expit(2 * mixed(X))).astype(int)
    boosting = GradientBoostingRegressor(random_state=0).fit(X, y)
    classes = GradientBoostingClassifier(random_state=0).fit(X, labels)
    near, near_classes = KNeighborsRegressor().fit(X, y), KNeighborsClassifier()
    near_classes.fit(X, labels)
    models = {
        "function": (mixed, lambda rows: expit(4 * mixed(rows))),
        "boosting": (boosting.predict, lambda rows: classes.predict_proba(rows)[:, 1]),
        "neighbours": (
            near.predict,
            lambda rows: near_classes.predict_proba(rows)[:, 1],
        ),
    }
    measures = {
        "pairs": SensitivityImportance(scale=None),
        "observed": SensitivityImportance(contrast="observed", scale=None),
        "squared": PermutationImportance(loss="squared_error"),
        "absolute": PermutationImportance(loss="absolute_error"),
        "log loss": PermutationImportance(loss="log_loss"),
        "total": SobolImportance(),
    }
    even, heavy = random.uniform(0.5, 1.5, rows), random.exponential(size=rows)
    budget = {"max_evaluations": rows + 5 * 6 * (rows // 3)}
    settings = {
        "plain": ({}, None),
        "weights": ({}, even),
        "exponential weights": ({}, heavy),
        "subgroups": ({"conditional": random.integers(0, 4, rows)}, None),
        "rows drawn": (budget, None),
        "rows drawn, weights": (budget, even),
        "rows drawn, exponential weights": (budget, heavy),
        "tol": ({"tol": 0.01}, None),
    }
    features = ["x0", "x1", "x2", "x3", ["x4", "x5"]]
    for setting, (how, weight) in settings.items():
        for name, measure in measures.items():
            if name == "total" and not {"conditional", "max_evaluations"}.isdisjoint(
                how
            ):
                continue
            for kind, (predict, chance) in models.items():
                title = f"{setting:31} {name:9} {kind:10}"
                if only not in title:
                    continue
                model, target = function_of(predict), y
                if name == "log loss":
                    model, target = Probabilities(chance).fit(X, labels), labels
                here = clone(measure).set_params(features=features, **how)
                seeds = range(seed, seed + samples)
                found = drawn_gaps(here, model, (X, target, weight), seeds)
                print(title, *in_words(*found), flush=True)


def in_words(gaps, errors):
    """The bias and z-values of features, from gaps and errors (n_seeds, n_features)."""
    drawn = errors.max(axis=0) > 0  # of the others all values were taken
    gaps, errors = gaps[:, drawn], errors[:, drawn]
    # further draws may have taken all values
    z = np.divide(gaps, errors, out=np.full(gaps.shape, np.nan), where=errors > 0)
    roots = np.sqrt(np.count_nonzero(errors, axis=0))
    bias = np.sqrt(len(gaps)) * gaps.mean(axis=0) / gaps.std(axis=0)
    mean, spread = np.nanmean(z, axis=0), np.nanstd(z, axis=0)
    mean *= roots / spread
    both = [np.corrcoef(*columns)[0, 1] for columns in zip(gaps.T, errors.T)]
    numbers = {"bias": bias, "z": mean, "sd": spread, "r": np.array(both)}
    yield from (f"{name} {values.round(2)}" for name, values in numbers.items())
    yield "biased!" if np.any(np.abs(bias) > 4) else ""
    yield "!" if np.any((spread < 0.7) | (spread > 1.1)) else ""


def waves(X):
    """A wave, a product and a line."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] / 2


def six_draws(samples=500, rows=300, seed=0):
    """Coverage of intervals of drawn fits, and their standard errors beside exact ones.

    The truth is that of a sample of 400 000 rows. Seeds of the samples are counted from
    `seed`.
    """
    random = np.random.default_rng(99)
    large, moved, again = random.normal(size=(3, 400_000, 4))
    residuals, truth = random.normal(size=len(large)), np.empty((2, 4))
    for j in range(4):
        first, second = large.copy(), large.copy()
        first[:, j], second[:, j] = moved[:, j], again[:, j]
        gaps = waves(large) + residuals - waves(first)
        truth[0, j] = np.mean(np.abs(waves(first) - waves(second)))
        truth[1, j] = np.mean(gaps**2 - residuals**2)
    measures = SensitivityImportance(scale=None), PermutationImportance()
    for measure, true in zip(measures, truth):
        inside, ratios = [], []
        exact = clone(measure).set_params(estimation="exact")
        for at in range(seed, seed + samples):
            random = np.random.default_rng(at)
            X = random.normal(size=(rows, 4))
            y = waves(X) + random.normal(size=rows)
            drawn = clone(measure).set_params(estimation="sampled", random_state=at)
            covered = []
            for imp in (drawn, exact):
                ends = imp.fit(waves, X, y).interval().set_index("feature")
                ends = ends.loc[imp.features_]
                covered.append((ends["lower"] <= true) & (true <= ends["upper"]))
            inside.append(covered)
            ratios.append(drawn.standard_errors_ / exact.standard_errors_)
        ours, theirs = np.mean(inside, axis=0).round(3)
        print(f"{type(measure).__name__}: coverage {ours}, of exact fits {theirs},")
        print(f"  errors {np.mean(ratios, axis=0).round(3)} times the exact ones")


def function_of(predict):
    """The same as a function, which is not read."""

    def model(rows):
        return predict(rows)

    return model


def drawn_gaps(measure, model, data, seeds):
    """Drawn minus exact importances, and their errors, (2, n_seeds, n_features)."""
    X, y, weight = data
    exact = clone(measure).set_params(estimation="exact")
    if "max_evaluations" in exact.get_params():
        exact.set_params(max_evaluations=None)
    exact = exact.fit(model, X, y, sample_weight=weight).importances_
    measure.set_params(estimation="sampled")
    if measure.tol == "auto":
        measure.set_params(tol=None)
    found = []
    for seed in seeds:
        imp = measure.set_params(random_state=seed)
        imp.fit(model, X, y, sample_weight=weight)
        found.append((imp.importances_ - exact, imp.monte_carlo_errors_))
    return np.array(found).swapaxes(0, 1)


def mixed(X):
    """A smooth function of numbers, ties, levels and a group."""
    levels = 0.3 * (X[:, 3] % 3) + (X[:, 2] > 4) * X[:, 0]
    return (
        np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 4] + levels + np.exp(X[:, 4] / 2) * X[:, 5]
    )


STUDIES = [monte_carlo, tolerance, rare, honest, six_draws]
