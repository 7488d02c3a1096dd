"""Rows that depend on each other: errors are those of independent groups of rows."""

import warnings

import numpy as np
import pytest
from combinations import each, half
from messages import says
from roundoff import roundoff
from scipy import sparse
from scipy.stats import t as student
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import (
    ALEImportance,
    CoefficientImportance,
    DerivativeImportance,
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
    compare_importances,
    importance_across_folds,
    importance_by_cohort,
    importance_difference,
    rank_intervals,
)
from skvarimp.exceptions import ImportanceWarning

pd = pytest.importorskip("pandas")

N = 90
RANDOM = np.random.RandomState(0)
X = np.column_stack([RANDOM.randn(N), RANDOM.randint(0, 3, N), RANDOM.randn(N, 2)])
Y = X[:, 0] * (1 + X[:, 1]) + X[:, 2] + 0.5 * RANDOM.randn(N)
WEIGHTS = RANDOM.uniform(0.2, 2.0, N)
WEIGHTS[3] = 0.0
GROUPS = RANDOM.choice(list("abcdefghijklmnopqrst"), N)  # 1 to 9 rows each


def product(X):
    """A model without a fast response."""
    return X[:, 0] * (1 + X[:, 1]) + np.sin(X[:, 2])


MODELS = {
    "callable": (product, Y),
    "linear": (Ridge().fit(X, Y), Y),
    "softmax": (LogisticRegression().fit(X, X[:, 1]), X[:, 1]),
    "kernel": (SVR().fit(X, Y), Y),
    "forest": (RandomForestRegressor(8, random_state=0).fit(X, Y), Y),
}
MEASURES = {
    "pairs": SensitivityImportance(estimation="exact"),
    "observed": SensitivityImportance(contrast="observed", estimation="exact"),
    "range": SensitivityImportance(contrast="range", estimation="exact"),
    "drawn donors": SensitivityImportance(estimation="sampled", random_state=0),
    "drawn rows": SensitivityImportance(estimation="rows", random_state=0),
    "in parts": SensitivityImportance(
        conditional="subgroups", estimation="exact", random_state=0
    ),
    "dependence": PartialDependenceImportance(statistic="std"),
    "individual": PartialDependenceImportance(statistic="std", kind="individual"),
    "local effects": ALEImportance(),
    "total": SobolImportance(estimation="exact"),
    "first order": SobolImportance(order="first", estimation="exact"),
    "permutation": PermutationImportance(estimation="exact"),
    "ratio": PermutationImportance(estimation="exact", relative=True),
    "drawn losses": PermutationImportance(estimation="sampled", random_state=0),
    "firm": FIRMImportance(),
    "conditional means": FIRMImportance(method="conditional_mean", standardize=True),
}
# by the measure's own way, of models that have one
SMOOTH = {
    "derivative": DerivativeImportance(),
    "gaussian": FIRMImportance(method="gaussian", standardize=True),
}
TREES = {
    "unseen": ImpurityImportance(rows="unseen"),
    "oob": ImpurityImportance(rows="oob"),
    "out of bag": PermutationImportance(rows="oob", estimation="exact"),
}
CASES = each(MEASURES, MODELS)
CASES += [pytest.param(name, m) for name in SMOOTH for m in ("callable", "kernel")]
CASES += [pytest.param(name, "forest") for name in TREES]
ALL = MEASURES | SMOOTH | TREES
RESCALED = {"firm", "conditional means", "gaussian"}  # influences, to the errors


def fitted(name, model, groups, weights=WEIGHTS, **parameters):
    """A measure of the table, fitted."""
    measure = clone(ALL[name]).set_params(**parameters)
    estimator, y = MODELS[model]
    weights = None if name in {"oob", "out of bag"} else weights
    return measure.fit(estimator, X, y, sample_weight=weights, groups=groups)


def of_groups(psi, weights, groups):
    """The plain formula: (G / (G - 1) sum_g (sum_(i in g) w_i psi_i)^2)^(1/2)."""
    kept = weights > 0
    labels, total = sorted(set(groups[kept])), weights.sum()
    squares = 0.0
    for label in labels:
        rows = [i for i in np.flatnonzero(kept) if groups[i] == label]
        squares += sum(weights[i] / total * psi[i] for i in rows) ** 2
    return np.sqrt(len(labels) / (len(labels) - 1) * squares)


