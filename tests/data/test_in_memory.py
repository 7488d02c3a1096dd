"""A Dask collection where rows must be in memory is refused, never loaded unsaid."""

import numpy as np
import pandas as pd
import pytest
from messages import says
from refit_cases import LINEAR, OBSERVED, X, Y
from sklearn.ensemble import RandomForestRegressor

from skvarimp import (
    ALEImportance,
    AllRelevantSelector,
    BackwardEliminationSelector,
    CoefficientImportance,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    ForwardSelector,
    ImportanceEstimator,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    importance_across_candidates,
    importance_across_folds,
    leave_out_importances,
    null_importances,
)
from skvarimp._data import table

dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

FRAME = pd.DataFrame(X, columns=list("abcdef"))


def fits(measure, model=LINEAR):
    """A fit of a measure, of a model that was fitted in memory."""

    def fit(X, y, **more):
        trained = FRAME if hasattr(X, "columns") else np.asarray(FRAME)
        fitted = None if model is None else model.fit(trained, Y)
        return measure.fit(fitted, X, y, **more)

    return fit


NEED_MEMORY = {
    "coefficients": fits(CoefficientImportance()),
    "filter": fits(FilterImportance(), None),
    "impurity": fits(
        ImpurityImportance(surrogates=True), RandomForestRegressor(2, max_depth=2)
    ),
    "backward": BackwardEliminationSelector(LINEAR).fit,
    "forward": ForwardSelector(LINEAR).fit,
    "all relevant": AllRelevantSelector(LINEAR).fit,
    "estimator": ImportanceEstimator(LINEAR, "sensitivity").fit,
    "leave out": lambda *data, **more: leave_out_importances(LINEAR, *data, **more),
    "candidates": lambda *data, **more: importance_across_candidates(
        {"one": (LINEAR, 0.0)}, *data, within=0.0, cv=2, **more
    ),
    "folds": lambda *data, **more: importance_across_folds(
        LINEAR, *data, OBSERVED, **more
    ),
    "null": lambda *data, **more: null_importances(LINEAR, *data, OBSERVED, **more),
}
TAKE_PARTITIONS = {
    "sensitivity": fits(SensitivityImportance()),
    "permutation": fits(PermutationImportance()),
    "scoring": fits(PermutationImportance(scoring="r2")),
    "firm": fits(FIRMImportance()),
    "derivative": fits(DerivativeImportance()),
    "effects": fits(ALEImportance()),
    "comparison": lambda X, y, **more: compare_importances(
        LINEAR.fit(X, Y), X, y, **more
    ),
}


@pytest.mark.parametrize("name", NEED_MEMORY)
def test_rows_in_partitions_are_refused(name):
    """An array as well as a frame, with the way out."""
    for rows in (da.from_array(X, chunks=(20, 6)), dd.from_pandas(FRAME, 2)):
        with pytest.raises(TypeError, match=r"X\.compute\(\)"):
            NEED_MEMORY[name](rows, Y)


@pytest.mark.parametrize("name", NEED_MEMORY | TAKE_PARTITIONS)
def test_targets_in_partitions_of_rows_in_memory_are_refused(name):
    """By name; `sample_weight` as well."""
    fit = (NEED_MEMORY | TAKE_PARTITIONS)[name]
    for target in (da.from_array(Y, chunks=20), dd.from_pandas(pd.Series(Y), 2)):
        with pytest.raises(
            TypeError, match=says("y … got a Dask collection … y.compute()")
        ):
            fit(X, target)
    weights = da.ones(len(Y), chunks=20)
    with pytest.raises(
        TypeError,
        match=says("`sample_weight` … got a Dask collection … sample_weight.compute()"),
    ):
        fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", TAKE_PARTITIONS)
def test_without_the_room_of_partitions(name, monkeypatch):
    """The measures take rows in memory, and refuse partitions as others do."""
    expected = TAKE_PARTITIONS[name](FRAME, Y)
    monkeypatch.setattr(table, "ROWS_APART", [])
    found = TAKE_PARTITIONS[name](FRAME, Y)
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())
    for rows in (da.from_array(X, chunks=(20, 6)), dd.from_pandas(FRAME, 2)):
        with pytest.raises(TypeError, match=r"X\.compute\(\)"):
            TAKE_PARTITIONS[name](rows, Y)


def test_rows_to_predict_are_refused():
    """By a fitted selector, as a Dask frame is."""
    selector = BackwardEliminationSelector(LINEAR).fit(X, Y)
    with pytest.raises(
        TypeError, match=says("X … got a Dask collection … X.compute()")
    ):
        selector.predict(da.from_array(X, chunks=(20, 6)))
