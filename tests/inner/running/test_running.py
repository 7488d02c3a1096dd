"""How work is run: blocks, memos, and what is sent to workers."""

import os
import pickle
import subprocess
import sys
import uuid

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

from skvarimp._data.table import resolve_features
from skvarimp._measures.problem import make_problem
from skvarimp._running.memory import BLOCK, Memo, at_once, slices
from skvarimp._running.tasks import Shared, in_order

IDLE_WORKERS_LEAVE = """
import time
import warnings
import joblib
import numpy as np
from skvarimp import SensitivityImportance

class Slow:
    def predict(self, X):
        return X[:, 0]
    def __reduce__(self):
        time.sleep(0.5)  # meanwhile idle workers leave
        return Slow, ()

if __name__ == "__main__":
    warnings.simplefilter("error")
    X = np.arange(24.0).reshape(8, 3)
    measure = SensitivityImportance(scale=None, n_jobs=2)
    with joblib.parallel_config("loky", idle_worker_timeout=0.2):
        joblib.Parallel(2)(joblib.delayed(abs)(i) for i in range(2))  # start workers
        print(measure.fit(Slow(), X).importances_)
"""


@pytest.mark.thorough
def test_idle_workers_that_leave_do_not_hang_the_fit(tmp_path):
    """joblib warns then; as an error the warning would end the thread that serves."""
    script = tmp_path / "idle.py"
    script.write_text(IDLE_WORKERS_LEAVE)
    run = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.stdout.strip() == "[7.875 0.    0.   ]", run.stderr


class Sent:
    """Knows how often it was unpickled, by a name it gets each time."""

    def __init__(self, array):
        self.array, self.name = array, None

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.name = uuid.uuid4().hex


def seen(task, sent):
    """(name of the copy seen, its array's sum)."""
    return sent.name, float(sent.array.sum())


@pytest.mark.parametrize(
    "backend", ["multiprocessing", pytest.param("loky", marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("n_numbers", [10, 300_000])
def test_workers_unpickle_shared_arguments_once(backend, n_numbers):
    """Not for every task: what they computed from them serves their later tasks."""
    array = np.arange(float(n_numbers))
    with joblib.parallel_config(backend=backend):
        results = [r for _, r in in_order(seen, range(20), (Sent(array),), 2)]
    assert len({name for name, _ in results}) <= 2
    assert {total for _, total in results} == {array.sum()}


def test_slices_are_even_and_bounded():
    """They cover range(n) in order; memory bounds them, but one item always fits."""
    for n, each in [(0, 3), (1, 10), (7, 3), (1000, 7)]:
        parts = slices(n, each, 20)
        covered = [i for part in parts for i in range(part.start, part.stop)]
        assert covered == list(range(n))
        lengths = [part.stop - part.start for part in parts]
        assert max(lengths, default=0) <= max(1, 20 // each)
        assert max(lengths, default=0) - min(lengths, default=0) <= 1
    with config_context(working_memory=1):
        assert at_once(1) == 2**18 / 64
    assert at_once(2 * BLOCK) == 1


def test_memo_keeps_a_few_results_and_travels_empty():
    """The oldest makes room; what is too large is not kept."""
    memo, made = Memo(most=2), []
    for key in "abcab":
        memo.get(key, lambda key=key: made.append(key))
    assert made == list("abcab")  # c pushed out a, a pushed out b
    memo.get("b", lambda: made.append("kept"))
    assert made[-1] == "b"
    small = Memo(most=10, most_bytes=100, travels=True)
    small.get("fits", lambda: np.zeros(10))
    small.get("too large", lambda: np.zeros(10))
    assert "fits" in small
    assert "too large" not in small
    copy = pickle.loads(pickle.dumps([memo, small]))
    assert "b" not in copy[0]
    assert "fits" in copy[1]


def test_workers_do_not_compute_again_what_is_known(monkeypatch):
    """The weighted sums of all columns travel with the response, once."""
    random = np.random.RandomState(0)
    X, classes = random.randn(50, 4), np.arange(50) % 3
    problem = make_problem(
        LogisticRegression().fit(X, classes), X, None, None, "predict_proba"
    )
    features = resolve_features(None, None, 4)
    walk = problem.walk(problem.response(features), features, [])
    sums = walk.response.sums(walk.rows)
    copy = pickle.loads(pickle.dumps(Shared(walk))).parts()[0]
    monkeypatch.setattr(type(copy.rows.table), "numeric", pytest.fail)
    np.testing.assert_array_equal(copy.response.sums(copy.rows), sums)
