"""Progress through scikit-learn's callbacks, and stopping through them."""

import joblib
import numpy as np
import pytest
from callback_recorder import Recorder
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skvarimp import (
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
)
from skvarimp.exceptions import ImportanceWarning

X = np.random.RandomState(0).randn(60, 6)
Y = X[:, 0]


def model(X):
    """Every input acts, through an interaction."""
    return X @ np.arange(1.0, 7.0) * np.exp(X[:, 0] / 4)


MODES = {
    "exact": dict(estimation="exact"),
    "exact, 2 workers": dict(estimation="exact", n_jobs=2),
    "sampled": dict(estimation="sampled", n_draws=4),
    "sampled, 2 threads": dict(estimation="sampled", n_draws=4, n_jobs=2),
    "until precise": dict(estimation="sampled", tol=0.05, n_draws=4),
    "rows": dict(estimation="rows", n_draws=4),
    "rows, 2 threads": dict(estimation="rows", n_draws=4, n_jobs=2),
}


PROCESSES = pytest.param("exact, 2 workers", marks=pytest.mark.thorough)


@pytest.fixture(params=[PROCESSES if "workers" in mode else mode for mode in MODES])
def importance(request):
    """One in each way of computing; processes once, they are slow to start anew."""
    backend = "threading" if "threads" in request.param else "loky"
    with joblib.parallel_config(backend=backend):
        yield SensitivityImportance(scale=None, random_state=0, **MODES[request.param])


def test_every_feature_is_a_step(importance):
    """One step per feature, within one fit, set up and torn down once."""
    recorder = Recorder()
    importance.set_callbacks(recorder).fit(model, X)
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert recorder.events.count("setup") == recorder.events.count("teardown") == 1
    assert recorder.events.count("begin feature") == recorder.steps == 6
    assert recorder.max_subtasks == 6
    parents = {c.parent for c in recorder.contexts if c.task_name == "feature"}
    assert len(parents) == 1


def test_callbacks_change_no_number(importance):
    """With and without, and in a second fit with the same callback."""
    alone = clone(importance).fit(model, X).importances_
    recorder = Recorder()
    importance.set_callbacks(recorder)
    assert np.array_equal(importance.fit(model, X).importances_, alone)
    assert np.array_equal(importance.fit(model, X).importances_, alone)
    assert recorder.steps == 12
    assert recorder.events.count("teardown") == 2


def test_stop_after_two_features(importance):
    """What is done is kept; the rest is NaN or, while drawing, a running estimate."""
    complete = clone(importance).fit(model, X).importances_
    recorder = Recorder(stop_after=2)
    importance.set_callbacks(recorder)
    with pytest.warns(ImportanceWarning) as caught:
        importance.fit(model, X)
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert 2 <= recorder.steps < 6
    known = ~np.isnan(importance.importances_)
    if importance.tol == "auto":
        assert known.sum() == recorder.steps
        np.testing.assert_array_equal(importance.importances_[known], complete[known])
        message = f"{6 - known.sum()} of 6 features have no importance"
    else:
        message = "before the draws were stopped"
        assert np.all(importance.n_draws_[known] >= len(X))
        known &= np.isfinite(complete)
        found = importance.importances_[known]
        np.testing.assert_allclose(found, complete[known], rtol=0.5)
    assert any(message in str(w.message) for w in caught)
    assert sorted(importance.ranking_) == [1, 2, 3, 4, 5, 6]
    assert len(importance.to_frame()) == 6


def test_everything_is_torn_down_when_the_model_fails(importance):
    """In this process and in a worker."""
    recorder = Recorder()
    importance.set_callbacks(recorder)
    with pytest.raises(ValueError, match="the model failed"):
        importance.fit(Failing(), X)
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"


class Failing:
    """Predicts X as it came and nothing else."""

    def predict(self, Z):
        """Fails on moved rows."""
        if len(Z) != len(X) or not np.array_equal(Z, X):
            raise ValueError("the model failed")
        return Z[:, 0]


def test_everything_is_torn_down_when_a_callback_fails(importance):
    """Its error is raised, all callbacks are torn down."""
    failing, other = Recorder(fail_after=1), Recorder()
    importance.set_callbacks(other, failing)
    with pytest.raises(RuntimeError, match="the callback failed"):
        importance.fit(model, X)
    assert failing.events[-1] == other.events[-1] == "teardown"
    recovered = importance.set_callbacks().fit(model, X)
    assert not np.isnan(recovered.importances_).any()


def test_comparing_tells_each_measure():
    """A step per feature of each measure and model, one callback or several."""
    recorder, other = Recorder(), Recorder()
    measures = [SensitivityImportance(scale=None), FIRMImportance()]
    models = {"one": model, "other": lambda X: X[:, 1]}
    compare_importances(models, X, None, measures, callbacks=[recorder, other])
    n_features = X.shape[1]
    assert recorder.steps == other.steps == 2 * 2 * n_features
    assert recorder.events.count("teardown") == 4
    stopping = Recorder(stop_after=2)
    with pytest.warns(ImportanceWarning, match="was stopped"):
        table = compare_importances(model, X, None, measures[:1], callbacks=stopping)
    (found,) = table.results.values()
    assert np.isnan(found.importances).sum() == n_features - 2
    assert not hasattr(measures[0], "_skl_callbacks")


