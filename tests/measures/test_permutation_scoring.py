"""Permutation importance by scorers."""

from functools import wraps
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from literal_permutation import (
    FOREST,
    LOGISTIC,
    RIDGE,
    THREE,
    TREES,
    TWO,
    WEIGHTS,
    X,
    Y,
)
from messages import says
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer, log_loss, make_scorer, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from skvarimp import PermutationImportance, SensitivityImportance, rank_intervals


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kind", "scoring", "y"),
    [(MLPRegressor, "r2", Y), (MLPClassifier, "neg_log_loss", THREE)],
)
def test_scores_of_perceptrons_are_those_of_their_predictions(kind, scoring, y):
    """The same draws, of a model that is read and of one that is asked."""
    model = kind(hidden_layer_sizes=[5], max_iter=40, random_state=0).fit(X, y)
    read = PermutationImportance(scoring=scoring, random_state=0).fit(model, X, y)
    assert read.response_path_ == "network (for the scorer)"

    def asked(estimator, rows, target):
        return get_scorer(scoring)(model, rows, target)

    of_model = PermutationImportance(scoring=asked, random_state=0).fit(model, X, y)
    assert read.importances_.max() > 0
    np.testing.assert_allclose(
        read.importances_, of_model.importances_, rtol=1e-9, atol=1e-12
    )


@pytest.mark.thorough
def test_scorers_against_scikit_learn():
    """Means over shuffles agree with permutation_importance within their errors."""
    for scoring, model, y in [
        ("r2", FOREST, Y),
        ("roc_auc", LOGISTIC, TWO == "yes"),
        ("neg_log_loss", TREES, THREE),
    ]:
        if scoring == "roc_auc":
            model = clone(model).fit(X, y)
        imp = PermutationImportance(scoring=scoring, n_draws=26, random_state=0)
        imp.fit(model, X, y)
        theirs = permutation_importance(
            model, X, y, scoring=scoring, n_repeats=26, random_state=1
        )
        error = np.hypot(imp.monte_carlo_errors_, theirs.importances_std / 5)
        gap = np.abs(imp.importances_ - theirs.importances_mean)
        assert np.all(gap < 4 * error + 1e-12)
        assert imp.output_names_ == [scoring]
        assert imp.estimation_ == "sampled"
        assert np.all(imp.standard_errors_ > 0)
        assert "scorer" in imp.response_path_


def test_scorer_of_a_mean_loss_converges_to_the_exact_loss():
    """A shuffled column has the expectation of all pairs of row and donor."""
    exact = PermutationImportance().fit(FOREST, X, Y).importances_
    imp = PermutationImportance(
        scoring="neg_mean_squared_error", n_draws=100, random_state=0
    ).fit(FOREST, X, Y)
    assert np.all(np.abs(imp.importances_ - exact) < 4 * imp.monte_carlo_errors_)


PARTS = np.arange(len(X)) % 2
LABELLED = KNeighborsClassifier(3).fit(X, TWO)
NAMED = [
    (FOREST, Y, "r2", {}),
    (RIDGE, Y, "neg_mean_absolute_error", {"features": [0, [1, 3]]}),
    (SVR().fit(X, Y), Y, "neg_root_mean_squared_error", {"conditional": PARTS}),
    (TREES, THREE, "accuracy", {}),
    (TREES, THREE, "neg_log_loss", {"conditional": {"x1": PARTS}}),
    (LOGISTIC, TWO, "balanced_accuracy", {}),
    (LABELLED, TWO == "yes", "roc_auc", {}),
    (make_pipeline(StandardScaler(), Ridge()).fit(X, Y), Y, "explained_variance", {}),
]


SOME = WEIGHTS * (np.arange(len(X)) % 7 > 0)
# scikit-learn takes long to find medians
MEDIAN = FOREST, Y, "neg_median_absolute_error", {"features": {"both": [0, 3]}}


