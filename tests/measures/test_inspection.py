"""`skvarimp.inspection`: scikit-learn's numbers, and scikit-learn's own tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.inspection as original
from combinations import half, one_per
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import _scorer, get_scorer, get_scorer_names, make_scorer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skvarimp.inspection as ours

X, Y = make_friedman1(90, n_features=6, random_state=0)
LABELS = np.digitize(Y, np.quantile(Y, [0.4, 0.7]))
HALVES = (np.median(Y) < Y).astype(int)
WEIGHTS = np.linspace(0.2, 2.0, 90)
MODELS = [
    (Ridge(), Y),
    (Ridge(), np.column_stack([Y, -Y])),
    (RandomForestRegressor(8, random_state=0), Y),
    (HistGradientBoostingRegressor(max_iter=8), Y),
    (SVR(), Y),
    (KNeighborsRegressor(3), Y),
    (MLPRegressor(hidden_layer_sizes=[4], max_iter=20, random_state=0), Y),
    (make_pipeline(StandardScaler(), SVR()), Y),
    (RandomForestClassifier(8, max_depth=2, random_state=0), LABELS),
    (RandomForestClassifier(8, random_state=0), HALVES),
    (RandomForestClassifier(4, random_state=0), np.array(["no", "yes"])[HALVES]),
    (DecisionTreeClassifier(max_depth=3, random_state=0), LABELS),
    (GradientBoostingClassifier(n_estimators=5, random_state=0), LABELS),
    (LogisticRegression(), HALVES),
    (LogisticRegression(), np.array(["a", "b", "c"])[LABELS]),
    (make_pipeline(SplineTransformer(), LogisticRegression()), LABELS),
    (VotingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))]), Y),
    (SVC(), HALVES),
]


@pytest.mark.parametrize("y", [3 * HALVES + 1, LABELS], ids=["two", "three"])
def test_labels_that_a_pipeline_predicts_are_scored_as_numbers(y):
    """Squared errors of labels, of a classifier that only its tags call one."""
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = make_pipeline(StandardScaler(), tree).fit(X, y)
    given = {"scoring": "neg_mean_squared_error", "random_state": 0}
    expected = original.permutation_importance(model, X, y, **given).importances
    found = ours.permutation_importance(model, X, y, **given).importances
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_probabilities_of_several_columns_of_y():
    """They are lists of arrays, and several repeats are asked for at once."""
    y = np.column_stack([HALVES, LABELS == 2]).astype(int)
    model = KNeighborsClassifier(3).fit(X, y)
    given = {"scoring": "roc_auc", "n_repeats": 3, "random_state": 0}
    expected = original.permutation_importance(model, X, y, **given).importances
    found = ours.permutation_importance(model, X, y, **given).importances
    assert expected[0].std() > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize(("model", "y"), half(MODELS))
def test_permutation_importance(model, y):
    """The same importances, with weights, frames, several scorers and drawn rows."""
    model.fit(X, y)
    names = None
    if y.ndim == 1 and hasattr(model, "predict_proba"):
        names = ["accuracy", "neg_log_loss", "roc_auc_ovr"]
    elif not hasattr(model, "classes_"):
        names = ["r2", "neg_mean_absolute_error"]
    for options in (
        {"n_repeats": 3},
        {
            "scoring": names,
            "sample_weight": None if y.ndim == 2 else WEIGHTS,
            "n_repeats": 2,
        },
        {"max_samples": 0.5, "n_repeats": 2},
    ):
        expected, found = (
            module.permutation_importance(model, X, y, random_state=3, **options)
            for module in (original, ours)
        )
        if "importances" in found:
            found, expected = {"score": found}, {"score": expected}
        assert found.keys() == expected.keys()
        for name in found:
            for part in ("importances", "importances_mean", "importances_std"):
                np.testing.assert_allclose(
                    found[name][part], expected[name][part], rtol=1e-9, atol=1e-9
                )
    frame = pd.DataFrame(X, index=np.arange(90)[::-1]).rename(columns="c{}".format)
    named = type(model)(**model.get_params(deep=False)).fit(frame, y)
    expected, found = (
        module.permutation_importance(named, frame, y, n_repeats=2, random_state=0)
        for module in (original, ours)
    )
    np.testing.assert_allclose(
        found.importances, expected.importances, rtol=1e-9, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    one_per(
        lambda name: repr(getattr(get_scorer(name), "_response_method", name)),
        zip(sorted(get_scorer_names())),
    ),
)
def test_every_scorer(name):
    """Of those that serve a regressor, a classifier, or two classes of labels."""
    served = 0
    for model, y in (
        (RandomForestRegressor(4, max_depth=3, random_state=0), Y - Y.min() + 1.0),
        (RandomForestClassifier(5, max_depth=3, random_state=0), HALVES),
    ):
        model.fit(X, y)
        try:
            expected = original.permutation_importance(
                model, X, y, scoring=name, n_repeats=2, random_state=0
            )
        except (ValueError, AttributeError) as error:
            with pytest.raises(type(error)):
                ours.permutation_importance(
                    model, X, y, scoring=name, n_repeats=2, random_state=0
                )
            continue
        found = ours.permutation_importance(
            model, X, y, scoring=name, n_repeats=2, random_state=0
        )
        np.testing.assert_allclose(
            found.importances, expected.importances, rtol=1e-9, atol=1e-9
        )
        served += 1
    assert served or name.endswith("_samples")


def test_repeats_are_scored_together(monkeypatch):
    """scikit-learn's score, most of whose time are checks, is asked once a column."""
    calls, plain = [], sklearn.metrics.r2_score

    def counted(*arguments, **options):
        calls.append(arguments)
        return plain(*arguments, **options)

    monkeypatch.setattr("sklearn.metrics.r2_score", counted)
    model = Ridge().fit(X, Y)
    ours.permutation_importance(model, X, Y, n_repeats=20, random_state=0)
    assert len(calls) == 1 + X.shape[1]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_scores_that_are_set_by_definition(weights):
    """A target without variance has an r2 of 0 or 1, and no column moves it."""
    y = np.column_stack([Y, np.full(90, 0.1)])
    model = Ridge().fit(X, y)
    how = {"n_repeats": 4, "random_state": 0, "sample_weight": weights}
    for scoring in ("r2", ["explained_variance", "neg_root_mean_squared_error"]):
        expected, found = (
            module.permutation_importance(model, X, y, scoring=scoring, **how)
            for module in (original, ours)
        )
        if scoring == "r2":
            found, expected = {"r2": found}, {"r2": expected}
        for name, of_name in expected.items():
            np.testing.assert_allclose(
                found[name].importances, of_name.importances, rtol=1e-9, atol=1e-9
            )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "y"), half(MODELS[::-1]))