def test_bad_input_sets_nothing_up():
    """Errors of the user come before the callbacks."""
    recorder = Recorder()
    imp = SensitivityImportance(features=["nobody"]).set_callbacks(recorder)
    with pytest.raises(ValueError, match="nobody"):
        imp.fit(model, X)
    assert recorder.events == []


@pytest.mark.parametrize(
    "importance",
    [
        PartialDependenceImportance(),
        InteractionImportance(grid=3, features=[0, 1, 2]),
        PermutationImportance(estimation="exact"),
        PermutationImportance(estimation="sampled", n_draws=4, random_state=0),
    ],
    ids=str,
)
def test_other_measures_report_progress(importance):
    """Every measure on the engine drives callbacks to the end."""
    recorder = Recorder()
    importance.set_callbacks(recorder).fit(model, X, Y)
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"
    begun = sum(event.startswith("begin") for event in recorder.events)
    ended = sum(event.startswith("end") for event in recorder.events)
    assert begun == ended > 1


def test_progress_bar_of_scikit_learn(monkeypatch):
    """Drawn by rich, once per fit, and complete at the end."""
    rich = pytest.importorskip("rich.progress")
    bar = pytest.importorskip("sklearn.callback").ProgressBar
    finished = []
    stop = rich.Progress.stop

    def record(self):
        finished.extend((task.completed, task.total) for task in self.tasks)
        stop(self)

    monkeypatch.setattr(rich.Progress, "stop", record)
    for n_jobs in (None, 2):
        imp = SensitivityImportance(scale=None, n_jobs=n_jobs)
        with joblib.parallel_config(backend="threading"):
            imp.set_callbacks(bar()).fit(model, X)
        assert imp.importances_.shape == (6,)
    assert len(finished) == 2
    assert all(done == total for done, total in finished)


def test_compare_importances_reports_through_the_measures():
    """Clones carry their originals' callbacks: one fit per model."""
    recorder = Recorder()
    measure = SensitivityImportance(scale=None).set_callbacks(recorder)
    compare_importances([model, lambda X: X[:, 1]], X, None, measure)
    assert recorder.events.count("setup") == recorder.events.count("teardown") == 2
    assert recorder.steps == 12
    assert not hasattr(measure, "importances_")


@pytest.mark.parametrize(
    ("importance", "stop_after"),
    [
        (InteractionImportance(grid=3, features=[0, 1, 2]), 4),
        (SensitivityImportance(scale=None, estimation="exact"), 2),
    ],
    ids=str,
)
def test_a_table_says_which_features_a_stop_left_complete(importance, stop_after):
    """Also where they are sets of inputs; the next fit, to the end, forgets it."""
    importance.set_callbacks(Recorder(stop_after=stop_after))
    with pytest.warns(ImportanceWarning, match="was stopped"):
        importance.fit(model, X)
    table = importance.to_frame()
    known = ~np.isnan(table["importance"].to_numpy())
    assert 0 < known.sum() < len(known)
    np.testing.assert_array_equal(table["complete"].to_numpy(), known)
    assert "complete" not in importance.set_callbacks().fit(model, X).to_frame()


def test_a_fit_forgets_what_the_last_one_alone_had():
    """Attributes of kept rows and of a frame's names are not of the next fit."""
    importance = SensitivityImportance(scale=None, keep_rows=True).fit(model, X)
    kept = importance.result_
    assert importance.influences_ is kept.influences
    assert importance.row_effects_ is kept.row_effects
    assert importance.standard_errors_ is kept.standard_errors
    importance.set_params(keep_rows=False).fit(model, X)
    for name in ("influences_", "row_effects_", "row_importances_"):
        assert not hasattr(importance, name)
    assert kept.influences is not None


def test_a_stop_before_the_last_rows_leaves_no_gaussian_errors():
    """The importances are known before; after the last block nothing is missing."""
    rows = np.random.default_rng(0).normal(size=(1500, 3))
    linear = LinearRegression().fit(rows, rows @ [1.0, 2.0, 0.0] + rows[:, 0] ** 2)
    measure = FIRMImportance(method="gaussian")
    with config_context(working_memory=1):  # several blocks of rows
        recorder = Recorder()
        whole = clone(measure).set_callbacks(recorder).fit(linear, rows)
        n_blocks = recorder.steps
        assert n_blocks > 2
        last = Recorder(stop_after=n_blocks)
        found = clone(measure).set_callbacks(last).fit(linear, rows)
        np.testing.assert_array_equal(found.standard_errors_, whole.standard_errors_)
        before = Recorder(stop_after=n_blocks - 1)
        with pytest.warns(ImportanceWarning, match=r"after 1\d\d\d of 1500 rows"):
            found = clone(measure).set_callbacks(before).fit(linear, rows)
    assert found.standard_errors_ is None
    np.testing.assert_array_equal(found.importances_, whole.importances_)
