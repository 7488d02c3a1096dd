"""Edges of definitions, where a formula alone would say something else."""

import itertools

import joblib
import numpy as np
import pytest
import sklearn
from response_oracle import check_equal
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier

from skvarimp import (
    ForwardSelector,
    InteractionImportance,
    NullImportances,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp.exceptions import ResponseWarning

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)
Y = X[:, 0] * X[:, 1] + X[:, 2]


@pytest.mark.parametrize(("size", "share"), [(1e-9, 0.0), (1e-5, 1.0)])
def test_a_joint_effect_of_rounding_is_none(size, share):
    """H is a ratio of two small numbers; below 1e-20 of the variance they are noise."""
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    measure = InteractionImportance(statistic="h", pairs=[(0, 1)])
    measure.fit(lambda X: 1e3 * X[:, 2] + size * X[:, 0] * X[:, 1], corners)
    assert measure.importances_[0] == pytest.approx(share, abs=1e-3)


def test_columns_never_added_rank_behind_the_last():
    """Below the threshold they are not tried at all."""
    shares = np.array([0.5, 1.0, 0.0, 0.25, 0.0])
    selector = ForwardSelector(
        LinearRegression(),
        lambda estimator, X, y: shares[X[0].astype(int)],
        importance_threshold=0.25,
        performance_threshold=0.0,
        random_state=0,
    )
    rows = np.tile(np.arange(5.0), (20, 1))
    selector.fit(rows, np.random.RandomState(0).randn(20))
    assert selector.path_["n_features"] == [1, 2, 3]
    assert selector.ranking_.tolist() == [2, 1, 4, 3, 4]


def test_ranges_are_shares_of_the_range():
    """Of y for values, of its indicators for labels, of the score itself for scores."""
    by_range = SensitivityImportance(contrast="range")
    linear = LinearRegression().fit(X, Y)
    assert by_range.fit(linear, X, Y).scale_ == np.ptp(Y)
    slopes = np.abs(linear.coef_) * np.ptp(X, axis=0)
    np.testing.assert_allclose(by_range.importances_, slopes / np.ptp(Y))
    labels = Y > 0
    by_range.fit(LogisticRegression().fit(X, labels), X, labels)
    assert by_range.scale_ == 1.0
    machine = RidgeClassifier().fit(X, labels)
    by_range.fit(machine, X, labels)
    assert by_range.scale_ == pytest.approx(np.ptp(machine.decision_function(X)))


@pytest.mark.parametrize(
    ("measure", "most"),
    [
        (SensitivityImportance(), 60),  # ten draws of two donors each
        (SensitivityImportance(contrast="observed"), 30),
        (SensitivityImportance(contrast="observed", n_repeats=1), 3),
        (PermutationImportance(), 30),
        (PermutationImportance(n_repeats=20, loss="absolute_error"), 60),
    ],
)
def test_an_unknown_model_is_asked_three_times_as_often_as_for_draws(measure, most):
    """Each row at each of the values is exact; how long a call takes is not known."""
    random = np.random.RandomState(0)
    for n_values, estimation in ((most, "exact"), (most + 1, "sampled")):
        column = np.arange(3 * n_values) % n_values
        rows = np.column_stack([column, random.permutation(column)])
        measure.set_params(random_state=0).fit(lambda X: X @ [1, 2], rows, column)
        assert measure.estimation_ == estimation


@pytest.mark.parametrize(
    "measure",
    [
        PermutationImportance(n_repeats=1, random_state=0),
        SensitivityImportance(n_repeats=1, random_state=0, scale=None),
    ],
)
def test_what_many_classes_cost_is_known(measure):
    """Curves of 600 probabilities take far longer than drawn rows; of 3 they do not."""
    rows = np.random.RandomState(0).randn(1200, 2)
    for n_classes, estimation in ((3, "exact"), (600, "sampled")):
        y = np.arange(1200) % n_classes
        model = GaussianNB().fit(rows, y)
        assert measure.fit(model, rows[:300], y[:300]).estimation_ == estimation


