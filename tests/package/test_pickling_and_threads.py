"""Pickles, threads, workers and global state, which every class leaves as they are."""

import os
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import matplotlib as mpl
import numpy as np
import pytest
import sklearn
from combinations import half
from processes import group_is_gone
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_info

import skvarimp
from skvarimp import feature_functions, sequence

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:60, :3], Y[:60] / 100
TREE = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y)
# n_jobs=1: threads of scikit-learn's own may leave the filters of warnings changed
FOREST = RandomForestRegressor(4, max_depth=3, n_jobs=1, random_state=0).fit(X, Y)
NETWORK = MLPRegressor(
    hidden_layer_sizes=(3,), solver="lbfgs", random_state=0, max_iter=500, tol=1.0
).fit(X, Y)
KERNEL = SVR().fit(X, Y)
LINEAR = LinearRegression().fit(X, Y)
# Fitted by (model, X, y).
MEASURES = {
    "exact": (skvarimp.SensitivityImportance(), FOREST),
    "sampled": (
        skvarimp.SensitivityImportance(
            contrast="observed", estimation="sampled", n_draws=4, random_state=0
        ),
        KERNEL,
    ),
    "rows": (
        skvarimp.SensitivityImportance(estimation="rows", tol=0.5, random_state=0),
        KERNEL,
    ),
    "derivative": (skvarimp.DerivativeImportance(), KERNEL),
    "ale": (skvarimp.ALEImportance(), TREE),
    "partial_dependence": (skvarimp.PartialDependenceImportance(), TREE),
    "shapley": (skvarimp.ShapleyImportance(random_state=0), KERNEL),
    "sobol": (skvarimp.SobolImportance(), TREE),
    "interaction": (skvarimp.InteractionImportance(grid=4), TREE),
    "permutation": (skvarimp.PermutationImportance(), LINEAR),
    "scoring": (
        skvarimp.PermutationImportance(scoring="r2", n_draws=4, random_state=0),
        TREE,
    ),
    "out_of_bag": (skvarimp.PermutationImportance(rows="oob"), FOREST),
    "firm": (skvarimp.FIRMImportance(), FOREST),
    "impurity": (skvarimp.ImpurityImportance(surrogates=True), TREE),
    "coefficient": (skvarimp.CoefficientImportance(), LINEAR),
    "connection": (skvarimp.ConnectionWeightImportance(), NETWORK),
    "filter": (skvarimp.FilterImportance(score_func=f_regression), None),
}
# Fitted by (X, y).
ESTIMATORS = {
    "backward": skvarimp.BackwardEliminationSelector(
        DecisionTreeRegressor(random_state=0), random_state=0
    ),
    "forward": skvarimp.ForwardSelector(Ridge(), random_state=0),
    "importance_estimator": skvarimp.ImportanceEstimator(
        Ridge(), skvarimp.SensitivityImportance()
    ),
    "all_relevant": skvarimp.AllRelevantSelector(
        DecisionTreeRegressor(max_depth=3, random_state=0), max_iter=5, random_state=0
    ),
}
LETTERS = ["ACGT", "AACC", "GGTT", "ACAC"]
WEIGHTS = sequence.OligomerWeights({1: np.arange(16.0).reshape(4, 4)})


def fitted(name):
    """A new instance, fitted on the rows above."""
    if name in MEASURES:
        measure, model = MEASURES[name]
        return clone(measure).fit(model, X, Y)
    return clone(ESTIMATORS[name]).fit(X, Y)


def numbers(instance):
    """What a fitted instance says about the rows."""
    if hasattr(instance, "importances_"):
        return instance.importances_
    if not hasattr(instance, "predict"):
        return instance.hits_
    return instance.predict(X)


def parts(value):
    """Arrays and bytes of a result, to compare with another one's."""
    return pickle.dumps(value)


NAMES = [*MEASURES, *ESTIMATORS]


def test_every_class_is_here():
    """Measures, selectors and meta-estimators of the public surface."""
    classes = {type(measure).__name__ for measure, _ in MEASURES.values()}
    classes |= {type(estimator).__name__ for estimator in ESTIMATORS.values()}
    public = {
        name for name in skvarimp.__all__ if hasattr(getattr(skvarimp, name), "fit")
    }
    assert classes == public


