"""Models with several outputs, models that are no scikit-learn objects, one scale."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from container_rows import frame, pipeline, target
from fuzz_models import Duck, bounded, reused_buffer, two_outputs
from literal import sensitivity
from messages import says
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC

from skvarimp import (
    ALEImportance,
    CoefficientImportance,
    DerivativeImportance,
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
    compare_importances,
)


def test_multi_output_models():
    """Regressors, lists of probabilities, label columns; the mean over outputs."""
    random = np.random.RandomState(0)
    X = random.randn(40, 3)
    Y = np.column_stack([X[:, 0] * X[:, 1], 10 * X[:, 2], X[:, 0]])
    forest = RandomForestRegressor(4, random_state=0).fit(X, Y)
    imp = SensitivityImportance().fit(forest, X, Y)
    assert imp.importances_per_output_.shape == (3, 3)
    assert imp.output_names_ == ["y0", "y1", "y2"]
    assert imp.scale_.shape == (3,)
    for o in range(3):
        one = SensitivityImportance(estimation="exact").fit(
            lambda X, o=o: forest.predict(X)[:, o], X, Y[:, o]
        )
        np.testing.assert_allclose(
            imp.importances_per_output_[:, o], one.importances_, rtol=1e-9
        )

    labels = np.column_stack(
        [np.where(X[:, 0] > 0, "a", "b"), random.choice(list("xyz"), 40)]
    )
    for model in (
        RandomForestClassifier(5, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
    ):
        model.fit(X, labels)
        for method in ("predict_proba", "predict"):
            imp = SensitivityImportance(response_method=method).fit(model, X, labels)
            assert imp.output_names_ == ["y0: b", "y1: x", "y1: y", "y1: z"]
            assert imp.importances_per_output_.shape == (3, 4)
    indicators = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3]).astype(int)
    model = RandomForestClassifier(5, random_state=0).fit(X, indicators)
    imp = SensitivityImportance().fit(model, X, indicators)
    assert imp.importances_per_output_.shape == (3, 2)
    assert imp.importances_per_output_[0, 0] > imp.importances_per_output_[2, 0]


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_y_name_the_outputs(library):
    """Of values, of probabilities, of labels; of one column, too."""
    random = np.random.RandomState(0)
    X = random.randn(40, 3)
    values = library.DataFrame({"price": X[:, 0] * X[:, 1], "rent": X[:, 2]})
    line = LinearRegression().fit(X, values.to_numpy())
    for measure in (
        SensitivityImportance(),
        DerivativeImportance(),
        FIRMImportance(),
        CoefficientImportance(statistic="standardized"),
    ):
        assert measure.fit(line, X, values).output_names_ == ["price", "rent"]
    labels = FIRMImportance().fit(None, X, values)
    assert labels.output_names_ == ["price", "rent"]
    forest = RandomForestRegressor(3, random_state=0).fit(X, values.to_numpy())
    unseen = ImpurityImportance(rows="unseen").fit(forest, X, values)
    assert unseen.output_names_ == ["price", "rent"]
    one = LinearRegression().fit(X, X[:, 2])
    found = SensitivityImportance().fit(one, X, values[["rent"]])
    assert found.output_names_ == ["rent"]
    assert SensitivityImportance().fit(one, X, values["rent"]).output_names_ == ["y"]

    of_two = np.where(X[:, 0] > 0, "a", "b")
    of_three = random.choice(list("xyz"), 40)
    labels = library.DataFrame({"kind": of_two, "size": of_three})
    model = RandomForestClassifier(5, random_state=0)
    model.fit(X, np.column_stack([of_two, of_three]))
    expected = ["kind: b", "size: x", "size: y", "size: z"]
    for method in ("predict_proba", "predict"):
        measure = SensitivityImportance(response_method=method)
        assert measure.fit(model, X, labels).output_names_ == expected
    table = measure.to_frame(per_output=True)
    assert set(table["output"]) == set(expected)


WITH_ERRORS = [
    SensitivityImportance(scale=None, estimation="exact"),
    SensitivityImportance(scale=None, contrast="observed", estimation="exact"),
    PartialDependenceImportance(grid="deciles"),
    PartialDependenceImportance(grid="deciles", kind="individual"),
    SobolImportance(grid="deciles"),
    SobolImportance(grid="deciles", order="first"),
    ALEImportance(n_bins=4),
    DerivativeImportance(),
]


@pytest.mark.parametrize(
    ("measure", "n_samples"), each(WITH_ERRORS, [40, 300]), ids=repr
)
def test_standard_errors_of_each_output(measure, n_samples):
    """Those of a model of that output alone; the picture has the table's intervals.

    Many rows: errors of mean curves come from fewer sums than rows.
    """
    random = np.random.RandomState(0)
    X = random.randn(n_samples, 2)
    weight = random.randint(0, 3, n_samples)

    def model(X):
        return np.column_stack(
            [X[:, 0] * X[:, 1] + X[:, 0], 10 * X[:, 1] * np.exp(X[:, 0])]
        )

    measure.fit(model, X, sample_weight=weight)
    table = measure.to_frame(per_output=True, confidence=0.95)
    display = measure.plot(per_output=True)
    (of_outputs,) = display.intervals.values()
    plt.close(display.figure_)
    names = measure.features_
    for o, output in enumerate(["y0", "y1"]):
        alone = measure.fit(lambda X, o=o: model(X)[:, o], X, sample_weight=weight)
        expected, size = alone.standard_errors_, alone.importances_.max()
        found = table[table["output"] == output].set_index("feature").loc[names]
        np.testing.assert_allclose(found["standard_error"], expected, atol=1e-9 * size)
        np.testing.assert_array_equal(of_outputs[output], found[["lower", "upper"]])
        own = alone.to_frame(per_output=True).set_index("feature").loc[names]
        np.testing.assert_array_equal(own["standard_error"], expected)


def test_outputs_without_standard_errors_of_their_own():
    """NaN of drawn numbers of several outputs."""
    X = np.random.RandomState(0).randn(30, 2)
    drawn = SensitivityImportance(scale=None, estimation="sampled", random_state=0)
    drawn.fit(lambda X: X**2, X)
    assert drawn.to_frame(per_output=True)["standard_error"].isna().all()
    plt.close(drawn.plot(per_output=True).figure_)


class Quantiles(BaseEstimator, RegressorMixin):
    """Three quantiles of one target."""

    def fit(self, X, y):
        """As least squares."""
        self.coef_ = np.linalg.lstsq(X, y)[0]
        return self

    def predict(self, X):
        """Values that are a unit apart."""
        return (X @ self.coef_)[:, np.newaxis] + [-1.0, 0.0, 1.0]


def test_several_quantiles_are_no_classifier():
    """The message says what to do with them; names are those of outputs."""
    X = np.random.RandomState(0).randn(30, 2)
    y = pd.DataFrame({"price": X[:, 0]})
    model = Quantiles().fit(X, X[:, 0])
    with pytest.raises(
        ValueError,
        match=says("loss='auto' … (30,) for 3 outputs … Use a callable loss"),
    ):
        PermutationImportance().fit(model, X, y)
    with pytest.raises(
        ValueError,
        match=says("loss='auto' … (30,) for 3 outputs … the classifier itself"),
    ):
        PermutationImportance().fit(model.predict, X, y)
    levels = np.array([0.1, 0.5, 0.9])

    def pinball(y, outputs):
        gaps = y[:, np.newaxis] - outputs
        return np.maximum(levels * gaps, (levels - 1.0) * gaps).mean(axis=1)

    assert PermutationImportance(loss=pinball).fit(model, X, y).ranking_[0] == 1
    found = SensitivityImportance(scale=None).fit(model, X, y)
    assert found.output_names_ == ["y0", "y1", "y2"]


class Predictor:
    """No scikit-learn object: `predict` only; `__call__` must not be used."""

    def __call__(self, X):
        """Never used."""
        raise AssertionError("predict wins over a call")

    def predict(self, X):
        """A list of numbers, not an array."""
        return [float(row[0] * row[1]) for row in np.asarray(X)]


class Classifier:
    """`classes_` makes it a classifier; it has no tags and no fit."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        """Logistic in the first column."""
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])


class Untagged:
    """Has a `fit` that was never called; nothing of it is checked."""

    def fit(self, X, y):
        """Not needed."""

    def decision_function(self, X):
        """A score without classes: taken by name only."""
        return np.asarray(X)[:, 1] ** 2


def test_models_that_are_no_scikit_learn_objects():
    """Objects, callables, bound methods; a classifier is one that has classes."""
    X = np.random.RandomState(0).randn(30, 2)
    y = X[:, 0] * X[:, 1]
    imp = SensitivityImportance(estimation="exact").fit(Predictor(), X, y)
    expected = sensitivity(lambda X: X[:, :1] * X[:, 1:], X, (0,), "pairs")
    np.testing.assert_allclose(
        imp.importances_[0] * imp.scale_, expected[0], rtol=1e-10
    )
    assert "black box" in imp.response_path_

    imp = SensitivityImportance().fit(Classifier(), X, np.where(y > 0, "yes", "no"))
    assert imp.output_names_ == ["yes"]
    assert imp.importances_[1] == 0

    imp = SensitivityImportance(response_method="decision_function")
    imp.fit(Untagged(), X)
    assert imp.importances_[0] == 0
    assert imp.importances_[1] > 0
    with pytest.raises(TypeError, match=says("`estimator` … got Untagged")):
        SensitivityImportance().fit(Untagged(), X, y)

    for call in (Predictor().predict, lambda X: np.asarray(X)[:, [0, 1]] ** 2):
        SensitivityImportance(scale=None).fit(call, X)
    with pytest.raises(ValueError, match="20 values for 30 rows"):
        SensitivityImportance(scale=None).fit(lambda X: np.ones(20), X)
    with pytest.raises(ValueError, match=r"\(n_samples,\) or"):
        SensitivityImportance(scale=None).fit(lambda X: np.ones((30, 2, 2)), X)


def test_missing_columns_of_frames_are_the_models_business():
    """Another width than the model was fitted with is an error before any work."""
    X = frame("pandas")
    fitted = pipeline(Ridge()).fit(X, target())
    with pytest.raises(ValueError, match="X has 5 columns, but Pipeline was"):
        SensitivityImportance(scale=None).fit(fitted, X.iloc[:, :5])


def test_models_of_three_kinds_are_on_one_scale():
    """Score of an SVC, probability of a forest, of a logistic regression.

    All are divided by the spread of what they predict, so the strongest input has
    about the same importance; the raw scores differ by a factor of more than five.
    """
    random = np.random.RandomState(0)
    X = random.randn(150, 3)
    y = (2 * X[:, 0] + X[:, 1] + 0.1 * random.randn(150) > 0).astype(int)
    models = {
        "svc": SVC(C=100).fit(X, y),
        "forest": RandomForestClassifier(30, random_state=0).fit(X, y),
        "logistic": LogisticRegression(C=100).fit(X, y),
    }
    found = compare_importances(models, X, y).results
    found = [found[m, "SensitivityImportance"] for m in models]
    strongest = [one.importances[0] for one in found]
    assert max(strongest) < 1.5 * min(strongest)
    assert all(one.ranking[0] == 1 for one in found)
    raw = [
        SensitivityImportance(scale=None).fit(model, X, y).importances_[0]
        for model in models.values()
    ]
    assert max(raw) > 5 * min(raw)


class Reusing:
    """A model that writes every response into the same array."""

    def __init__(self, function):
        self.function = function
        self.buffer = np.empty((2**15, 2))

    def __call__(self, X):
        """The function's response."""
        response = self.function(X)
        columns = self.buffer if response.ndim == 2 else self.buffer[:, 0]
        reused = columns[: len(response)]
        reused[:] = response
        return reused