def test_errors_from_draws_are_not_inflated_by_drawing():
    """The mean square of standard errors of few draws is that of the exact one."""

    def product(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    parameters = {"contrast": "observed", "scale": None, "features": [0]}
    exact = SensitivityImportance(estimation="exact", **parameters).fit(product, X)
    squares = [
        SensitivityImportance(
            estimation="sampled", n_repeats=3, random_state=seed, **parameters
        )
        .fit(product, X)
        .standard_errors_[0]
        ** 2
        for seed in range(60)
    ]
    assert np.mean(squares) == pytest.approx(exact.standard_errors_[0] ** 2, rel=0.1)


def test_predict_wins_over_a_call():
    """Of an object with both; a bare callable is asked by any name for `predict`."""

    class Both:
        def predict(self, rows):
            return rows[:, 0]

        def __call__(self, rows):
            return rows[:, 1]

    measure = SensitivityImportance(scale=None)
    assert measure.fit(Both(), X).importances_[1] == 0.0
    for method in ("auto", "predict"):
        measure.set_params(response_method=method)
        assert measure.fit(Both().__call__, X).importances_[0] == 0.0
    measure.set_params(response_method="predict_proba")
    with pytest.raises(ValueError, match="no `predict_proba`"):
        measure.fit(Both(), X)


@pytest.mark.parametrize("link", ["identity", "log", "auto"])
@pytest.mark.parametrize("power", [0.0, 1.5])
def test_links_of_tweedie(link, power):
    """Named, or by the power where it is left to that."""
    y = np.exp(0.2 * Y) + 3
    model = TweedieRegressor(power=power, link=link, alpha=0.1).fit(X, y)
    check_equal(model, X, None, "predict", [0, [1, 2]])


def stale(change):
    """A machine whose coefficients are not quite those that it predicts with."""
    machine = SVR(gamma=0.5).fit(X, Y)
    machine.dual_coef_ = machine.dual_coef_ * (1 + change)
    return machine


def test_a_probe_sees_a_millionth():
    """And lets rounding pass."""
    measure = SensitivityImportance(scale=None)
    with pytest.warns(ResponseWarning, match="differs from its own predict"):
        assert "probe" in measure.fit(stale(1e-6), X).response_path_
    assert measure.fit(stale(1e-13), X).response_path_ == "kernel"


# Shares of two classes in three trees: their sums are equal but for rounding.
TIED = np.array([[0.35, 0.42, 0.23], [0.35, 0.35, 0.3], [0.42, 0.35, 0.23]])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, max_depth=1, max_features=1, random_state=0),
        ExtraTreesClassifier(3, max_depth=1, max_features=1, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_that_rounding_decides_are_the_models_own(model):
    """Two classes with equal sums of shares: the model adds them in its own order."""
    rows = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=3)))
    model.fit(rows, np.arange(len(rows)) % 3)
    for tree, shares in zip(model.estimators_, TIED):
        tree.tree_.value[:, 0] = shares  # one class leads on the left, one on the right
        tree.tree_.value[-1, 0] = shares[[1, 0, 2]]
    first, second, _ = model.predict_proba(rows).T
    assert np.any((first != second) & np.isclose(first, second, rtol=1e-12))
    check_equal(model, rows, None, "predict", [0, 1, 2], ["all"])


class Settings:
    """Responds by scikit-learn's settings, as some estimators do."""

    def predict(self, rows):
        """The first column, where assume_finite is set."""
        return rows[:, 0] * sklearn.get_config()["assume_finite"]


def test_workers_have_the_callers_settings():
    """scikit-learn keeps them apart from thread to thread."""
    measure = SensitivityImportance(scale=None)
    with sklearn.config_context(assume_finite=True):
        here = measure.fit(Settings(), X).importances_
        with joblib.parallel_config(backend="threading", n_jobs=2):
            there = measure.fit(Settings(), X).importances_
    assert here[0] > 0
    np.testing.assert_array_equal(there, here)


def test_no_call_is_larger_than_stated():
    """Not the first one either, of the rows as they are."""
    sizes = []

    def predict(rows):
        sizes.append(len(rows))
        return rows[:, 0]

    few_valued = np.random.RandomState(0).randint(0, 2, (40_000, 2))
    SensitivityImportance(scale=None, estimation="exact").fit(predict, few_valued)
    assert max(sizes) <= 32_768
    assert sum(sizes) == 3 * 40_000  # as they are, and each column's other value


def family_wise(standard):
    """p-values of the first row of standardised importances against all rows."""
    largest = standard[1:].max(axis=1, keepdims=True)
    return (1 + (largest >= standard[0]).sum(axis=0)) / len(standard)


def test_all_targets_alike_standardise_an_entry():
    """y is one of its own permutations: its importance enters the spread too."""
    random = np.random.RandomState(0)
    differs = False
    for _ in range(50):
        both = random.exponential(size=(5, 2))
        centred = both - both.mean(axis=0)
        expected = family_wise(centred / both.std(axis=0))
        found = NullImportances(["a", "b"], both[0], both[1:])
        np.testing.assert_allclose(found.familywise_pvalues, expected)
        of_others = family_wise(centred / both[1:].std(axis=0))
        differs |= not np.array_equal(expected, of_others)
    assert differs