@pytest.mark.parametrize(("name", "model"), half(CASES[2:] + CASES[:2]))
def test_errors_are_norms_of_sums_within_groups(name, model):
    """With rows kept or not; importances are those without groups."""
    imp = fitted(name, model, GROUPS)
    without = fitted(name, model, None)
    assert without.n_groups_ is None
    np.testing.assert_array_equal(imp.importances_, without.importances_)
    assert imp.n_groups_ == len(set(GROUPS))
    if name == "out of bag":
        return  # keeps no rows
    keeping = fitted(name, model, GROUPS, keep_rows=True)
    weights = np.ones(N) if name == "oob" else WEIGHTS
    psi = keeping.influences_
    norms = of_groups(psi, weights, GROUPS)
    close = {"rtol": 1e-12, "atol": roundoff(N, psi[weights > 0])}
    np.testing.assert_allclose(keeping.standard_errors_, norms, **close)
    close["rtol"] = 1e-9  # rows that are not kept may be summed on the way
    np.testing.assert_allclose(imp.standard_errors_, norms, **close)
    if "drawn" not in name and name not in RESCALED:
        of_rows = fitted(name, model, None, keep_rows=True)
        np.testing.assert_array_equal(psi, of_rows.influences_)


@pytest.mark.parametrize(("name", "model"), half(CASES))
def test_each_row_a_group(name, model):
    """Nothing changes: errors, errors of outputs, intervals."""
    groups = np.random.RandomState(1).permutation(N)
    for keep in (False, True) if name != "out of bag" else (False,):
        one = fitted(name, model, groups, keep_rows=keep)
        other = fitted(name, model, None, keep_rows=keep)
        for values in ("standard_errors", "errors_per_output"):
            found, expected = (getattr(m.result_, values) for m in (one, other))
            if expected is not None:
                size = np.nanmax(np.abs(other.importances_))
                how = {"rtol": 1e-12, "atol": roundoff(N, size)}
                np.testing.assert_allclose(found, expected, **how)
        one, other = one.to_frame(confidence=0.9), other.to_frame(confidence=0.9)
        for end in ("lower", "upper"):
            np.testing.assert_allclose(one[end], other[end], rtol=1e-11, atol=1e-12)


COPIED = [
    name
    for name in ALL
    if "drawn" not in name and name not in {*TREES, "firm", "conditional means"}
]


@pytest.mark.parametrize("name", half(COPIED))
def test_copies_are_rows_of_their_weight(name):
    """One row a group, repeated: the fit on the single rows, with weights."""
    counts = np.random.RandomState(2).randint(1, 4, N)
    rows = np.repeat(np.arange(N), counts)
    model, y = MODELS["kernel"]
    measure = clone(ALL[name])
    many = clone(measure).fit(model, X[rows], y[rows], groups=rows)
    one = clone(measure).fit(model, X, y, sample_weight=counts)
    size = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(many.importances_, one.importances_, **size)
    np.testing.assert_allclose(many.standard_errors_, one.standard_errors_, **size)
    assert many.result_.degrees_of_freedom == N - 1


@pytest.mark.parametrize("kept", [False, True])
def test_sparse_columns(kept):
    """Groups of stored values give the errors of the dense rows."""
    random = np.random.RandomState(0)
    dense = np.where(random.rand(N, 12) < 0.15, random.randn(N, 12), 0.0)
    dense[:, 3] = random.randn(N)  # no zeros
    dense[:, 4] = 0.0
    model = Ridge().fit(dense, dense @ np.arange(12.0))
    labels = random.randint(0, 2, N)
    classes = LogisticRegression().fit(dense, labels)
    for measure, estimator in [
        (SensitivityImportance(scale=None), model),
        (FIRMImportance(method="linear", standardize=True), model),
        (FIRMImportance(), classes),
        (SensitivityImportance(scale=None), classes),
    ]:
        measure.set_params(keep_rows=kept)
        rows = {"sample_weight": WEIGHTS, "groups": GROUPS}
        expected = clone(measure).fit(estimator, dense, **rows)
        found = clone(measure).fit(estimator, sparse.csr_array(dense), **rows)
        for name in ("standard_errors", "errors_per_output"):
            numbers = [getattr(imp.result_, name) for imp in (found, expected)]
            np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-13)
        ends = [imp.to_frame(confidence=0.9)["upper"] for imp in (found, expected)]
        np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


def test_drawn_rows_estimate_the_error_of_all():
    """The mean over many draws of rows is near the exact squared error."""
    like = np.argsort(np.argsort(X[:, 0])) // 5  # rows of one group are alike
    how = {"scale": None, "contrast": "observed", "features": [0]}
    (exact,) = (
        SensitivityImportance(estimation="exact", **how)
        .fit(product, X, groups=like)
        .standard_errors_
    )
    found = [
        SensitivityImportance(estimation="rows", random_state=seed, n_draws=4, **how)
        .fit(product, X, groups=like)
        .standard_errors_
        for seed in range(20)
    ]
    # each is known to about a fifth
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(exact, rel=0.1)