@pytest.mark.filterwarnings("ignore:.* gives no standard errors")
@pytest.mark.parametrize(
    ("case", "weights"),
    [
        *each(NAMED, [None, SOME]),
        *(pytest.param(MEDIAN, w, marks=pytest.mark.thorough) for w in (None, SOME)),
    ],
)
def test_named_scorers_have_the_numbers_of_calls_of_the_model(case, weights):
    """A callable scorer gets the model and each shuffle's rows: the same ones."""
    model, y, scoring, parameters = case
    if scoring == "roc_auc":
        model = clone(model).fit(X, y)
    parameters = {"random_state": 0, "n_draws": 4, **parameters}
    named = PermutationImportance(scoring=scoring, **parameters)
    asked = PermutationImportance(scoring=get_scorer(scoring), **parameters)
    for imp in (named, asked):
        imp.fit(model, X, y, sample_weight=weights)
    close = {"rtol": 1e-9, "atol": 1e-12 * max(1.0, abs(asked.baseline_))}
    np.testing.assert_allclose(named.importances_, asked.importances_, **close)
    errors = named.monte_carlo_errors_, asked.monte_carlo_errors_
    np.testing.assert_allclose(*errors, **close)
    assert asked.response_path_ == "black box (the scorer asks the model)"
    assert ("black box" in named.response_path_) == (scoring == "roc_auc")


def test_fast_responses_serve_scorers(monkeypatch):
    """The forest is called for the unmoved rows and the probe, not for each shuffle."""
    asked = []
    predict = RandomForestRegressor.predict

    @wraps(predict)
    def counting(self, X):
        asked.append(len(X))
        return predict(self, X)

    monkeypatch.setattr(RandomForestRegressor, "predict", counting)
    imp = PermutationImportance(scoring="r2", n_draws=20, random_state=0)
    imp.fit(FOREST, X, Y)
    assert len(asked) < 2 * X.shape[1]
    assert imp.response_path_ == "trees, compiled (for the scorer)"


def error_of_callable(model, X, y):
    """A function of the user's own."""
    return -float(np.mean(np.abs(y - model.predict(X))))


def spoiling(model, X, y):
    """Another, which changes the rows that it is given."""
    X[:, 0] = 0.0
    return error_of_callable(model, X, y)


def own_log_loss(model, X, y):
    """That of scikit-learn's scorer."""
    return -log_loss(y, model.predict_proba(X))