class ReusingClassifier(Duck):
    """A classifier whose probabilities are written into the same array."""

    def __init__(self):
        self.predict_proba = Reusing(super().predict_proba)


BY_PARTS = np.arange(40) % 2
MEASURES = {
    "sensitivity": SensitivityImportance(estimation="exact"),
    "observed": SensitivityImportance(contrast="observed", estimation="exact"),
    "range": SensitivityImportance(contrast="range"),
    "sampled": SensitivityImportance(estimation="sampled", random_state=0),
    "rows": SensitivityImportance(estimation="rows", random_state=0),
    "until precise": SensitivityImportance(
        estimation="sampled", tol=0.1, random_state=0
    ),
    "subgroups": SensitivityImportance(conditional=BY_PARTS, estimation="exact"),
    "permutation": PermutationImportance(estimation="exact"),
    "absolute error": PermutationImportance(
        loss="absolute_error", estimation="exact", keep_rows=True
    ),
    "shuffled": PermutationImportance(estimation="sampled", random_state=0),
    "partial dependence": PartialDependenceImportance(),
    "individual curves": PartialDependenceImportance(kind="individual"),
    "derivative": DerivativeImportance(),
    "accumulated": ALEImportance(),
    "total": SobolImportance(),
    "first": SobolImportance(order="first"),
    "interaction": InteractionImportance(),
    "H": InteractionImportance(statistic="h"),
    "H of features": InteractionImportance(statistic="h_overall"),
    "firm": FIRMImportance(),
    "firm of a line": FIRMImportance(method="linear"),
}


@pytest.mark.parametrize(
    ("name", "outputs"), each(MEASURES, ["one output", "two outputs", "two classes"])
)
def test_models_that_return_one_reused_array(name, outputs):
    """As a wrapper of native code may do; the numbers are those of fresh arrays."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    if outputs == "two classes" and name == "absolute error":
        outputs = "one output"
    reusing, fresh, y = {
        "one output": (reused_buffer, bounded, X[:, 0]),
        "two outputs": (Reusing(two_outputs), two_outputs, X[:, :2]),
        "two classes": (
            ReusingClassifier(),
            Duck(),
            np.where(X[:, 0] > 0, "yes", "no"),
        ),
    }[outputs]
    found = clone(MEASURES[name]).fit(reusing, X, y).importances_
    expected = clone(MEASURES[name]).fit(fresh, X, y).importances_
    np.testing.assert_array_equal(found, expected)
    assert np.ptp(found) > 0