@pytest.mark.parametrize("name", NAMES)
def test_pickles_round_trip(name):
    """Unfitted: the same parameters and numbers once fitted; fitted: the numbers."""
    reference = numbers(fitted(name))
    unfitted = pickle.loads(pickle.dumps((MEASURES | ESTIMATORS)[name]))
    if name in MEASURES:
        again = clone(unfitted[0]).fit(unfitted[1], X, Y)
    else:
        again = unfitted.fit(X, Y)
    np.testing.assert_array_equal(numbers(again), reference)
    loaded = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(numbers(loaded), reference)
    assert repr(loaded) == repr(again)
    if hasattr(loaded, "to_frame"):
        assert loaded.to_frame().equals(again.to_frame())


def test_pickles_of_other_public_classes():
    """Displays, feature functions, results, sequences."""
    measure = fitted("partial_dependence")
    folds = skvarimp.importance_across_folds(Ridge(), X, Y, measure, cv=2)
    null = skvarimp.null_importances(
        Ridge(), X, Y, measure, n_permutations=3, random_state=0
    )
    comparison = skvarimp.compare_importances(LINEAR, X, Y)
    for made in (folds, null):
        loaded = pickle.loads(pickle.dumps(made))
        np.testing.assert_array_equal(loaded.importances, made.importances)
        assert loaded.to_frame().equals(made.to_frame())
    loaded = pickle.loads(pickle.dumps(comparison))
    assert loaded.to_frame().equals(comparison.to_frame())
    product = feature_functions.Product(0, 1)
    assert pickle.loads(pickle.dumps(product)) == product
    displays = [
        skvarimp.ImportanceDisplay([1.0, 2.0], ["a", "b"]),
        skvarimp.MatrixDisplay([[1.0]], ["a"]),
        skvarimp.CurvesDisplay([("a", [0.0, 1.0], [[1.0], [2.0]])], ["y"]),
        skvarimp.ComparisonDisplay({"m": {"f": [1.0]}}, ["a"]),
    ]
    for display in displays:
        loaded = pickle.loads(pickle.dumps(display))
        assert vars(loaded).keys() == vars(display).keys()
    loaded = pickle.loads(pickle.dumps(WEIGHTS))
    np.testing.assert_array_equal(
        loaded.decision_function(LETTERS), WEIGHTS.decision_function(LETTERS)
    )
    importance = sequence.PositionalOligomerImportance(1).fit(WEIGHTS)
    loaded = pickle.loads(pickle.dumps(importance))
    np.testing.assert_array_equal(loaded.importances_, importance.importances_)
    vectorizer = sequence.OligomerVectorizer(2).fit(LETTERS)
    loaded = pickle.loads(pickle.dumps(vectorizer))
    difference = loaded.transform(LETTERS) - vectorizer.transform(LETTERS)
    assert abs(difference).max() == 0


