"""Ctrl-C and a model that fails leave no process behind."""

import os
import re
import signal
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from callback_recorder import Recorder
from processes import group_is_gone
from refit_cases import X, Y, slopes, values
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV

from skvarimp import (
    ALEImportance,
    AllRelevantSelector,
    BackwardEliminationSelector,
    ForwardSelector,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    importance_across_candidates,
    importance_across_folds,
    leave_out_importances,
    null_importances,
)
from skvarimp.exceptions import ImportanceWarning


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_interrupt_keeps_what_is_done_and_leaves_no_process():
    """SIGINT to the main process only, while two workers are busy."""
    pytest.importorskip("sklearn.callback")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.interrupted_workers"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    for _ in range(3):
        assert process.stdout.readline() == "feature\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    n_known, what = out.splitlines()[-1].split()
    assert what == "known"
    assert 3 <= int(n_known) < 60
    assert f"Interrupted after {n_known} of 60 steps" in err
    assert f"{60 - int(n_known)} of 60 features have no importance" in err
    gone = group_is_gone(process.pid)
    if not gone:
        os.killpg(process.pid, signal.SIGKILL)
    assert gone


def interrupting(step, after):
    """A callback that is interrupted after some steps; and one that asks to stop."""
    interrupted = Recorder(fail_after=after, step=step, error=KeyboardInterrupt())
    return interrupted, Recorder(stop_after=after, step=step)


RIDGE, TREES = Ridge(), RandomForestRegressor(6, max_depth=3, random_state=0)
DRAWN = dict(estimation="sampled", n_draws=4, random_state=0)
MEASURES = {
    "exact": (SensitivityImportance(estimation="exact"), RIDGE),
    "drawn": (SensitivityImportance(**DRAWN), RIDGE),
    "drawn, 2 threads": (SensitivityImportance(n_jobs=2, **DRAWN), RIDGE),
    "until precise": (SensitivityImportance(**DRAWN | dict(tol=0.05)), RIDGE),
    "rows": (SensitivityImportance(estimation="rows", random_state=0), RIDGE),
    "partial dependence": (PartialDependenceImportance(), RIDGE),
    "scoring": (PermutationImportance(scoring="r2", **DRAWN), RIDGE),
    "out of bag": (PermutationImportance(rows="oob"), TREES),
    "effects": (ALEImportance(), RIDGE),
    "surrogates": (ImpurityImportance(surrogates=True), TREES),
    "pairs": (InteractionImportance(grid=3, features=[0, 1, 2]), TREES),
}


@pytest.mark.parametrize("name", MEASURES)
def test_an_interrupted_measure_keeps_what_a_stop_keeps(name):
    """The features, or trees, that were done; a warning tells of the interrupt."""
    measure, model = MEASURES[name]
    found, after = [], 4 if name == "pairs" else 2  # single features come before pairs
    for callback in interrupting("feature", after):
        fitted = clone(measure).set_callbacks(callback)
        with (
            joblib.parallel_config(backend="threading"),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always", ImportanceWarning)
            fitted.fit(model.fit(X, Y), X, Y)
        assert callback.events[-1] == "teardown"
        found.append((fitted, {str(warning.message) for warning in caught}))
    (interrupted, told), (stopped, told_of_stop) = found
    np.testing.assert_array_equal(interrupted.importances_, stopped.importances_)
    np.testing.assert_array_equal(
        interrupted.standard_errors_, stopped.standard_errors_
    )
    (of_interrupt,) = told - told_of_stop
    assert re.match(
        r"Interrupted after \d of 6 steps, feature by feature", of_interrupt
    )
    assert told_of_stop <= told


def selected(selector, callbacks):
    """A fitted selector, and the attributes that its callback's stop decides."""
    selector.set_callbacks(callbacks).fit(X, Y)
    return np.concatenate([selector.support_, selector.ranking_])


def refits(function, *more, **options):
    """What a function of refits found, as one array."""

    def call(callbacks):
        how = dict(random_state=0, callbacks=callbacks) | options
        return values(function(LinearRegression(), X, Y, *more, **how))

    return call


def candidates(callbacks=None):
    """The importances in six models, the best first."""
    models = {str(k): (LinearRegression(), 6 - k) for k in range(6)}
    how = {"within": 1.0, "cv": 2, "callbacks": callbacks, "measure": slopes}
    return importance_across_candidates(models, X, Y, **how).by_model


WORKS = {
    "backward": (
        "step",
        partial(selected, BackwardEliminationSelector(RIDGE, random_state=0)),
    ),
    "forward": ("step", partial(selected, ForwardSelector(RIDGE, cv=2))),
    "all relevant": (
        "round",
        partial(selected, AllRelevantSelector(RIDGE, random_state=0)),
    ),
    "folds": ("refit", refits(importance_across_folds, slopes, cv=6)),
    "candidates": ("refit", candidates),
    "null": ("refit", refits(null_importances, slopes, n_permutations=6)),
    "leave out": (
        "refit",
        refits(leave_out_importances, features=[0, 1], cv=6, loss=lambda y, p: y - p),
    ),
}


@pytest.mark.parametrize(
    ("name", "after"), [*((name, 4) for name in WORKS), ("folds", 1), ("candidates", 1)]
)
def test_interrupted_refits_keep_what_a_stop_keeps(name, after):
    """The steps, rounds or whole folds that were done."""
    step, work = WORKS[name]
    interrupted, stopped = interrupting(step, after)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ImportanceWarning)
        found = work(interrupted)
        np.testing.assert_array_equal(found, work(stopped))
    assert str(caught[0].message).startswith(f"Interrupted after {after} of ")