def test_degrees_of_freedom():
    """One less than groups, whatever their sizes; fewer where weights differ."""
    exact = {"scale": None, "estimation": "exact"}
    imp = SensitivityImportance(**exact).fit(product, X, groups=GROUPS)
    quantile = student.ppf(0.975, len(set(GROUPS)) - 1)
    table = imp.to_frame(confidence=0.95).sort_values("feature")
    psi = SensitivityImportance(keep_rows=True, **exact).fit(product, X).influences_
    sums = [psi[label == GROUPS].sum(axis=0) / N for label in sorted(set(GROUPS))]
    n, errors = len(sums), table["standard_error"].to_numpy()
    terms = np.sqrt(n / (n - 1)) * np.array(sums)
    skew = np.sum((terms[:, :3] / errors[:3]) ** 3, axis=0)
    # Hall's transformation undone
    shift = np.array([quantile, -quantile])[:, np.newaxis] - skew / 6
    t = 3 / skew * (np.cbrt(1 + skew * shift) - 1)
    table = table[:3]
    expected = table["importance"].to_numpy() - errors[:3] * t
    np.testing.assert_allclose(table[["lower", "upper"]].T, expected, rtol=1e-9)
    few = SensitivityImportance().fit(product, X, Y, groups=GROUPS)
    weights = np.where(GROUPS == "a", 50.0, 1.0)
    shares = np.array([weights[label == GROUPS].sum() for label in set(GROUPS)])
    effective = shares.sum() ** 2 / (shares @ shares)
    said = f"The {n} groups count for no more than {effective:.1f} with equal weights"
    with pytest.warns(ImportanceWarning, match=said):
        heavy = SensitivityImportance().fit(
            product, X, Y, sample_weight=weights, groups=GROUPS
        )
    assert heavy.result_.degrees_of_freedom < few.result_.degrees_of_freedom == n - 1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:5], says("`groups` … (90,) … (5,)")),
        (np.where(GROUPS == "a", None, GROUPS), "`groups` holds missing values"),
        (np.zeros(N), says("one group … Leave `groups` out")),
        (np.where(np.arange(N) == 3, "a", "b"), says("one group … Leave `groups` out")),
    ],
)
def test_bad_groups(groups, message):
    """What is wrong and what to do; a group of weight 0 is none."""
    with pytest.raises(ValueError, match=message):
        SensitivityImportance().fit(product, X, Y, sample_weight=WEIGHTS, groups=groups)


def test_few_groups():
    """A warning below 10."""
    with pytest.warns(ImportanceWarning, match="only 9 groups"):
        SensitivityImportance().fit(product, X, Y, groups=np.arange(N) % 9)


def test_labels_of_any_type():
    """Mixed labels, and a frame's column."""
    measure = SensitivityImportance(estimation="exact")
    imp = measure.fit(product, X, Y, groups=GROUPS)
    numbers = {label: number for number, label in enumerate(set(GROUPS))}
    mixed = [numbers[g] if numbers[g] % 2 else g for g in GROUPS]
    for groups in (mixed, list(GROUPS), pd.Series(GROUPS, dtype="category")):
        found = clone(measure).fit(product, X, Y, groups=groups)
        np.testing.assert_allclose(
            found.standard_errors_, imp.standard_errors_, rtol=1e-13
        )


@pytest.mark.parametrize("measure", [ImpurityImportance(), InteractionImportance()])
def test_measures_without_errors_refuse_groups(measure):
    """Groups would change nothing."""
    with pytest.raises(ValueError, match=r"has none\. Leave `groups` out"):
        measure.fit(MODELS["forest"][0], X, Y, groups=GROUPS)


def test_pipeline_of_trees():
    """A measure behind transformers hands groups on."""
    model = make_pipeline(StandardScaler(), clone(MODELS["forest"][0])).fit(X, Y)
    unseen = ImpurityImportance(rows="unseen", keep_rows=True)
    imp = unseen.fit(model, X, Y, groups=GROUPS)
    norms = of_groups(imp.influences_, np.ones(N), GROUPS)
    np.testing.assert_allclose(imp.standard_errors_, norms, rtol=1e-10)


