"""What refits have in common: features, containers, seeds, workers, callbacks."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from combinations import BACKENDS
from messages import says
from refit_cases import BOTH, LABELS, LINEAR, OBSERVED, X, Y, few, values
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeRegressor

from skvarimp import (
    FilterImportance,
    FIRMImportance,
    InteractionImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import Product


def global_state():
    """Of NumPy's global generator."""
    return np.random.get_state()  # noqa: NPY002 it is looked at, not drawn from


@BOTH
@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(scale=None, features={"a": [0, 1], "b": [2]}),
        InteractionImportance(pairs=[(0, 1), (0, 2)], grid=3),
        FIRMImportance(feature_functions=[Product(0, 1), Product(2, 3)]),
    ],
)
def test_features_need_not_be_columns(function, measure):
    """Groups, pairs and feature functions, with their names."""
    found = function(LINEAR, X, Y, measure, **few(function))
    names = clone(measure).fit(LinearRegression().fit(X, Y), X, Y).features_
    assert found.features == names
    assert values(found).shape[1] == 2


@BOTH
def test_measures_without_a_model(function):
    """Filters see the data alone."""
    found = function(
        None, X, Y, FilterImportance(score_func=f_regression), **few(function)
    )
    assert len(found.importances) == 6
    if function is null_importances:
        np.testing.assert_allclose(found.importances, f_regression(X, Y)[0])
    else:
        held_out = np.arange(12)
        expected = f_regression(X[held_out], Y[held_out])[0]
        np.testing.assert_allclose(found.by_fold[0], expected)


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
        assert found.by_fold_per_output.shape == (5, 6, 3)
        mean = found.by_fold_per_output.mean(axis=2)
        np.testing.assert_allclose(found.by_fold, mean)
        np.testing.assert_allclose(found.importances, numbers.importances, rtol=1e-3)


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
    assert found.features == names


SAMPLED = PermutationImportance(estimation="sampled", n_draws=4, features=[0, 1])


@BOTH
def test_random_state(function):
    """Same seed, same numbers, whatever n_jobs; other seeds differ."""
    splitter = ShuffleSplit(2)

    def run(random_state, n_jobs=None):
        with joblib.parallel_config(backend="threading"):
            return values(
                function(
                    ExtraTreeRegressor(max_depth=3),
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
@pytest.mark.parametrize("backend", BACKENDS)
def test_workers_change_nothing(function, backend):
    """Two threads, and two processes, which get the model and the measure."""
    with joblib.parallel_config(backend=backend):
        one, two = (
            function(LINEAR, X, Y, OBSERVED, n_jobs=n, random_state=0, **few(function))
            for n in (None, 2)
        )
    assert np.array_equal(values(one), values(two))


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
        np.testing.assert_allclose(found.by_fold[0], alone.importances_)
    with config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight="precision")
        measure = clone(OBSERVED).set_fit_request(sample_weight="precision")
        routed = function(model, X, Y, measure, params={"precision": weights}, **more)
    assert np.array_equal(values(routed), values(found))
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        function(Ridge(), X, Y, OBSERVED, params={"precision": weights}, **more)
    # an estimator without weights would be another model than the one asked for
    with pytest.raises(
        ValueError,
        match=says(
            "KNeighborsRegressor … sample_weight … enable_metadata_routing=True"
        ),
    ):
        function(KNeighborsRegressor(), X, Y, OBSERVED, sample_weight=weights, **more)
    function(
        None,
        X,
        Y,
        FilterImportance(score_func=f_regression),
        sample_weight=weights * 2 // 1,
    )


@BOTH
def test_nothing_is_modified(function):
    """Estimator, measure, X, y and the global generator are as before."""
    model, measure = RandomForestRegressor(2).fit(X, Y), SAMPLED
    before = pickle.dumps((model, measure, X, Y, global_state()))
    found = function(model, X, Y, measure, random_state=0, **few(function))
    assert pickle.dumps((model, measure, X, Y, global_state())) == before
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(values(again), values(found))


@BOTH
def test_callbacks(function, capsys):
    """One step per refit; what was done before a stop is kept."""
    callback = Recorder(step="refit")
    function(LINEAR, X, Y, OBSERVED, callbacks=callback, **few(function))
    assert callback.steps == (5 if function is importance_across_folds else 4)
    bar = pytest.importorskip("sklearn.callback").ProgressBar()
    function(LINEAR, X, Y, OBSERVED, callbacks=[bar], **few(function))
    assert "100%" in capsys.readouterr().out
    for after in (1, 2):
        with pytest.warns(ImportanceWarning, match="was stopped"):
            found = function(
                LINEAR, X, Y, OBSERVED, callbacks=Recorder(after, step="refit")
            )
        assert len(values(found)) == after
        assert len(found.to_frame()) == 6


def test_results_of_refits_are_shown_in_a_line():
    """Not as pages of arrays, at the end of a notebook's cell."""
    measure = SensitivityImportance()
    folds = importance_across_folds(Ridge(), X, Y, measure, cv=3)
    shown = "relative mean change of the prediction of 6 features; see summary()>"
    assert repr(folds) == f"<FoldImportances: {shown}"
    null = null_importances(Ridge(), X, Y, measure, n_permutations=2, random_state=0)
    assert repr(null) == f"<NullImportances: {shown}"