@pytest.mark.parametrize("name", ["forward", "null", "leave out"])
def test_refits_interrupted_before_anything_is_done(name):
    """Raised before the first subset, shuffled target, or end of a fold."""
    step, work = WORKS[name]
    after = {"forward": 0, "null": 1, "leave out": 2}[name]
    work = {
        "forward": lambda _: ForwardSelector(RIDGE, interrupt).fit(X, Y),
        "leave out": lambda c: leave_out_importances(CountsCalls(), X, Y, callbacks=c),
    }.get(name, work)
    with pytest.raises(KeyboardInterrupt):
        work(interrupting(step, after)[0])


def interrupt(estimator, X, y):
    """A measure during which the user presses Ctrl-C."""
    raise KeyboardInterrupt


class CountsCalls(RegressorMixin, BaseEstimator):
    """Predicts a sum; its user presses Ctrl-C in a call to come."""

    calls_left = np.inf

    def fit(self, X, y):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """A sum of the columns."""
        CountsCalls.calls_left -= 1
        if CountsCalls.calls_left == 0:
            raise KeyboardInterrupt
        return X @ np.arange(1.0, X.shape[1] + 1.0)


@pytest.fixture
def in_call(monkeypatch):
    """Sets in which call of `predict` the user presses Ctrl-C."""

    def set_call(number):
        monkeypatch.setattr(CountsCalls, "calls_left", number)

    set_call(np.inf)
    yield set_call
    monkeypatch.undo()


def test_a_measure_inside_a_selection_is_not_taken_in_part(in_call):
    """The interrupt goes through to the selector, which keeps its whole steps."""
    measure = SensitivityImportance(scale=None, estimation="exact")
    selector = BackwardEliminationSelector(CountsCalls(), measure, step=1)
    in_call(10**6)
    whole = clone(selector).set_params(random_state=0).fit(X, Y)
    calls = 10**6 - CountsCalls.calls_left
    in_call(calls - 3)
    with pytest.warns(ImportanceWarning, match=r"after [1-5] of 6 steps, step by step"):
        part = clone(selector).set_params(random_state=0).fit(X, Y)
    n_steps = len(part.path_["score"])
    assert 0 < n_steps < 6
    assert part.path_["score"] == whole.path_["score"][:n_steps]
    assert all(
        np.array_equal(*both)
        for both in zip(part.path_["dropped"], whole.path_["dropped"])
    )


def test_a_measure_interrupted_before_anything_is_done(in_call):
    """Raised, and what the last fit learned stays."""
    model = CountsCalls().fit(X, Y)
    fitted = SensitivityImportance(scale=None).fit(model, X)
    known = fitted.importances_
    in_call(2)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(model, X)
    assert fitted.importances_ is known


def test_an_interrupt_ends_searches_and_comparisons(in_call):
    """What one of many fits did is not its result: the whole is interrupted."""
    measure = SensitivityImportance(scale=None, estimation="exact")
    model = CountsCalls().fit(X, Y)
    in_call(10**6)
    measure.fit(model, X)
    calls = 10**6 - CountsCalls.calls_left
    in_call(calls - 1)
    with pytest.warns(ImportanceWarning, match="Interrupted|was stopped"):
        clone(measure).fit(model, X)
    in_call(calls - 1)
    with pytest.raises(KeyboardInterrupt):
        compare_importances([model, model], X, Y, measure)
    in_call(50)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(
            BackwardEliminationSelector(CountsCalls(), slopes_of_first, cv=3),
            {"step": [1, 2]},
            cv=2,
        ).fit(X, Y)
    assert CountsCalls.calls_left == 0


def slopes_of_first(estimator, X, y):
    """A measure that costs nothing."""
    return np.arange(X.shape[1], 0.0, -1.0)


class FailsLater:
    """A model that raises its own error after some calls."""

    def predict(self, X):
        """Fail at rows moved to a large value."""
        if np.any(X[:, 1] > 2):
            raise RuntimeError("sensor offline")
        return X[:, 0]


def test_model_that_raises_gives_its_own_error():
    """The model's error comes through as it is, without workers."""
    X = np.column_stack([np.arange(30.0), np.full(30, 1.0)])
    imp = SensitivityImportance(scale=None, grid={"x1": [1.0, 3.0]})
    with pytest.raises(RuntimeError, match="sensor offline"):
        imp.fit(FailsLater(), X)