def test_partial_dependence(model, y):
    """One and two columns, averages and curves, weights, any order of values."""
    model.fit(X, y)
    for features, options in (
        ([0], {"kind": "both"}),
        ([(1, 3)], {"grid_resolution": 4, "sample_weight": WEIGHTS}),
        ([2], {"custom_values": {2: np.array([0.9, 0.1, 0.5])}, "kind": "individual"}),
    ):
        expected, found = (
            module.partial_dependence(model, X, features[0], method="brute", **options)
            for module in (original, ours)
        )
        assert found.keys() == expected.keys()
        for part in ("average", "individual"):
            if part in expected:
                assert found[part].shape == expected[part].shape
                np.testing.assert_allclose(
                    found[part], expected[part], rtol=1e-9, atol=1e-9
                )


# --- grids that X does not store as given ---------------------------------------


def check_same_dependence(model, X, features, grids, **options):
    """Averages and curves of both modules."""
    options |= {"custom_values": grids, "kind": "both", "method": "brute"}
    expected, found = (
        module.partial_dependence(model, X, features, **options)
        for module in (original, ours)
    )
    for part in ("average", "individual"):
        np.testing.assert_allclose(found[part], expected[part], rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
def test_stored_zeros_are_not_missing():
    """scikit-learn stores the zeros of a grid in a sparse X, which XGBoost tells."""
    xgboost = pytest.importorskip("xgboost")
    counts = np.random.default_rng(0).poisson(0.8, (60, 3))
    rows = sparse.csr_matrix(counts * np.array([1.0, 1.0, 0.5]))
    y = 3.0 * (counts[:, 0] == 0) - counts[:, 1]
    model = xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(rows, y)
    grids = {0: [2.0, 0.0, 1.0], 2: [0.5, 0.0]}
    for features in (0, (0, 2)):
        check_same_dependence(model, rows, features, grids)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float32])
def test_columns_round_the_values_of_a_grid(dtype):
    """Integers are truncated, short floats rounded, as they are stored in X."""
    counts = np.random.default_rng(0).integers(0, 4, (60, 3)).astype(dtype)
    y = counts[:, 0] * 100.0 + counts[:, 1]
    for model in (RandomForestRegressor(4, random_state=0), Ridge()):
        model.fit(counts, y)
        for features in (0, (0, 2)):
            grids = {0: [0.6, 2.0, 1.7, 1.0], 2: [0.5, 1.0]}
            check_same_dependence(
                model, counts, features, grids, categorical_features=[0, 2]
            )


