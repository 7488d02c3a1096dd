"""Selectors: the rule, the path, the ranks."""

import joblib
import numpy as np
import pytest
from callback_recorder import Recorder
from combinations import BACKENDS, pairwise
from messages import says
from selection_data import BOTH, X, Y, assert_rule
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skvarimp import (
    BackwardEliminationSelector,
    ForwardSelector,
    ImportanceEstimator,
    SensitivityImportance,
)


class Coefficients:
    """A measure that costs nothing, of one output or several."""

    def __call__(self, model, X, y):
        return np.abs(np.atleast_2d(model.coef_)).sum(axis=0)

    def __repr__(self):
        return "coefficients"


@parametrize_with_checks(
    [
        BackwardEliminationSelector(LogisticRegression(), Coefficients(), step=0.9),
        ImportanceEstimator(LogisticRegression(), SensitivityImportance(scale=None)),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    """All of scikit-learn's own checks."""
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [
        BackwardEliminationSelector(LogisticRegression(), cv=2, step=0.9),
        ForwardSelector(Ridge(), cv=2, step=0.9),
    ]
)
def test_scikit_learn_conventions_of_the_default_measure(estimator, check):
    """Forward selection shares all but its walk with backward elimination."""
    check(estimator)


@pytest.mark.parametrize(
    ("kind", "threshold", "scoring"),
    pairwise(
        [BackwardEliminationSelector, ForwardSelector],
        [0.5, 0.95, 1.0],
        [None, "neg_mean_squared_error"],
    ),
)
def test_smallest_good_enough_subset(kind, threshold, scoring):
    """Also for negative scores, where 95% of the best means 5% worse."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    selector = kind(
        tree,
        lambda model, X, y: model.feature_importances_,
        cv=3,
        performance_threshold=threshold,
        scoring=scoring,
    )
    assert_rule(selector.fit(X, Y))


@BOTH
def test_negative_importances_are_noise(kind):
    """A column whose importance is -5 in each fold ranks last, not first."""
    selector = kind(
        LinearRegression(),
        lambda model, X, y: np.array([-5.0, 1.0, 0.5, 2.0])[: X.shape[1]],
        cv=3,
    )
    selector.fit(X[:, :4], Y)
    if kind is BackwardEliminationSelector:
        assert selector.path_["dropped"][1].tolist() == [0]
    else:
        assert np.concatenate(selector.path_["added"]).tolist() == [3, 1, 2]


@pytest.mark.thorough
@BOTH
def test_one_standard_error(kind):
    """The smallest subset within one standard error of the best score (CART)."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    selector = kind(tree, cv=5, performance_threshold="one_standard_error").fit(X, Y)
    path = selector.path_
    best = int(np.argmax(path["score"]))
    folds = path["fold_scores"][best]
    needed = max(path["score"]) - np.sqrt(np.var(folds, ddof=1) / 5)
    assert selector.score_needed_ == pytest.approx(needed)
    good = [n for n, s in zip(path["n_features"], path["score"]) if s >= needed]
    assert selector.n_features_ == min(good)
    shown = repr(selector)
    assert f"kept {min(good)} of 10 columns" in shown
    assert (
        f"best score {max(path['score']):.4g} with {path['n_features'][best]}" in shown
    )
    display = selector.plot_path()
    texts = " ".join(text.get_text() for text in display.ax_.texts)
    assert "kept: " in texts
    assert "best" in texts


@pytest.mark.thorough
@BOTH
def test_what_is_good_enough_by_default(kind):
    """One standard error of folds; of one split, which has none, 95% of the best."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    for cv, rule in ((5, "one_standard_error"), ("one_split", 0.95)):
        by_default = kind(tree, cv=cv, random_state=0).fit(X, Y)
        told = kind(tree, cv=cv, random_state=0, performance_threshold=rule).fit(X, Y)
        assert by_default.score_needed_ == told.score_needed_
        assert np.array_equal(by_default.ranking_, told.ranking_)
    halves = [(np.arange(100), np.arange(100, 200))]
    once = kind(tree, cv=halves).fit(X, Y)
    assert once.score_needed_ == pytest.approx(0.95 * max(once.path_["score"]))


@BOTH
@pytest.mark.parametrize("cv", ["one_split", [(np.arange(9), np.arange(9, 20))]])
def test_one_standard_error_needs_folds(kind, cv):
    """Refused before the first fit, with the way out."""

    class NeverFitted(LinearRegression):
        def fit(self, X, y):
            raise AssertionError

    selector = kind(NeverFitted(), cv=cv, performance_threshold="one_standard_error")
    with pytest.raises(
        ValueError, match=says("performance_threshold='one_standard_error' … cv=5")
    ):
        selector.fit(X, Y)


@BOTH
@pytest.mark.parametrize("step", [1, 4, 0.3])
@pytest.mark.parametrize("least", [1, 3])
def test_progress_knows_the_number_of_steps(kind, step, least):
    """A progress bar is told how many steps there are; drops at once end it early."""
    kept_all = Recorder(step="step")
    selector = kind(
        LinearRegression(),
        lambda model, X, y: np.abs(model.coef_),
        step=step,
        min_features_to_select=least,
        importance_threshold=0.0,
    )
    selector.set_callbacks(kept_all)
    selector.fit(X, Y)
    assert kept_all.max_subtasks == kept_all.steps == len(selector.path_["score"])
    some = Recorder(step="step")
    selector.set_params(importance_threshold=0.9).set_callbacks(some)
    selector.fit(X, Y)
    assert some.steps == len(selector.path_["score"]) < some.max_subtasks


@pytest.mark.thorough
@BOTH
def test_recovers_informative_columns(kind):
    """Friedman 1 with a kernel machine, and a classification with noise columns."""
    machine = make_pipeline(StandardScaler(), SVR(C=10.0))
    selector = kind(machine, cv=3, performance_threshold=0.98, random_state=0)
    kept = set(selector.fit(X, Y).get_support(indices=True))
    assert {0, 1, 3} <= kept <= {0, 1, 2, 3, 4}
    Z, labels = make_classification(
        300, 12, n_informative=3, n_redundant=0, shuffle=False, random_state=1
    )
    forest = RandomForestClassifier(12, random_state=0)
    selector = kind(forest, cv=3, performance_threshold=0.98, step=2)
    assert set(selector.fit(Z, labels).get_support(indices=True)) <= {0, 1, 2}


def test_low_importances_go_at_once_and_ties_drop_the_last():
    """Importances by hand: 1, 0, 0.5, 0, 0.5 of five columns."""
    fixed = np.array([1.0, 0.0, 0.5, 0.0, 0.5])
    seen = []

    def importance(estimator, X, y):
        seen.append(X.shape[1])
        return fixed[np.round(X[0]).astype(int)]

    Z = np.tile(np.arange(5.0), (40, 1))
    y = np.random.RandomState(0).randn(40)
    selector = BackwardEliminationSelector(LinearRegression(), importance).fit(Z, y)
    assert selector.path_["n_features"] == [5, 3, 2, 1]
    assert [d.tolist() for d in selector.path_["dropped"]] == [[], [1, 3], [4], [2]]
    assert seen == [5, 3, 2]
    by_share = BackwardEliminationSelector(
        LinearRegression(), importance, step=0.5, importance_threshold=0.0
    ).fit(Z, y)
    assert by_share.path_["n_features"] == [5, 3, 2, 1]
    at_least = BackwardEliminationSelector(
        LinearRegression(), importance, min_features_to_select=4
    ).fit(Z, y)
    assert at_least.path_["n_features"] == [5, 4]


def test_ranking_of_those_dropped_together():
    """1 = kept, the columns dropped first have the largest rank."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    selector = BackwardEliminationSelector(tree, step=3, random_state=0).fit(X, Y)
    for earlier, later in zip(
        selector.path_["dropped"][1:], selector.path_["dropped"][2:]
    ):
        if selector.ranking_[later][0] > 1:
            assert selector.ranking_[earlier][0] == selector.ranking_[later][0] + 1
        assert len(set(selector.ranking_[earlier])) == 1


def test_rescaling_the_target_changes_nothing():
    """Thresholds are relative."""
    few = X[:, :6]
    one = BackwardEliminationSelector(Ridge(1e-6), cv=3).fit(few, Y)
    other = BackwardEliminationSelector(Ridge(1e-6), cv=3).fit(few, 1000 * Y)
    assert np.array_equal(one.ranking_, other.ranking_)


@pytest.mark.thorough
def test_no_training_score_is_reported():
    """One nearest neighbour of itself would be right always; on noise it is not."""
    random = np.random.RandomState(0)
    Z, labels = random.randn(200, 6), random.randint(0, 2, 200)
    selector = BackwardEliminationSelector(KNeighborsClassifier(1), cv=4).fit(Z, labels)
    assert max(selector.path_["score"]) < 0.65
    inner = BackwardEliminationSelector(KNeighborsClassifier(5), random_state=0)
    pipeline = make_pipeline(inner, KNeighborsClassifier(5))
    assert abs(cross_val_score(pipeline, Z, labels, cv=5).mean() - 0.5) < 0.1


def test_importance_sees_held_out_rows_only():
    """Rows are numbered by their first column; none is in the fit."""
    fitted, shown = [], []

    class Recorder(LinearRegression):
        def fit(self, X, y):
            fitted.append(set(X[:, 0]))
            return super().fit(X, y)

    def importance(estimator, X, y):
        shown.append(set(X[:, 0]))
        return np.arange(X.shape[1])[::-1]

    Z = np.column_stack([np.arange(50.0), np.random.RandomState(0).randn(50, 3)])
    BackwardEliminationSelector(Recorder(), importance, random_state=0).fit(Z, Z[:, 1])
    assert len(shown[0]) == 15
    for train, held_out in zip(fitted, shown):
        assert not train & held_out


@pytest.mark.parametrize("backend", BACKENDS)
def test_n_jobs_changes_nothing(backend):
    """Folds in threads and processes."""
    measure = SensitivityImportance(scale=None)
    one = BackwardEliminationSelector(Ridge(), measure, cv=3, step=2).fit(X, Y)
    with joblib.parallel_config(backend=backend):
        two = clone(one).set_params(n_jobs=2).fit(X, Y)
    assert np.array_equal(one.ranking_, two.ranking_)
    assert one.path_["score"] == two.path_["score"]


def test_callbacks_stop_the_path():
    """The subset is chosen among those seen."""
    stop = Recorder(stop_after=3, step="step")
    selector = BackwardEliminationSelector(Ridge(), cv=2)
    selector.set_callbacks(stop).fit(X, Y)
    assert selector.path_["n_features"] == [10, 9, 8]
    assert stop.events[-1] == "teardown"
    assert_rule(selector)


def test_plot_path():
    """The chosen subset is marked; the folds' spread is drawn."""
    import matplotlib.pyplot as plt

    selector = BackwardEliminationSelector(
        Ridge(), lambda model, X, y: np.abs(model.coef_), cv=3
    ).fit(X, Y)
    display = selector.plot_path()
    assert display.line_.get_xdata().tolist() == list(range(1, 11))
    kept = selector.n_features_
    score = dict(zip(selector.path_["n_features"], selector.path_["score"]))[kept]
    texts = " ".join(text.get_text() for text in display.ax_.texts)
    assert f"kept: {score:.4g} with {kept} of 10" in texts
    plt.close(display.figure_)


@BOTH
def test_a_seed_is_one_of_the_estimator_too(kind):
    """Two fits agree; an estimator with a seed of its own keeps it."""
    tree = DecisionTreeRegressor(max_features=2, min_samples_leaf=5)
    first, second = (
        kind(clone(tree), "sensitivity", random_state=seed).fit(X, Y) for seed in (0, 0)
    )
    assert first.path_["score"] == second.path_["score"]
    np.testing.assert_array_equal(first.ranking_, second.ranking_)
    assert isinstance(first.estimator_.random_state, int)
    assert first.estimator.random_state is None
    own = kind(clone(tree).set_params(random_state=3), "sensitivity", random_state=0)
    assert own.fit(X, Y).estimator_.random_state == 3