SEVERAL = [
    (FOREST, Y, ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"]),
    (TREES, THREE, ("neg_log_loss", "accuracy")),
    (SVR().fit(X, Y), Y, {"weighted": get_scorer("r2"), "named": "r2"}),
    (SVR().fit(X, Y), Y, {"r2": "r2", "a": spoiling, "own": error_of_callable}),
    (RIDGE, Y, {"own": error_of_callable, "fast": "r2", "score": "score"}),
]


@pytest.mark.parametrize(("model", "y", "scoring"), SEVERAL)
def test_several_scorers_are_each_as_if_alone(model, y, scoring):
    """The same shuffles; the first one's are the attributes."""
    options = {"features": [0, [1, 3]], "n_draws": 4, "random_state": 0}
    imp = PermutationImportance(scoring=scoring, **options)
    imp.fit(model, X, y, sample_weight=SOME if "weighted" in scoring else None)
    given = scoring if isinstance(scoring, dict) else dict(zip(scoring, scoring))
    assert list(imp.results_) == list(given)
    assert imp.result_ is next(iter(imp.results_.values()))
    for name, scorer in given.items():
        alone = PermutationImportance(scoring=scorer, **options)
        alone.fit(model, X, y, sample_weight=SOME if "weighted" in scoring else None)
        one, expected = imp.results_[name], alone.result_
        assert one.output_names == [name]
        assert name in one.caption()
        close = {"rtol": 1e-9, "atol": 1e-12}
        for attribute in ("importances", "standard_errors", "directions"):
            of_both = getattr(one, attribute), getattr(expected, attribute)
            if of_both[1] is not None:  # as directions of several classes
                np.testing.assert_allclose(*of_both, **close)
        np.testing.assert_allclose(one.ends(0.9), expected.ends(0.9), **close)
        assert alone.results_.keys() == set(alone.output_names_)


@pytest.mark.parametrize(
    ("scoring", "n_methods"),
    [
        (["roc_auc", "average_precision"], 1),
        (["roc_auc", "neg_log_loss", "average_precision"], 2),
        ({"name": "neg_log_loss", "made": get_scorer("neg_log_loss")}, 1),
        pytest.param(
            {"own": own_log_loss, "made": get_scorer("neg_log_loss")},
            1,
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_several_scorers_read_the_same_predictions(scoring, n_methods):
    """The model is asked once for each shuffle and method that scorers need."""
    asked = []

    class Counting(SVC):
        def predict_proba(self, X):
            asked.append(len(X))
            return np.column_stack([1 - self._share(X), self._share(X)])

        def decision_function(self, X):
            asked.append(len(X))
            return self._share(X)

        def _share(self, X):
            return expit(SVC.decision_function(self, X))

    model = Counting().fit(X, TWO == "yes")
    imp = PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
    imp.set_params(max_evaluations=10**6, response_method="auto")
    most = imp.expected_evaluations(model, X)
    asked.clear()
    imp.fit(model, X, TWO == "yes")
    n, p = X.shape
    # besides: the response watched, and what functions ask for of unmoved rows
    besides = (1 + n_methods + len(scoring)) * n
    assert 4 * p * n * n_methods <= sum(asked) <= 4 * p * n * n_methods + besides
    assert sum(asked) <= most


def test_what_is_not_moved_loses_no_score():
    """Exactly nothing: a column of weight 0, and a constant one."""
    model = clone(RIDGE).fit(X, Y)
    model.coef_ = np.where(np.arange(X.shape[1]) == 2, 0.0, model.coef_)
    rows = X.copy()
    rows[:, 4] = 0.5
    for scoring in ("r2", "neg_mean_squared_error"):
        imp = PermutationImportance(scoring=scoring, random_state=0)
        imp.fit(model, rows, Y)
        assert imp.importances_[2] == imp.importances_[4] == 0
        assert np.all(imp.importances_[:2] != 0)


def test_messages_about_rows_do_not_go_in_a_circle():
    """Where a measure cannot keep rows, no message asks to keep them."""
    measure = PermutationImportance(rows="oob", random_state=0)
    forest = RandomForestRegressor(6, random_state=0).fit(X, Y)
    measure.fit(forest, X, Y)
    with pytest.raises(
        ValueError,
        match=says("PermutationImportance … no rows. rows='oob' … use rows='all'"),
    ) as info:
        rank_intervals(measure).to_frame()
    assert "keep_rows=True" not in str(info.value)
    measure.set_params(keep_rows=True)
    with pytest.raises(ValueError, match=r"keep_rows=True keeps .*use rows='all'"):
        measure.fit(forest, X, Y)
    measure.set_params(rows="all", scoring="r2")
    with pytest.raises(
        ValueError, match=says("score … mean over rows … keep_rows=False")
    ):
        measure.fit(forest, X, Y)


def test_scorers_get_weights_and_drawn_donors():
    """Unequal weights reach the scorer and decide how often a donor serves."""
    exact = PermutationImportance().fit(FOREST, X, Y, sample_weight=WEIGHTS)
    imp = PermutationImportance(
        scoring="neg_mean_squared_error", n_draws=100, random_state=0
    ).fit(FOREST, X, Y, sample_weight=WEIGHTS)
    gap = np.abs(imp.importances_ - exact.importances_)
    assert np.all(gap < 4 * imp.monte_carlo_errors_)
    seen = []

    def scorer(estimator, X, y, **options):
        seen.append((X.copy(), options))
        return 0.0

    PermutationImportance(scoring=scorer, n_draws=4, features=[0]).fit(FOREST, X, Y)
    assert [options for _, options in seen] == [{}] * 5
    for moved, _ in seen[1:]:
        assert np.all(np.isin(moved[:, 0], X[:, 0]))
        assert np.array_equal(moved[:, 1:], X[:, 1:])
    assert not np.array_equal(seen[1][0], seen[2][0])
    integer = np.where(np.arange(len(X)) < 20, 3, 1)
    seen.clear()
    PermutationImportance(scoring=scorer, n_draws=4, features=[0]).fit(
        FOREST, X, Y, sample_weight=integer
    )
    np.testing.assert_allclose(seen[1][1]["sample_weight"], integer)
    # 160 draws, of a row of weight 3 three times as often: 120 with a binomial spread
    moved = np.concatenate([moved[:, 0] for moved, _ in seen[1:]])
    heavy = np.isin(moved, X[:20, 0]).sum()
    assert abs(heavy - 120) < 4 * np.sqrt(160 * 3 / 16)


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.thorough)]
)
def test_scorer_on_the_models_own_container(container):
    """Groups and strings move within the frame; callables and make_scorer work."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"c": random.choice(["a", "b", "c"], 24), "x": random.rand(24), "z": 1}
    )
    y = (frame["c"] == "a") ^ (frame["x"] > 0.7)
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(encode, KNeighborsClassifier(3)).fit(frame, y)
    scorer = make_scorer(roc_auc_score, response_method="predict_proba")
    imp = PermutationImportance(scoring=scorer, random_state=0)
    imp.fit(model, container(frame), y)
    assert imp.importances_[0] > 0.1
    assert imp.importances_[2] == 0
    exact = PermutationImportance(
        loss="zero_one", estimation="exact", features=["c", ["c", "x"]]
    )
    exact.fit(model, frame, y)
    wrong = [np.mean(model.predict(frame.assign(c=c)) != y) for c in frame["c"]]
    expected = np.mean(wrong) - np.mean(model.predict(frame) != y)
    np.testing.assert_allclose(exact.importances_[0], expected, rtol=1e-12)


def test_the_error_of_drawing_is_shown():
    """In the frame and beside the bars."""
    drawn = SensitivityImportance(
        estimation="sampled", n_draws=4, scale=None, random_state=0
    ).fit(FOREST, X, Y)
    scored = PermutationImportance(scoring="r2", n_draws=4, random_state=0)
    scored.fit(FOREST, X, Y)
    for imp in (drawn, scored):
        frame = imp.to_frame().set_index("feature").loc[imp.features_]
        assert frame["monte_carlo_error"].tolist() == imp.monte_carlo_errors_.tolist()
        display = imp.plot()
        plt.close(display.figure_)
        error = np.hypot(imp.standard_errors_, imp.monte_carlo_errors_)
        (segments,) = display.errors_[2]
        widths = np.array([np.ptp(s[:, 0]) for s in segments.get_segments()])
        least = 2 * 1.96 * error[np.argsort(imp.ranking_)]
        assert np.all(widths >= least * (1 - 1e-9))
        assert f"sampled, {imp.response_path_}" in repr(imp)
    assert (
        "monte_carlo_error" not in SensitivityImportance().fit(FOREST, X, Y).to_frame()
    )


def test_a_scorer_may_call_a_function():
    """As it asks the method of an object."""
    seen = []

    def function(Z):
        seen.append(len(Z))
        return np.sin(Z[:, 0]) + Z[:, 1]

    def by_call(model, X, y):
        return -float(np.mean(np.abs(y - model(X))))

    model = SimpleNamespace(predict=function)
    imp = PermutationImportance(scoring=error_of_callable, n_draws=40, random_state=0)
    expected = clone(imp).fit(model, X, Y)
    n_asked = sum(seen)
    imp.set_params(scoring=by_call).fit(function, X, Y)
    for name in ("importances_", "standard_errors_"):
        np.testing.assert_array_equal(getattr(imp, name), getattr(expected, name))
    assert sum(seen) == 2 * n_asked