def test_missing_values_of_a_grid():
    """Served by a model that takes them, refused by one that does not."""
    grids = {0: [0.5, np.nan, 0.1]}
    boosting = HistGradientBoostingRegressor(max_iter=5).fit(X, Y)
    check_same_dependence(boosting, X, 0, grids)
    with pytest.raises(ValueError, match="NaN"):
        ours.partial_dependence(Ridge().fit(X, Y), X, 0, custom_values=grids)


def test_votes_by_labels_are_refused():
    """They have no scores, as scikit-learn says, and shares of labels are none."""
    vote = VotingClassifier([("a", LogisticRegression())]).fit(X, LABELS)
    for module in (original, ours):
        with pytest.raises(AttributeError, match="predict_proba"):
            module.partial_dependence(vote, X, 0)


def test_fast_responses_are_used():
    """A forest is asked for the unmoved rows only, not once for each repeat."""
    calls = []

    def counted(self, X):
        calls.append(len(X))
        return plain(self, X)

    forest = RandomForestRegressor(5, random_state=0).fit(X, Y)
    plain = RandomForestRegressor.predict
    try:
        RandomForestRegressor.predict = counted
        original.permutation_importance(forest, X, Y, n_repeats=20, random_state=0)
        slow = sum(calls)
        calls.clear()
        ours.permutation_importance(forest, X, Y, n_repeats=20, random_state=0)
    finally:
        RandomForestRegressor.predict = plain
    assert slow == 90 * (1 + 20 * 6)
    assert sum(calls) < slow / 4


def test_curves_from_fast_responses():
    """scikit-learn asks the model at each point of the grid, this package does not."""
    tree = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3))
    model = VotingRegressor([("tree", tree)]).fit(X, Y)
    asked, plain = [], VotingRegressor.predict
    VotingRegressor.predict = lambda self, rows: (
        asked.append(len(rows)) or plain(self, rows)
    )
    try:
        for module in (original, ours):
            asked.clear()
            module.partial_dependence(model, X, [0, 3], grid_resolution=20)
            rows = sum(asked)
            assert rows == 400 * 90 if module is original else rows < 10 * 90
    finally:
        VotingRegressor.predict = plain


def test_a_model_is_checked_once_whatever_the_grid(monkeypatch):
    """scikit-learn looks at a classifier's classes at each point, which takes long."""
    model, asked, plain = LogisticRegression(), [], LogisticRegression.__sklearn_tags__
    model.fit(X, HALVES)
    monkeypatch.setattr(
        LogisticRegression, "__sklearn_tags__", lambda m: asked.append(m) or plain(m)
    )
    counts = []
    for resolution in (10, 40):
        asked.clear()
        ours.partial_dependence(model, X, [0], grid_resolution=resolution)
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [{"working_memory": 1e-3}, {}])
def test_columns_served_together_or_one_by_one(how):
    """As many as memory allows share their work; workers have a column each."""
    forest = RandomForestRegressor(4, random_state=0).fit(X, Y)
    drawn = {"n_repeats": 2, "random_state": 1}
    expected = original.permutation_importance(forest, X, Y, **drawn)
    with sklearn.config_context(**how):
        for n_jobs in (None, 2):
            found = ours.permutation_importance(forest, X, Y, **drawn, n_jobs=n_jobs)
            np.testing.assert_allclose(
                found.importances, expected.importances, rtol=1e-9, atol=1e-9
            )


def test_outputs_that_are_not_finite():
    """Refused in whichever shuffle they come up, as by scikit-learn."""

    class Breaks(Ridge):
        """NaN once a moved row lies outside the training rows' diagonal."""

        def predict(self, X):
            return np.where(X[:, 0] * X[:, 1] > 0.9, np.nan, super().predict(X))

    rows = X[X[:, 0] * X[:, 1] <= 0.9]
    rows = rows[:70]
    model = Breaks().fit(rows, Y[:70])
    for module in (original, ours):
        with pytest.raises(ValueError, match="NaN"):
            module.permutation_importance(
                model, rows, Y[:70], n_repeats=30, random_state=0
            )


