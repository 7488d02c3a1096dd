"""Importances across folds, and importances for shuffled targets with p-values."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.callback import ProgressBar
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    CoefficientImportance,
    FilterImportance,
    FIRMImportance,
    FoldImportances,
    FoldsDisplay,
    ImpurityImportance,
    InteractionImportance,
    NullDisplay,
    NullImportances,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import Product

X, Y = make_friedman1(60, n_features=6, noise=1.0, random_state=0)
LABELS = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
LINEAR = LinearRegression()
OBSERVED = SensitivityImportance(contrast="observed", scale=None)
FOREST = RandomForestRegressor(3, max_depth=3)
BOTH = pytest.mark.parametrize("function", [importance_across_folds, null_importances])


class Slopes(RegressorMixin, BaseEstimator):
    """Least squares through the origin, and as little else as possible."""

    def fit(self, X, y):
        """Solve."""
        self.coef_ = np.linalg.lstsq(X, y)[0]
        return self

    def predict(self, X):
        """Evaluate."""
        return X @ self.coef_


class NeverFitted(LinearRegression):
    """Bad input must be refused before this is fitted."""

    def fit(self, X, y, sample_weight=None):
        """Fail."""
        raise AssertionError("fitted")


def slopes(estimator, X, y):
    """Absolute coefficients: a cheap measure."""
    return np.abs(estimator.coef_)


def few(function, **more):
    """Keyword arguments that keep a call short."""
    return ({"n_permutations": 3} if function is null_importances else {}) | more


def values(result):
    """The numbers of either result, as one array."""
    if isinstance(result, NullImportances):
        return np.vstack([result.importances, result.null])
    return result.importances


def global_state():
    """Of NumPy's global generator."""
    return np.random.get_state()  # noqa: NPY002 it is looked at, not drawn from


# Importances across folds


@pytest.mark.parametrize("rows", ["held_out", "training"])
@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True, random_state=0)])
def test_folds_are_the_plain_loop(rows, cv):
    """Clone, fit on the training rows, measure on the held-out rows."""
    measure = PermutationImportance()
    found = importance_across_folds(LINEAR, X, Y, measure, cv, rows=rows)
    splitter = KFold(cv or 5) if isinstance(cv, int | None) else cv
    for fold, (train, held_out) in enumerate(splitter.split(X)):
        model = LinearRegression().fit(X[train], Y[train])
        seen = train if rows == "training" else held_out
        alone = PermutationImportance().fit(model, X[seen], Y[seen])
        np.testing.assert_allclose(found.importances[fold], alone.importances_)
        per_output = found.importances_per_output[fold]
        np.testing.assert_allclose(per_output, alone.importances_per_output_)
    assert len(found.importances) == fold + 1
    assert found.entry_names == alone.entry_names_
    assert found.output_names == alone.output_names_


@pytest.mark.parametrize(
    ("model", "measure"),
    [
        (DecisionTreeRegressor(random_state=0), ImpurityImportance()),
        (LINEAR, CoefficientImportance()),
        (RandomForestRegressor(5, random_state=0), PermutationImportance(subset="oob")),
    ],
)
def test_measures_of_the_fit_get_the_training_rows(model, measure):
    """They would refuse, or misread, held-out rows."""
    found = importance_across_folds(
        model, X, Y, clone(measure).set_params(), 3, random_state=0
    )
    for fold, (train, _) in enumerate(KFold(3).split(X)):
        fitted = clone(model).fit(X[train], Y[train])
        alone = clone(measure).fit(fitted, X[train], Y[train]).importances_
        if "random_state" not in measure.get_params():
            np.testing.assert_allclose(found.importances[fold], alone)
        else:
            assert found.importances[fold].argmax() == alone.argmax()


