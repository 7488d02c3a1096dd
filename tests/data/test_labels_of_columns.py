"""Labels of columns that are no strings: their texts are names."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence as reference

from skvarimp import (
    AllRelevantSelector,
    BackwardEliminationSelector,
    FilterImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    leave_out_importances,
    null_importances,
)
from skvarimp.inspection import partial_dependence

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(60, 3))
Y = 2 * X[:, 0] + X[:, 1] * X[:, 2]
LABELS = {
    "integers": ([1, 2, 3], ["1", "2", "3"]),
    "backwards": ([2, 1, 0], ["2", "1", "0"]),
    "positions": ([0, 1, 2], ["0", "1", "2"]),
    "floats": ([0.5, 1.5, 2.5], ["0.5", "1.5", "2.5"]),
    "tuples": (
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        ["('a', 1)", "('a', 2)", "('b', 1)"],
    ),
    "days": (
        pd.date_range("2024-01-01", periods=3),
        ["2024-01-01 00:00:00", "2024-01-02 00:00:00", "2024-01-03 00:00:00"],
    ),
}


@pytest.fixture(params=LABELS.values(), ids=LABELS)
def labelled(request):
    """(frame, texts of its labels)."""
    labels, texts = request.param
    return pd.DataFrame(X, columns=labels), texts


def same_labels(model):
    """A black box that is given the labels of X, whatever moves."""

    def response(frame):
        assert frame.columns.equals(model)
        return frame.to_numpy() @ [2.0, 1.0, 0.0]

    return response


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(estimation="exact"),
        PermutationImportance(estimation="exact"),
        PartialDependenceImportance(),
        FIRMImportance(),
        FilterImportance(),
    ],
    ids=lambda measure: type(measure).__name__,
)
def test_texts_are_names(labelled, measure):
    """In features, tables and pictures; the numbers are those of the array."""
    frame, texts = labelled
    model = (
        None if isinstance(measure, FilterImportance) else same_labels(frame.columns)
    )
    found = measure.fit(model, frame, Y)
    assert found.features_ == texts
    assert found.to_frame()["feature"].tolist() == [
        texts[k] for k in np.argsort(found.ranking_, kind="stable")
    ]
    ticks = [tick.get_text() for tick in found.plot().ax_.get_yticklabels()]
    assert set(ticks) == set(texts)
    plt.close("all")
    array = model and (lambda Z: Z @ [2.0, 1.0, 0.0])
    expected = measure.fit(array, X, Y).importances_
    np.testing.assert_allclose(found.importances_, expected, rtol=1e-12)


def test_features_by_text_and_by_label(labelled):
    """Of labels that are integers by text alone, where they are not positions."""
    frame, texts = labelled
    measure = SensitivityImportance(scale=None, estimation="exact")
    model = same_labels(frame.columns)
    whole = measure.fit(model, frame).importances_
    for j in range(3):
        by_text = measure.set_params(features=[texts[j]]).fit(model, frame)
        assert by_text.features_ == [texts[j]]
        np.testing.assert_array_equal(by_text.importances_, whole[j])
        label = frame.columns[j]
        if isinstance(label, int | np.integer) and texts != ["0", "1", "2"]:
            continue
        by_label = measure.set_params(features=[label]).fit(model, frame)
        assert by_label.features_ == [texts[j]]
        np.testing.assert_array_equal(by_label.importances_, whole[j])
    pairs = InteractionImportance(pairs=[(texts[0], texts[1])]).fit(model, frame)
    assert pairs.pairs_ == [(texts[0], texts[1])]


@pytest.mark.parametrize(
    ("labels", "feature", "message"),
    [
        ([1, 2, 3], 1, "1 in .* position 0 as a label, .* label 2 as a position"),
        ([1, 2, 3], 3, "3 in .* position 2 as a label, and no column as a position"),
        ([1, 2, 3], 0, "0 in .* no column as a label, .* label 1 as a position"),
        ([2, 1, 0], 2, "2 in .* position 0 as a label, .* label 0 as a position"),
    ],
)
def test_integers_that_mean_two_columns_are_refused(labels, feature, message):
    """The message names both readings."""
    frame = pd.DataFrame(X, columns=labels)
    for measure in (SensitivityImportance, PermutationImportance):
        for features in ([feature], [[feature, labels[1]]], {"a": [feature]}):
            with pytest.raises(ValueError, match=message):
                measure(features=features).fit(same_labels(frame.columns), frame, Y)


def test_integers_that_mean_one_column_are_taken():
    """Labels 0, 1, 2 are positions, and so is 1 in 2, 1, 0."""
    for labels, features in (([0, 1, 2], [1, -1]), ([2, 1, 0], [1]), (None, [2])):
        frame = pd.DataFrame(X, columns=labels)
        imp = SensitivityImportance(features=features, scale=None, estimation="exact")
        found = imp.fit(same_labels(frame.columns), frame)
        expected = imp.fit(lambda Z: Z @ [2.0, 1.0, 0.0], X)
        np.testing.assert_allclose(found.importances_, expected.importances_)


def test_refits_and_selectors_keep_the_labels():
    """The estimator is given the frame's own labels, also beside shuffled copies."""
    frame = pd.DataFrame(X, columns=LABELS["integers"][0])
    forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    needed = leave_out_importances(forest, frame, Y, cv=2, features=["1", ["2", "3"]])
    assert needed.features == ["1", "2+3"]
    null = null_importances(
        forest, frame, Y, PermutationImportance(), n_permutations=2, random_state=0
    )
    assert null.features == ["1", "2", "3"]
    selector = BackwardEliminationSelector(forest, random_state=0).fit(frame, Y)
    kept = selector.transform(frame)
    assert kept.shape[1] == selector.n_features_
    relevant = AllRelevantSelector(forest, max_iter=2, random_state=0).fit(frame, Y)
    assert relevant.n_iter_ == 2


def test_inspection_takes_integers_as_scikit_learn_does():
    """There they are positions, whatever the labels are."""
    frame = pd.DataFrame(X, columns=LABELS["backwards"][0])
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(frame, Y)
    found = partial_dependence(forest, frame, [0])
    expected = reference(forest, frame, [0])
    np.testing.assert_allclose(found["average"], expected["average"], rtol=1e-12)