def test_a_classifier_of_one_class():
    """Every label is that class, so that nothing is lost."""
    tree = DecisionTreeClassifier().fit(X, np.ones(len(X)))
    found = ours.permutation_importance(tree, X, np.ones(len(X)), n_repeats=2)
    np.testing.assert_array_equal(found.importances, np.zeros((X.shape[1], 2)))


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
@pytest.mark.parametrize("kind", [bool, np.uint8])
def test_differences_of_labels(kind, scoring):
    """Also of types whose own differences NumPy refuses or wraps."""
    y = (Y > 0).astype(kind)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    how = {"scoring": scoring, "n_repeats": 3, "random_state": 0}
    expected = original.permutation_importance(model, X, y, **how).importances
    found = ours.permutation_importance(model, X, y, **how).importances
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_scorers_of_ones_own_get_the_model():
    """What looks at more than predictions is served by scikit-learn itself."""
    seen = []

    def scorer(estimator, X, y):
        seen.append(type(estimator))
        return float(np.mean(estimator.predict(X) * y))

    forest = RandomForestRegressor(3, random_state=0).fit(X, Y)
    expected, found = (
        module.permutation_importance(forest, X, Y, scoring=scorer, random_state=0)
        for module in (original, ours)
    )
    assert set(seen) == {RandomForestRegressor}
    np.testing.assert_array_equal(found.importances, expected.importances)


def test_scorers_added_later_get_the_models_own_outputs(monkeypatch):
    """Whatever they are called, they may look at ties, which rounding breaks."""
    forest = RandomForestRegressor(7, max_depth=2, random_state=0).fit(X, Y)
    distinct = make_scorer(lambda y, outputs: len(np.unique(outputs)))
    monkeypatch.setitem(_scorer._SCORERS, "neg_distinct_values_loss", distinct)
    with sklearn.config_context(skip_parameter_validation=True):
        expected, found = (
            module.permutation_importance(
                forest, X, Y, scoring="neg_distinct_values_loss", random_state=0
            )
            for module in (original, ours)
        )
    np.testing.assert_array_equal(found.importances, expected.importances)


class Reusing(Ridge):
    """Writes each prediction into the array of the one before."""

    def predict(self, X):
        """As a wrapper of native code may."""
        if not hasattr(self, "buffer"):
            self.buffer = np.empty(len(X))
        reused = self.buffer[: len(X)]
        reused[:] = super().predict(X)
        return reused


def test_predictions_in_one_reused_array(monkeypatch):
    """Those of several calls are collected before they are scored."""
    model = Reusing().fit(X, Y)
    expected = original.permutation_importance(model, X, Y, random_state=0)
    two_repeats = 2 * X.size
    monkeypatch.setattr("skvarimp._measures.scorers.proxies.HELD", two_repeats)
    model.buffer = np.empty(2 * len(X))
    found = ours.permutation_importance(model, X, Y, random_state=0)
    np.testing.assert_allclose(found.importances, expected.importances, atol=1e-12)


def test_bad_input():
    """Refused as by scikit-learn."""
    with pytest.raises(ValueError, match="n_repeats"):
        ours.permutation_importance(Ridge().fit(X, Y), X, Y, n_repeats=0)
    with pytest.raises(ValueError, match="kind"):
        ours.partial_dependence(Ridge().fit(X, Y), X, [0], kind="mean")


TESTS = Path(original.__file__).parent
FILES = {
    "permutation_importance": TESTS / "tests/test_permutation_importance.py",
    "partial_dependence": TESTS / "tests/test_partial_dependence.py",
}


@pytest.mark.thorough
def test_own_tests_of_scikit_learn(tmp_path):
    """scikit-learn's test files with only the import changed; no exception is needed.

    Of each file a part, without workers, unless SKVARIMP_ALL_TESTS is set.
    """
    parts = {
        "permutation_importance": "not (equivalence or large or mixed or -2])",
        "partial_dependence": "kind or sample_weight or grid_resolution",
    }
    for name, path in FILES.items():
        source, n_changed = re.subn(
            rf"^from sklearn\.inspection import {name}$",
            f"from skvarimp.inspection import {name}",
            path.read_text("utf8"),
            flags=re.MULTILINE,
        )
        assert n_changed == 1
        (tmp_path / path.name).write_text(source, "utf8")
    conftest = TESTS.parent / "conftest.py"
    (tmp_path / "conftest.py").write_text(conftest.read_text("utf8"), "utf8")
    options = ["-v", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull]
    if not os.environ.get("SKVARIMP_ALL_TESTS"):
        some = [f"({FILES[name].name} and ({part}))" for name, part in parts.items()]
        options += ["-k", " or ".join(some)]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", tmp_path, tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(ours.__file__).parents[1])},
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]
    for path in FILES.values():
        passed = rf"^{path.name}::.* PASSED"
        assert len(re.findall(passed, result.stdout, re.MULTILINE)) >= 10