def test_statistics_by_hand():
    """Mean, spread with divisor n - 1, and ranks that ties share."""
    table = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 0.0], [2.0, 6.0, -1.0]])
    folds = FoldImportances(["a", "b", "c"], table, table[..., np.newaxis], ["y"])
    np.testing.assert_allclose(folds.mean, [2, 3, 0])
    np.testing.assert_allclose(folds.sd, [1, np.sqrt(7), 1])
    assert folds.ranks.tolist() == [[1, 2.5, 2.5], [2, 1, 3], [2, 1, 3]]
    assert folds.ranking.tolist() == [2, 1, 3]
    frame = folds.to_frame()
    assert frame["entry"].tolist() == ["b", "a", "c"]
    assert frame["lowest"].tolist() == [1, 1, -1]
    assert frame["highest"].tolist() == [6, 3, 1]
    assert frame["best_rank"].tolist() == [1, 1, 2.5]
    assert frame["worst_rank"].tolist() == [2.5, 2, 3]
    np.testing.assert_allclose(frame["mean_rank"], [1.5, 5 / 3, 8.5 / 3])
    one = FoldImportances(["a"], np.ones((1, 1)), np.ones((1, 1, 1)), ["y"])
    assert np.isnan(one.sd).all()


def test_spread_is_no_standard_error():
    """What the docstring warns of: naively the error of the mean is too small."""
    means, naive = [], []
    for seed in range(80):
        random = np.random.default_rng(seed)
        Z = random.standard_normal((60, 2))
        y = Z @ [1.0, 0.5] + random.standard_normal(60)
        folds = importance_across_folds(
            Slopes(), Z, y, slopes, ShuffleSplit(10, test_size=0.2), random_state=0
        )
        means.append(folds.mean)
        naive.append(folds.sd / np.sqrt(10))
    assert np.all(np.mean(naive, axis=0) < 0.6 * np.std(means, axis=0))


def test_permuted_columns_permute_everything():
    """Ranks too: ties do not depend on the order of the columns."""
    order = np.array([3, 0, 5, 1, 4, 2])
    Z = np.column_stack([X[:, :4], np.zeros((60, 2))])  # two entries at exactly 0
    one = importance_across_folds(LINEAR, Z, Y, OBSERVED)
    other = importance_across_folds(LINEAR, Z[:, order], Y, OBSERVED)
    np.testing.assert_allclose(other.importances, one.importances[:, order], atol=1e-12)
    np.testing.assert_allclose(other.ranks, one.ranks[:, order])
    assert np.all(one.ranks[:, 4:] == 5.5)


def test_repeats_and_groups_of_rows():
    """Repeated folds, random splits, and whole groups held out."""
    repeated = RepeatedKFold(n_splits=3, n_repeats=2)
    found = importance_across_folds(LINEAR, X, Y, OBSERVED, repeated, random_state=0)
    assert found.importances.shape == (6, 6)
    assert len(np.unique(found.importances[:, 0])) == 6
    groups = np.arange(60) % 4
    seen = []

    def record(estimator, X, y):
        seen.append(set(X[:, 0]))
        return X[0]

    Z = np.column_stack([groups, np.arange(60)]).astype(float)
    importance_across_folds(LINEAR, Z, Y, record, GroupKFold(4), groups=groups)
    assert seen == [{3.0}, {2.0}, {1.0}, {0.0}] or sorted(map(min, seen)) == [
        0,
        1,
        2,
        3,
    ]
    assert all(len(labels) == 1 for labels in seen)


# Both functions


@BOTH
@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(scale=None, features={"a": [0, 1], "b": [2]}),
        InteractionImportance(pairs=[(0, 1), (0, 2)], grid=3),
        FIRMImportance(feature_functions=[Product(0, 1), Product(2, 3)]),
    ],
)
def test_entries_need_not_be_columns(function, measure):
    """Groups, pairs and feature functions, with their names."""
    found = function(LINEAR, X, Y, measure, **few(function))
    names = clone(measure).fit(LinearRegression().fit(X, Y), X, Y).entry_names_
    assert found.entry_names == names
    assert values(found).shape[1] == 2


@BOTH
def test_measures_without_a_model(function):
    """Filters see the data alone."""
    found = function(None, X, Y, FilterImportance(f_regression), **few(function))
    assert found.importances.shape[-1] == 6
    if function is null_importances:
        np.testing.assert_allclose(found.importances, f_regression(X, Y)[0])
    else:
        held_out = np.arange(12)
        expected = f_regression(X[held_out], Y[held_out])[0]
        np.testing.assert_allclose(found.importances[0], expected)