def test_comparisons_follow():
    """Differences, cohorts and ranks are those of independent groups."""
    keeping = PermutationImportance(keep_rows=True)
    first, second = (
        clone(keeping).fit(MODELS[m][0], X, Y, groups=GROUPS)
        for m in ("forest", "kernel")
    )
    table = (
        importance_difference(first, second)
        .to_frame()
        .set_index("feature")
        .sort_index()
    )
    psi = first.influences_ - second.influences_
    norms = of_groups(psi, np.ones(N), GROUPS)
    np.testing.assert_allclose(table["standard_error"], norms, rtol=1e-10)
    cohort = importance_by_cohort(
        first, np.where(GROUPS < "k", "one", "two")
    ).to_frame()
    alone = clone(keeping).fit(MODELS["forest"][0], X, Y)
    without = importance_by_cohort(
        alone, np.where(GROUPS < "k", "one", "two")
    ).to_frame()
    assert np.all(cohort["importance"] == without["importance"])
    assert np.all(cohort["standard_error"] != without["standard_error"])
    with pytest.warns(
        ImportanceWarning, match=says("one group … 'one' … together with other rows")
    ):
        one = importance_by_cohort(
            first, np.where(GROUPS == "a", "one", "two")
        ).to_frame()
    assert np.all(one["standard_error"][one["cohort"] == "one"].isna())
    copies = np.repeat(np.arange(N), 4)  # each row four times: as sure as one
    model, _ = MODELS["callable"]
    imp = SensitivityImportance(keep_rows=True, scale=None, estimation="exact")
    single = rank_intervals(clone(imp).fit(model, X)).to_frame()
    many = rank_intervals(clone(imp).fit(model, X[copies], groups=copies)).to_frame()
    np.testing.assert_allclose(single["lower"], many["lower"], rtol=1e-9, atol=1e-9)
    surer = rank_intervals(clone(imp).fit(model, X[copies])).to_frame()
    assert np.all(surer["lower"][:3] > many["lower"][:3])


def test_same_groups_in_different_rows():
    """Groups of one label are one: their common part cancels in a difference."""
    imp = SensitivityImportance(keep_rows=True, scale=None, estimation="exact")
    later = X + 1e-6  # the same patients a little later
    first, second = (
        clone(imp).fit(product, rows, groups=GROUPS) for rows in (X, later)
    )
    other = clone(imp).fit(product, later, groups=np.char.add("new ", GROUPS))
    paired = importance_difference(first, second).to_frame()["standard_error"]
    apart = importance_difference(first, other).to_frame()["standard_error"]
    assert paired.max() < 1e-3 * apart.max()
    for groups in (None, np.arange(N) % 30):
        changed = clone(imp).fit(product, X, groups=groups)
        with pytest.raises(ValueError, match=says("same rows … the same `groups`")):
            importance_difference(first, changed).to_frame()
    renamed = clone(imp).fit(product, X, groups=[f"z{ord(g)}" for g in GROUPS])
    assert importance_difference(first, renamed).to_frame()["standard_error"].max() == 0


def test_many_measures_at_once():
    """compare_importances hands groups to the measures that have errors."""
    measures = {"s": SensitivityImportance()}
    measures["c"] = CoefficientImportance(statistic="absolute")
    measures["f"] = FIRMImportance()
    table = compare_importances(MODELS["linear"][0], X, Y, measures, groups=GROUPS)
    fitted = table.fitted
    assert fitted["Ridge", "s"].n_groups_ == fitted["Ridge", "f"].n_groups_
    alone = FIRMImportance().fit(MODELS["linear"][0], X, Y, groups=GROUPS)
    errors = table.results["Ridge", "f"].standard_errors
    np.testing.assert_allclose(errors, alone.standard_errors_)


def test_groups_can_be_routed():
    """With a request they reach the measure, without one the splitter alone."""
    seen = []

    class Watching(SensitivityImportance):
        def _fit(self, estimator, X, y, sample_weight, groups=None):
            seen.append(groups)
            super()._fit(estimator, X, y, sample_weight, groups)

    folds = {"cv": GroupKFold(3), "groups": GROUPS, "random_state": 0}
    with config_context(enable_metadata_routing=True):
        asking = Watching().set_fit_request(groups=True)
        with warnings.catch_warnings():  # of few groups in a fold
            warnings.simplefilter("ignore", ImportanceWarning)
            importance_across_folds(Ridge(), X, Y, asking, **folds)
        assert len(seen) == 3
        assert all(set(groups) < set(GROUPS) for groups in seen)
        seen.clear()
        importance_across_folds(Ridge(), X, Y, Watching(), **folds)
        assert seen == [None] * 3