# scikit-learn's tasks empty the filters of the process for a moment and say so.
@pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed`:UserWarning")
@pytest.mark.parametrize("name", half(NAMES))
def test_two_fits_at_once_on_one_model(name):
    """Threads that share a fitted model, and threads that share the instance."""
    reference = numbers(fitted(name))
    shared = clone(MEASURES[name][0] if name in MEASURES else ESTIMATORS[name])
    barrier = threading.Barrier(4)

    def fit(own):
        barrier.wait()
        if own:
            return numbers(fitted(name))
        data = (MEASURES[name][1], X, Y) if name in MEASURES else (X, Y)
        return numbers(shared.fit(*data))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet as often as they can
    try:
        with ThreadPoolExecutor(4) as pool:
            for result in pool.map(fit, [True, False, True, False]):
                np.testing.assert_array_equal(result, reference)
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(numbers(shared), reference)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_that_fails_leaves_what_the_last_one_learned(name):
    """Also where it fails late: X, y and the columns known are of one fit."""
    instance = fitted(name)
    before = dict(vars(instance))
    model = (MEASURES[name][1],) if name in MEASURES else ()
    with pytest.raises((ValueError, TypeError)):
        instance.fit(*model, X[:, :2], Y[:50])
    assert vars(instance).keys() == before.keys()
    assert all(vars(instance)[key] is value for key, value in before.items())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_passed_is_modified(name):
    """X, y, weights and estimators are bit-identical, and may be read-only."""
    given = [np.array(X), np.array(Y), np.linspace(0.5, 2.0, len(X))]
    for array in given:
        array.setflags(write=False)
    measure, model = MEASURES.get(name, (ESTIMATORS.get(name), None))
    if name in {"impurity", "coefficient", "filter", "out_of_bag"}:
        given[2] = np.ones(len(X))  # as fitted; filters take whole weights
    before = parts((given, model, measure.get_params(deep=False)))
    arguments = (model, *given[:2]) if name in MEASURES else given[:2]
    clone(measure).fit(*arguments, sample_weight=given[2])
    assert parts((given, model, measure.get_params(deep=False))) == before


def global_state():
    """Everything that is set once for a whole process."""
    return {
        "generator": pickle.dumps(np.random.get_state()),  # noqa: NPY002 watched
        "errors": np.geterr(),
        "print": np.get_printoptions(),
        "warnings": list(warnings.filters),
        "show": warnings.showwarning,
        "config": sklearn.get_config(),
        "threads": [pool["num_threads"] for pool in threadpool_info()],
        "figures": dict(mpl.rcParams),
        "environment": dict(os.environ),
        "directory": Path.cwd(),
        "recursion": sys.getrecursionlimit(),
    }


@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("sequential", marks=pytest.mark.thorough)]
)
def test_no_global_state_is_changed(backend):
    """By any fit, also one that fails."""
    for name in NAMES:  # what is imported or compiled on the way is no change
        fitted(name)
    before = global_state()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        for name in NAMES:
            fitted(name)
            with pytest.raises((ValueError, TypeError)):
                clone((MEASURES.get(name) or [ESTIMATORS[name]])[0]).fit(None, None)
    skvarimp.compare_importances(LINEAR, X, Y).plot()
    fitted("interaction").plot()
    fitted("partial_dependence").plot_curves()
    mpl.pyplot.close("all")
    after = global_state()
    for part, value in before.items():
        assert after[part] == value, part


FAILING = """
import joblib
import numpy as np
from skvarimp import SensitivityImportance

class Fails:
    def predict(self, X):
        if np.any(X[:, 5] > 2):
            raise RuntimeError("sensor offline")
        return X[:, 0]

if __name__ == "__main__":
    X = np.tile(np.arange(40.0)[:, None] / 39, (1, 40))
    measure = SensitivityImportance(scale=None, grid={"x5": [1.0, 3.0]}, n_jobs=2)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend):
            try:
                measure.fit(Fails(), X)
            except RuntimeError as error:
                print(backend, "own error:", error)
"""


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_a_failing_model_leaves_no_process(tmp_path):
    """Its own error comes out, and the process ends with all that it started."""
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    out, err = process.communicate(timeout=300)
    own = "own error: sensor offline"
    assert out.splitlines() == [f"threading {own}", f"loky {own}"], err
    assert process.returncode == 0
    assert group_is_gone(process.pid)


def test_a_failing_model_leaves_no_thread():
    """The threads of a failed run end."""

    class Fails:
        def predict(self, X):
            if np.any(X > 2):
                raise RuntimeError("sensor offline")
            return X[:, 0]

    before = set(threading.enumerate())
    measure = skvarimp.SensitivityImportance(scale=None, grid={"x1": [0.0, 3.0]})
    with (
        joblib.parallel_config(backend="threading", n_jobs=2),
        pytest.raises(RuntimeError, match="sensor offline"),
    ):
        measure.fit(Fails(), X)
    left = [t for t in set(threading.enumerate()) - before if not t.daemon]
    for thread in left:
        thread.join(60)
    assert not [t for t in left if t.is_alive()]


class Settings:
    """Responds by scikit-learn's settings, as some estimators do."""

    def predict(self, rows):
        """The first column, where assume_finite is set."""
        return rows[:, 0] * sklearn.get_config()["assume_finite"]


def test_workers_have_the_callers_settings():
    """scikit-learn keeps them apart from thread to thread."""
    measure = skvarimp.SensitivityImportance(scale=None, random_state=0)
    with sklearn.config_context(assume_finite=True):
        here = measure.fit(Settings(), X).importances_
        with joblib.parallel_config(backend="threading", n_jobs=2):
            there = measure.fit(Settings(), X).importances_
    assert here[0] > 0
    np.testing.assert_array_equal(there, here)