@BOTH
def test_several_classes(function):
    """Mean over the outputs; classes by name."""
    names = np.array(["low", "middle", "high"])[LABELS]
    model = LogisticRegression()
    found = function(model, X, names, OBSERVED, **few(function))
    numbers = function(model, X, LABELS, OBSERVED, **few(function, random_state=1))
    assert values(found).shape == values(numbers).shape
    if function is importance_across_folds:
        assert found.output_names == ["high", "low", "middle"]
        assert found.importances_per_output.shape == (5, 6, 3)
        mean = found.importances_per_output.mean(axis=2)
        np.testing.assert_allclose(found.importances, mean)
        np.testing.assert_allclose(found.importances, numbers.importances, rtol=1e-3)


def test_a_class_missing_from_a_fold_is_refused():
    """The mean over two outputs does not stand beside the mean over three."""
    order = np.argsort(LABELS, kind="stable")
    with pytest.raises(ValueError, match=r"outputs.*StratifiedKFold"):
        importance_across_folds(
            LogisticRegression(), X[order], LABELS[order], OBSERVED, KFold(3)
        )
    importance_across_folds(LogisticRegression(), X[order], LABELS[order], OBSERVED, 3)


@BOTH
def test_containers(function):
    """Frames reach the estimator as they came and come back as tables."""
    names = [f"c{j}" for j in range(6)]
    expected = values(function(LINEAR, X, Y, OBSERVED, **few(function, random_state=0)))
    frame = pd.DataFrame(X, columns=names, index=np.arange(100, 160))
    csr = sparse.csr_array(X)
    for container, library in (
        (frame, pd),
        (pl.from_pandas(frame), pl),
        (csr, pd),
        (X.tolist(), pd),
        (np.asfortranarray(X), pd),
    ):
        found = function(
            LINEAR, container, Y, OBSERVED, **few(function, random_state=0)
        )
        rounding = 1e-4 if container is csr else 1e-9  # LSQR stops at 1e-6
        np.testing.assert_allclose(values(found), expected, rtol=rounding)
        assert isinstance(found.to_frame(), library.DataFrame)
    target = pd.Series(Y, index=np.arange(60)[::-1])  # taken by position
    found = function(LINEAR, frame, target, OBSERVED, **few(function, random_state=0))
    np.testing.assert_allclose(values(found), expected, rtol=1e-9)
    assert found.entry_names == names


SAMPLED = PermutationImportance(estimation="sampled", n_repeats=1)


@BOTH
def test_random_state(function):
    """Same seed, same numbers, whatever n_jobs; other seeds differ."""
    splitter = ShuffleSplit(3)

    def run(random_state, n_jobs=None):
        with joblib.parallel_config(backend="threading"):
            return values(
                function(
                    FOREST,
                    X,
                    Y,
                    SAMPLED,
                    cv=splitter,
                    n_jobs=n_jobs,
                    random_state=random_state,
                    **({"n_permutations": 1} if function is null_importances else {}),
                )
            )

    first = run(0)
    assert np.array_equal(first, run(0))
    assert np.array_equal(first, run(0, n_jobs=2))
    assert not np.array_equal(first, run(1))
    for random in (np.random.default_rng(0), np.random.RandomState(0)):
        assert not np.array_equal(run(random), run(random))  # it is consumed
    assert not np.array_equal(run(None), run(None))
    assert splitter.random_state is None


@BOTH
def test_seeds_that_were_given_stay(function):
    """Only a `random_state` that is None is seeded, deep inside too."""
    seen = []

    class Recorder(RandomForestRegressor):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.random_state)
            return super().fit(X, y)

    for given in (7, None):
        seen.clear()
        model = make_pipeline(StandardScaler(), Recorder(1, random_state=given))
        function(model, X, Y, OBSERVED, **few(function, random_state=0))
        if given == 7:
            assert set(seen) == {7}
        else:
            assert len(set(seen)) == len(seen) >= 4
        assert model[-1].random_state == given


@BOTH
def test_processes_change_nothing(function):
    """Two workers."""
    one, two = (
        function(LINEAR, X, Y, OBSERVED, n_jobs=n, random_state=0, **few(function))
        for n in (None, 2)
    )
    assert np.array_equal(values(one), values(two))


@BOTH
def test_dask(function):
    """Every joblib backend will do."""
    distributed = pytest.importorskip("distributed")
    expected = values(function(LINEAR, X, Y, OBSERVED, **few(function, random_state=0)))
    with (
        distributed.LocalCluster(
            n_workers=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        found = function(LINEAR, X, Y, OBSERVED, **few(function, random_state=0))
    np.testing.assert_allclose(values(found), expected)


@BOTH
def test_weights_reach_estimator_and_measure(function):
    """With and without scikit-learn's routing; metadata by other names too."""
    weights = np.linspace(0.5, 2.0, 60)
    more = few(function, random_state=0)
    found = function(Ridge(), X, Y, OBSERVED, sample_weight=weights, **more)
    if function is null_importances:
        model = Ridge().fit(X, Y, sample_weight=weights)
        alone = clone(OBSERVED).fit(model, X, Y, sample_weight=weights)
        np.testing.assert_allclose(found.importances, alone.importances_)
    else:
        train, held_out = next(KFold(5).split(X))
        model = Ridge().fit(X[train], Y[train], sample_weight=weights[train])
        alone = clone(OBSERVED).fit(
            model, X[held_out], Y[held_out], sample_weight=weights[held_out]
        )
        np.testing.assert_allclose(found.importances[0], alone.importances_)
    with config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight="precision")
        measure = clone(OBSERVED).set_fit_request(sample_weight="precision")
        routed = function(model, X, Y, measure, params={"precision": weights}, **more)
    assert np.array_equal(values(routed), values(found))
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        function(Ridge(), X, Y, OBSERVED, params={"precision": weights}, **more)
    # an estimator without weights would be another model than the one asked for
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        function(KNeighborsRegressor(), X, Y, OBSERVED, sample_weight=weights, **more)
    function(None, X, Y, FilterImportance(f_regression), sample_weight=weights * 2 // 1)


@BOTH
def test_nothing_is_modified(function):
    """Estimator, measure, X, y and the global generator are as before."""
    model, measure = RandomForestRegressor(2).fit(X, Y), SAMPLED
    before = pickle.dumps((model, measure, X, Y, global_state()))
    found = function(model, X, Y, measure, random_state=0, **few(function))
    assert pickle.dumps((model, measure, X, Y, global_state())) == before
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(values(again), values(found))


BAD = {
    "importance is no measure": (dict(importance="pairs"), ValueError, "'importance'"),
    "importance is a class": (
        dict(importance=SensitivityImportance),
        TypeError,
        r"Use SensitivityImportance\(\)",
    ),
    "parameter of the importance": (
        dict(importance=SensitivityImportance(contrast="pair")),
        ValueError,
        "'contrast'",
    ),
    "importance for trees": (
        dict(importance=ImpurityImportance()),
        TypeError,
        "needs a tree",
    ),
    "unknown entry": (
        dict(importance=SensitivityImportance(features=["age"])),
        ValueError,
        "'age' is not among",
    ),
    "estimator is a class": (dict(estimator=Ridge), TypeError, "`estimator`"),
    "estimator has no fit": (dict(estimator=np.mean), TypeError, "`estimator`"),
    "X is a vector": (dict(X=Y), ValueError, "2-dimensional"),
    "y too short": (dict(y=Y[:-1]), ValueError, "59 entries"),
    "y is NaN": (dict(y=np.full(60, np.nan)), ValueError, "y contains NaN"),
    "cv of one": (dict(cv=1), ValueError, "'cv'"),
    "cv is a word": (dict(cv="five"), ValueError, "'cv'"),
    "cv is empty": (dict(cv=[]), ValueError, "no split"),
    "cv holds nothing out": (
        dict(cv=[(np.arange(60), [])]),
        ValueError,
        "without training or held-out rows",
    ),
    "cv beyond the rows": (dict(cv=[([1, 2], [60])]), ValueError, "does not have"),
    "weights too short": (dict(sample_weight=[1.0]), ValueError, r"shape \(60,\)"),
    "negative weights": (dict(sample_weight=-np.ones(60)), ValueError, "non-negative"),
    "groups too short": (dict(groups=[1, 2]), ValueError, "`groups` must have 60"),
    "n_jobs": (dict(n_jobs=0.5), ValueError, "'n_jobs'"),
    "random_state": (dict(random_state="a"), ValueError, "'random_state'"),
    "callbacks": (dict(callbacks=[print]), TypeError, "callback"),
}
BAD_FOLDS = {"rows": (dict(rows="all"), ValueError, "'rows'")}
BAD_NULL = {
    "no y": (dict(y=None), ValueError, "y is required"),
    "no permutation": (dict(n_permutations=0), ValueError, "'n_permutations'"),
    "no repeat": (dict(n_repeats=0), ValueError, "'n_repeats'"),
    "strata too short": (dict(strata=[1]), ValueError, "`strata` must have shape"),
    "strata of one row": (dict(strata=np.arange(60)), ValueError, "nothing can be"),
}


def check_refused(function, case):
    """The error comes, and before the first fit."""
    changed, error, message = case
    arguments = dict(estimator=NeverFitted(), X=X, y=Y, importance=OBSERVED)
    with pytest.raises(error, match=message):
        function(**(arguments | changed))


@BOTH
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_the_first_fit(function, case):
    """Wherever it is in the arguments."""
    check_refused(function, BAD[case])


@pytest.mark.parametrize("case", BAD_FOLDS)
def test_bad_input_across_folds(case):
    """Arguments of its own."""
    check_refused(importance_across_folds, BAD_FOLDS[case])


@pytest.mark.parametrize("case", BAD_NULL)
def test_bad_input_of_null_importances(case):
    """Arguments of its own."""
    check_refused(null_importances, BAD_NULL[case])


@BOTH
def test_errors_of_others_come_through(function):
    """The model's own error; importances that are no numbers."""

    def offline(estimator, X, y):
        raise RuntimeError("sensor offline")

    with pytest.raises(RuntimeError, match="sensor offline"):
        function(LINEAR, X, Y, offline)
    with pytest.raises(ValueError, match="'x0' is NaN"):
        function(LINEAR, X, Y, lambda e, X, y: X[0] * np.nan)
    with pytest.raises(ValueError, match=r"each of the 6 columns, got shape \(2,\)"):
        function(LINEAR, X, Y, lambda e, X, y: [1.0, 2.0])


@BOTH
def test_models_keep_the_callers_numpy_settings(function):
    """An overflow that the caller ignores is the model's own business."""

    class Overflows(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            assert np.exp(1e4) == np.inf
            return super().fit(X, y)

    with np.errstate(over="ignore"):
        function(Overflows(), X, Y, OBSERVED, **few(function))


class Stopping:
    """A callback that counts refits and may stop."""

    def __init__(self, after=None):
        self.after, self.refits = after, 0

    def setup(self, estimator, context):
        """See `FitCallback`."""

    def teardown(self, estimator, context):
        """See `FitCallback`."""

    def on_fit_task_begin(self, estimator, context):
        """See `FitCallback`."""

    def on_fit_task_end(self, estimator, context):
        """See `FitCallback`."""
        self.refits += context.task_name == "refit"
        return self.after is not None and self.refits >= self.after


@BOTH
def test_callbacks(function, capsys):
    """One step a refit; what was done before a stop is kept."""
    callback = Stopping()
    function(LINEAR, X, Y, OBSERVED, callbacks=callback, **few(function))
    assert callback.refits == (5 if function is importance_across_folds else 4)
    function(LINEAR, X, Y, OBSERVED, callbacks=[ProgressBar()], **few(function))
    assert "100%" in capsys.readouterr().out
    for after in (1, 2):
        with pytest.warns(ImportanceWarning, match="A callback stopped"):
            found = function(LINEAR, X, Y, OBSERVED, callbacks=Stopping(after))
        assert len(values(found)) == after
        assert len(found.to_frame()) == 6


# Null importances


def test_null_is_the_plain_loop():
    """Each null importance is the measure on a model refitted to a shuffled y."""
    targets = []

    def record(estimator, X_seen, y):
        assert np.array_equal(X_seen, X)
        targets.append(y.copy())
        return np.abs(estimator.coef_)

    found = null_importances(LINEAR, X, Y, record, n_permutations=20, random_state=0)
    assert np.array_equal(targets[0], Y)
    assert len(targets) == 21 == len({tuple(y) for y in targets})
    for y, importances in zip(targets, values(found)):
        assert np.array_equal(np.sort(y), np.sort(Y))
        expected = np.abs(LinearRegression().fit(X, y).coef_)
        np.testing.assert_allclose(importances, expected)
    # every row moves, to everywhere: mean of 20 random targets of each row
    assert np.abs(np.mean(targets[1:], axis=0) - Y.mean()).max() < 3 * Y.std()


def test_p_values_are_the_plain_loop():
    """Ties count; an entry that is always 0 has p = 1."""
    random = np.random.default_rng(0)
    null = np.round(random.exponential(size=(30, 4)), 1) * [1.0, 5.0, 0.0, 1.0]
    own = np.array([1.0, 40.0, 0.0, null[:, 3].max()])
    found = NullImportances(list("abcd"), own, null)
    both = np.vstack([own, null])
    sd = both.std(axis=0)
    standard = (both - both.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    for j in range(4):
        n = sum(null[b, j] >= own[j] for b in range(30))
        assert found.pvalues[j] == (1 + n) / 31
        n = sum(max(standard[b + 1]) >= standard[0, j] for b in range(30))
        assert found.familywise_pvalues[j] == (1 + n) / 31
    assert found.pvalues[1] == 1 / 31
    assert found.pvalues[2] == found.familywise_pvalues[2] == 1.0
    assert found.pvalues[3] >= 2 / 31
    assert np.all(found.familywise_pvalues >= found.pvalues - 1e-12)


def test_ties_up_to_rounding():
    """The same sum in another order is the same importance."""
    own, same = np.array([0.1 + 0.2 + 0.3]), np.array([[0.3 + 0.2 + 0.1]])
    assert own[0] > same[0, 0]
    assert NullImportances(["a"], own, same).pvalues[0] == 1.0
    assert NullImportances(["a"], -same[0], -own[:, None]).pvalues[0] == 1.0


def noise_p_values(measure, n_data_sets, n_permutations, draw, **more):
    """Results of null_importances on columns and targets of pure noise."""
    results = []
    for seed in range(n_data_sets):
        random = np.random.default_rng([n_permutations, seed])
        Z, y = random.standard_normal((15, 2)), draw(random)
        found = null_importances(
            Slopes(),
            Z,
            y,
            measure,
            n_permutations=n_permutations,
            random_state=seed,
            **more,
        )
        results.append(found)
    return results


def distance_from_uniform(p, n_permutations):
    """Kolmogorov's distance to the uniform law on multiples of 1 / (1 + B)."""
    steps = np.arange(n_permutations + 2) / (n_permutations + 1)
    at = np.union1d(p, steps)
    share = np.searchsorted(np.sort(p), at + 1e-9, side="right") / len(p)
    uniform = np.floor(at * (n_permutations + 1) + 1e-9) / (n_permutations + 1)
    return np.abs(share - uniform).max()


def normal(random):
    """A target that has nothing to do with anything."""
    return random.standard_normal(15)


def critical(n):
    """Kolmogorov's distance that one in a thousand uniform samples exceeds."""
    return stats.kstwobign.isf(1e-3) / np.sqrt(n)


@pytest.mark.parametrize("n_permutations", [4, 19])
def test_p_values_on_noise_are_uniform(n_permutations):
    """Of each entry, and of the smallest family-wise one; others are found out."""
    n = 400 if n_permutations == 4 else 150
    results = noise_p_values(slopes, n, n_permutations, normal)
    single = np.array([found.pvalues[0] for found in results])
    assert distance_from_uniform(single, n_permutations) < critical(n)
    family = np.array([found.familywise_pvalues.min() for found in results])
    assert distance_from_uniform(family, n_permutations) < critical(n)
    # The smallest of several entries is not uniform: this test has power,
    smallest = np.array([found.pvalues.min() for found in results])
    assert distance_from_uniform(smallest, n_permutations) > critical(n)
    if n_permutations == 4:  # and sees a p-value without the one for y itself.
        without = np.array(
            [np.mean(found.null[:, 0] >= found.importances[0]) for found in results]
        )
        assert distance_from_uniform(without, n_permutations) > critical(n)


def test_p_values_of_discrete_importances_are_never_too_small():
    """Ties: P(p <= a) <= a. Comparing with > instead would break it."""

    def coarse(estimator, X, y):
        return np.round(np.abs(estimator.coef_), 0)

    results = noise_p_values(coarse, 300, 4, normal)
    single = np.array([found.pvalues[0] for found in results])
    strict = np.array(
        [(1 + np.sum(r.null[:, 0] > r.importances[0])) / 5 for r in results]
    )
    for level in (0.2, 0.4, 0.6, 0.8):
        error = 3 * np.sqrt(level * (1 - level) / 300)
        assert np.mean(single <= level + 1e-9) <= level + error
    assert np.mean(strict <= 0.2 + 1e-9) > 0.2 + 3 * np.sqrt(0.16 / 300)


def test_p_values_with_folds_strata_and_weights_are_uniform():
    """Splits are made anew, y is shuffled within centres, weights go along."""
    centre = np.arange(15) % 2

    def centred(random):
        return random.standard_normal(15) + 5.0 * centre

    results = noise_p_values(slopes, 250, 4, centred, strata=centre)
    single = np.array([found.pvalues[0] for found in results])
    assert distance_from_uniform(single, 4) < critical(250)

    def error(estimator, X, y):
        without = estimator.predict(X)[:, np.newaxis] - X * estimator.coef_
        return ((without - y[:, np.newaxis]) ** 2).mean(axis=0)

    results = noise_p_values(error, 150, 4, normal, cv=3)
    single = np.array([found.pvalues[1] for found in results])
    assert distance_from_uniform(single, 4) < critical(150)


@pytest.mark.parametrize("cv", [None, 3])
def test_signal_gets_the_smallest_possible_p_value(cv):
    """And noise beside it does not."""
    random = np.random.default_rng(0)
    Z = random.standard_normal((80, 5))
    y = Z @ [2.0, 0.0, -2.0, 0.0, 0.0] + random.standard_normal(80)
    found = null_importances(
        LINEAR, Z, y, PermutationImportance(), n_permutations=39, cv=cv, random_state=0
    )
    for p in (found.pvalues, found.familywise_pvalues):
        assert np.all(p[[0, 2]] == 1 / 40)
        assert np.all(p[[1, 3, 4]] > 0.05)
    frame = found.to_frame()
    assert set(frame["entry"][:2]) == {"x0", "x2"}
    first = frame.set_index("entry").loc["x0"]
    np.testing.assert_allclose(first["null_mean"], found.null[:, 0].mean())
    np.testing.assert_allclose(first["null_sd"], found.null[:, 0].std())


def test_family_wise_p_values_do_not_depend_on_units():
    """An entry whose importance varies a thousand times more drowns no other."""
    random = np.random.default_rng(0)
    null = random.exponential(size=(99, 3))
    own = np.array([30.0, 1.0, 1.0])
    one = NullImportances(list("abc"), own, null).familywise_pvalues
    units = np.array([1.0, 1000.0, 1e-3])
    other = NullImportances(list("abc"), own * units, null * units).familywise_pvalues
    np.testing.assert_allclose(one, other)
    assert one[0] == 0.01


def test_weights_go_along_with_y_and_rows_without_weight_stay():
    """The pairs of target and weight are the same ones, on other rows."""
    weights = np.tile([0.0, 1.0, 2.0], 20)
    fits = []

    class Recorder(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append((X[:, 0], y, sample_weight))
            return super().fit(X, y, sample_weight)

    null_importances(Recorder(), X, Y, slopes, n_permutations=5, sample_weight=weights)
    for x, y, given in fits:
        assert np.array_equal(x, X[:, 0])
        assert sorted(zip(y, given)) == sorted(zip(Y, weights))
        assert np.array_equal(y[weights == 0], Y[weights == 0])
        assert np.all(given[weights == 0] == 0)
    assert not np.array_equal(fits[1][2], weights)
    # rows without weight do not exist: the same numbers as with another y there
    other = np.where(weights == 0, 1e3, Y)
    one, two = (
        null_importances(
            Ridge(),
            X,
            y,
            OBSERVED,
            n_permutations=3,
            sample_weight=weights,
            random_state=0,
        )
        for y in (Y, other)
    )
    np.testing.assert_allclose(values(one), values(two), rtol=1e-6)


def test_strata_and_splits_of_shuffled_targets():
    """Targets stay in their stratum; each shuffled y is stratified anew."""
    centre = np.repeat(["a", "b", "c"], 20)
    seen = []

    def record(estimator, X, y):
        seen.append(y)
        return X[0]

    null_importances(LINEAR, X, Y, record, n_permutations=6, strata=centre)
    for y in seen:
        for label in "abc":
            inside = centre == label
            assert np.array_equal(np.sort(y[inside]), np.sort(Y[inside]))
    seen.clear()
    null_importances(
        LogisticRegression(), X, LABELS, record, n_permutations=6, cv=StratifiedKFold(4)
    )
    assert len(seen) == 7 * 4
    assert all(np.bincount(y).tolist() == [5, 5, 5] for y in seen)


def test_repeats_are_means_for_all():
    """The same number of refits for y as for each shuffled y."""
    calls = []

    def noisy(estimator, X, y):
        calls.append(0)
        return np.full(6, float(len(calls)))

    found = null_importances(LINEAR, X, Y, noisy, n_permutations=2, n_repeats=4)
    assert len(calls) == 12
    np.testing.assert_allclose(values(found)[:, 0], [2.5, 6.5, 10.5])
    averaged = null_importances(
        FOREST, X, Y, OBSERVED, n_permutations=4, n_repeats=8, random_state=0
    )
    single = null_importances(FOREST, X, Y, OBSERVED, n_permutations=4, random_state=0)
    assert not np.allclose(averaged.importances, single.importances)


def test_a_network_and_a_pipeline():
    """Any model of any family."""
    network = MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=30, tol=1.0
    )
    model = make_pipeline(StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = importance_across_folds(model, X, Y, OBSERVED, 3, random_state=0)
        null = null_importances(model, X, Y, OBSERVED, n_permutations=2, random_state=0)
    assert np.all(folds.importances > 0)
    assert np.all(values(null) > 0)


# Displays


def test_plot_of_folds():
    """Boxes by mean, ranks at the right, a note for what is not shown."""
    table = np.array([[1.0, 5.0, 0.0], [2.0, 4.0, 0.5], [3.0, 6.0, -0.5]])
    names = ["a", "b $ 5", "c"]
    folds = FoldImportances(names, table, table[..., np.newaxis], ["y"])
    display = folds.plot(max_entries=2)
    display.figure_.canvas.draw()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b $ 5", "a"]
    left = [bar.get_x() for bar in display.boxes_]
    np.testing.assert_allclose(left, [4.5, 1.5])
    np.testing.assert_allclose([bar.get_width() for bar in display.boxes_], [1.0, 1.0])
    assert "1 of 3 entries are not shown" in display.ax_.get_xlabel()
    (ranks,) = display.ax_.child_axes
    assert [t.get_text() for t in ranks.get_yticklabels()] == ["1", "2"]
    same = folds.plot(ax=display.ax_)
    assert same.figure_ is display.figure_


def test_plot_of_null():
    """A panel an entry, the most important first; the importance is marked."""
    null = np.random.default_rng(0).exponential(size=(19, 4))
    own = np.array([1.0, 9.0, 0.0, 2.0])
    found = NullImportances(["a", "b", "c", "d $"], own, null)
    display = found.plot(n_entries=3)
    display.figure_.canvas.draw()
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles == ["b", "d $", "a"]
    for ax, j in zip(display.axes_, (1, 3, 0)):
        (line,) = ax.get_lines()
        assert line.get_xdata()[0] == own[j]
        assert f"p = {found.pvalues[j]:.2g}" in ax.texts[0].get_text()
        assert sum(patch.get_height() for patch in ax.patches) == 19
    constant = NullImportances(["a"], np.zeros(1), np.zeros((19, 1)))
    constant.plot().figure_.canvas.draw()
    with pytest.raises(ValueError, match="3 axes for 4 entries"):
        found.plot(axes=display.axes_)


@pytest.mark.parametrize(
    ("display", "arguments", "message"),
    [
        (FoldsDisplay([[1.0, 2.0]], ["a"]), {}, "shape"),
        (FoldsDisplay([[1.0, np.inf]], ["a", "b"]), {}, "infinity"),
        (FoldsDisplay([[1.0]], ["a"]), {"max_entries": 0}, "`max_entries`"),
        (NullDisplay([]), {}, "no entry"),
        (NullDisplay([("a", 1.0, [], 1.0, 1.0)]), {}, "no null importance"),
        (NullDisplay([("a", 1.0, [1.0], 1.0, 1.0)]), {"bins": 0}, "`bins`"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_displays_refuse_what_cannot_be_drawn(display, arguments, message):
    """In words of ours, not matplotlib's."""
    with pytest.raises(ValueError, match=message):
        display.plot(**arguments)
