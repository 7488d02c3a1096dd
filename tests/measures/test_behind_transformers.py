"""Measures that read a model itself, with column-wise steps of a pipeline before it."""

import numpy as np
import pandas as pd
import pytest
from literal import standard_error
from messages import says
from numpy.testing import assert_allclose
from roundoff import roundoff
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    CoefficientImportance,
    ConnectionWeightImportance,
    ImpurityImportance,
)
from skvarimp.exceptions import ImportanceWarning

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "size": RANDOM.normal(size=150),
        "color": RANDOM.choice(["red", "green", "blue"], 150),
        "unused": RANDOM.normal(size=150),
        "age": RANDOM.normal(size=150),
    }
)
Y = X["size"] + (X["color"] == "red") - 0.5 * X["age"] + 0.1 * RANDOM.normal(size=150)


def pipeline(model):
    """Age first behind the steps, three columns for the colour, one left out."""
    steps = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["color"]), ("passthrough", [0])
    )
    return make_pipeline(steps, model).fit(X, Y)


def by_hand(measure, whole, **options):
    """The measure of the last step, added up by inputs: size, color, unused, age."""
    behind = whole[:-1].transform(X)
    alone = type(measure)(**measure.get_params()).fit(whole[-1], behind, Y, **options)
    age, *colors, size = alone.importances_per_output_
    return np.array([size, np.sum(colors, axis=0), np.zeros_like(age), age]), alone


@pytest.mark.parametrize(
    ("measure", "model"),
    [
        (ImpurityImportance(), RandomForestRegressor(5, random_state=0)),
        (ImpurityImportance(rows="oob"), RandomForestRegressor(20, random_state=0)),
        (ImpurityImportance(rows="unseen"), DecisionTreeRegressor(max_depth=4)),
        (CoefficientImportance(statistic="absolute"), LinearRegression()),
        (CoefficientImportance(statistic="standardized"), LinearRegression()),
        (
            ConnectionWeightImportance(),
            MLPRegressor(hidden_layer_sizes=[3], solver="lbfgs", tol=0.1),
        ),
    ],
)
def test_columns_are_counted_to_their_inputs(measure, model):
    """Also through a search around the pipeline, whose names and order are X's."""
    whole = pipeline(model)
    expected, _ = by_hand(measure, whole)
    found = measure.fit(whole, X, Y)
    assert found.features_ == list(X.columns)
    assert found.n_features_in_ == 4
    np.testing.assert_allclose(found.importances_per_output_, expected, rtol=1e-12)
    assert found.to_frame()["feature"].iloc[-1] == "unused"
    search = GridSearchCV(whole, {}, cv=2)
    search.best_estimator_ = whole
    search.refit = True
    again = type(measure)(**measure.get_params()).fit(search, X, Y)
    np.testing.assert_array_equal(again.importances_, found.importances_)


def test_rows_of_inputs():
    """Influences add up, and the standard error is theirs."""
    whole = pipeline(RandomForestRegressor(20, random_state=0))
    measure = ImpurityImportance(rows="oob", keep_rows=True).fit(whole, X, Y)
    _, alone = by_hand(measure, whole)
    influence = alone.influences_[:, 1:4].sum(axis=1)
    np.testing.assert_allclose(
        measure.influences_[:, 1], influence, atol=roundoff(len(X), influence)
    )
    expected = standard_error(influence)
    assert measure.standard_errors_[1] == pytest.approx(expected, rel=1e-9)
    assert measure.standard_errors_[2] == 0
    means = measure.row_importances_.mean(axis=0)
    np.testing.assert_allclose(
        means,
        measure.importances_,
        rtol=1e-9,
        atol=roundoff(len(X), measure.row_importances_),
    )
    plain = ImpurityImportance(rows="oob").fit(whole, X, Y)
    np.testing.assert_array_equal(plain.standard_errors_, measure.standard_errors_)
    assert not hasattr(plain, "influences_")


LEVELS = ["a", "b", "c", "d"]
CODINGS = [OneHotEncoder(), *(OneHotEncoder(drop=[level]) for level in LEVELS)]


def with_factor(n=300):
    """A factor of four levels, a count, a column of no effect, and a predictor."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "site": rng.choice(LEVELS, n, p=[0.1, 0.2, 0.3, 0.4]),
            "age": rng.normal(size=n),
            "noise": rng.normal(size=n),
        }
    )
    effect = frame["site"].map({"a": 0.3, "b": -0.6, "c": 0.0, "d": 0.7})
    return rng, frame, (effect + 0.5 * frame["age"]).to_numpy()


def coded(encoder, model, frame, y):
    """A model behind an encoder of the site."""
    steps = make_column_transformer(
        (encoder, ["site"]), remainder=StandardScaler(), verbose_feature_names_out=False
    )
    return make_pipeline(steps, model).fit(frame, y)


def dummies(frame):
    """Ones, three dummies of the site, age and noise."""
    of_site = [frame["site"] == level for level in LEVELS[1:]]
    columns = [np.ones(len(frame)), *of_site, frame["age"], frame["noise"]]
    return np.column_stack(columns).astype(float)


def targets(kind):
    """A model, y, and what statsmodels fits to them."""
    sm = pytest.importorskip("statsmodels.api")
    rng, frame, predictor = with_factor()
    if kind == "least squares":
        y = predictor + rng.normal(size=len(frame))
        return LinearRegression(), frame, y, sm.OLS(y, dummies(frame)).fit()
    if kind == "logistic":
        y = (rng.uniform(size=len(frame)) < expit(predictor)).astype(int)
        model, family = LogisticRegression(C=np.inf, tol=1e-9), sm.families.Binomial()
    elif kind == "Poisson":
        y = rng.poisson(np.exp(predictor)).astype(float)
        model, family = PoissonRegressor(alpha=0, tol=1e-9), sm.families.Poisson()
    else:
        y = rng.gamma(2.0, np.exp(predictor) / 2.0)
        model = GammaRegressor(alpha=0, tol=1e-9)
        family = sm.families.Gamma(sm.families.links.Log())
    model.set_params(max_iter=1000)
    fit = sm.GLM(y, dummies(frame), family=family).fit(tol=1e-12, scale=None)
    return model, frame, y, fit


# 4 times sqrt(2 n 64 eps) for 600 rows: steps behind the last may add up
OFF = 4 * np.sqrt(2 * 600 * 64 * np.finfo(float).eps)


@pytest.mark.parametrize("kind", ["least squares", "logistic", "Poisson", "gamma"])
def test_levels_are_tested_together(kind):
    """As statsmodels tests them, whichever level is left out, and if none is.

    The solver stops where the mean loss, about 1, falls by less than 64 roundings: so
    near the maximum that no statistic is off by more than `OFF` standard errors.
    """
    model, frame, y, fit = targets(kind)
    has_dispersion = kind in {"least squares", "gamma"}
    joint = fit.wald_test(np.eye(6)[1:4], use_f=has_dispersion, scalar=True)
    scale = 3 if has_dispersion else 1
    square = float(joint.statistic) * scale
    single = fit.wald_test(np.eye(6)[4], use_f=has_dispersion, scalar=True)
    for encoder in CODINGS:
        found = CoefficientImportance().fit(coded(encoder, model, frame, y), frame, y)
        assert found.statistic_ == "t"
        near = {"rtol": 1e-12, "atol": OFF}
        assert_allclose(found.wald_statistics_[0, 0] ** 0.5, square**0.5, **near)
        assert_allclose(found.importances_[0], np.sqrt(square / 3), **near)
        assert_allclose(found.importances_[1], np.abs(fit.tvalues[4]), **near)
        assert found.wald_degrees_of_freedom_.tolist() == [3, 1, 1]
        expected = [float(joint.pvalue), float(single.pvalue)]
        assert_allclose(found.pvalues_[:2, 0], expected, rtol=1e-4)
        assert np.isnan(found.signed_importances_[0, 0])
        table = found.to_frame().set_index("feature")
        assert table.loc["site", "degrees_of_freedom"] == 3
        assert_allclose(table.loc["site", "p_value"], joint.pvalue, rtol=1e-4)


def test_levels_of_several_classes_are_tested_together():
    """Each class against the mean of all: a linear map of statsmodels' contrasts."""
    sm = pytest.importorskip("statsmodels.api")
    rng, frame, predictor = with_factor(600)
    y = np.digitize(predictor + rng.logistic(size=len(frame)), [-0.5, 0.7])
    fit = sm.MNLogit(y, dummies(frame)).fit(disp=0, tol=1e-12, maxiter=200)
    contrasts = fit.params.T.ravel()  # class 1 against 0, then class 2 against 0
    to_centred = np.kron(np.array([[-1, -1], [2, -1], [-1, 2]]) / 3, np.eye(6))
    b, cov = to_centred @ contrasts, to_centred @ fit.cov_params() @ to_centred.T
    expected = []
    for k in range(3):
        site = slice(6 * k + 1, 6 * k + 4)
        expected.append(b[site] @ np.linalg.solve(cov[site, site], b[site]))
    model = LogisticRegression(C=np.inf, tol=1e-9, max_iter=1000)
    for encoder in CODINGS[:3]:
        found = CoefficientImportance().fit(coded(encoder, model, frame, y), frame, y)
        assert_allclose(found.wald_statistics_[0] ** 0.5, np.sqrt(expected), atol=OFF)
        assert "p_value" not in found.to_frame()
        assert found.pvalues_.shape == (3, 3)


def test_columns_of_an_input_have_names():
    """And columns that others repeat are named as they are behind the steps."""
    _, frame, y = with_factor()
    rng = np.random.default_rng(0)
    y = y + rng.normal(size=len(y))
    whole = coded(OneHotEncoder(drop="first"), LinearRegression(), frame, y)
    found = CoefficientImportance().fit(whole, frame, y)
    assert found.encoded_columns_ == {
        "site": ["site_b", "site_c", "site_d"],
        "age": ["age"],
        "noise": ["noise"],
    }
    frame["again"] = frame["site"].map({"a": "x", "b": "x", "c": "y", "d": "y"})
    steps = make_column_transformer((OneHotEncoder(drop="first"), ["site", "again"]))
    nested = make_pipeline(steps, LinearRegression()).fit(frame, y)
    with pytest.warns(ImportanceWarning, match=r"site_c', .*again_y'\] are constant"):
        found = CoefficientImportance().fit(nested, frame, y)
    assert found.wald_degrees_of_freedom_[[0, 3]].tolist() == [2, 1]
    assert found.wald_degrees_of_freedom_[1] == 0  # not in the model
    assert np.isnan(found.pvalues_[1, 0])
    assert found.importances_[1] == 0


def test_without_x():
    """Measures that read numbers alone need no data."""
    whole = pipeline(LinearRegression())
    measure = CoefficientImportance(statistic="absolute")
    assert measure.fit(whole).features_ == list(X.columns)
    tree = pipeline(DecisionTreeRegressor(max_depth=3))
    assert ImpurityImportance().fit(tree).ranking_[2] > 2


def test_refused():
    """Steps that mix columns, and associations of several columns of one input."""
    numbers = X[["size", "unused", "age"]]
    mixing = make_pipeline(PCA(2), DecisionTreeRegressor()).fit(numbers, Y)
    with pytest.raises(TypeError, match=says("Pipeline … mix columns … pipeline[-1]")):
        ImpurityImportance().fit(mixing, numbers, Y)
    whole = pipeline(DecisionTreeRegressor(max_depth=2))
    with pytest.raises(TypeError, match=says("surrogates … pipeline[-1]")):
        ImpurityImportance(surrogates=True).fit(whole, X, Y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2))
    found = ImpurityImportance(surrogates=True).fit(scaled.fit(numbers, Y), numbers, Y)
    assert found.association_.shape == (3, 3)


class Doubled:
    """A sampler as of imbalanced-learn, which acts in `fit` alone."""

    def fit_resample(self, X, y):
        """Every row twice."""
        return np.repeat(X, 2, axis=0), np.repeat(y, 2)


class Halved:
    """Another sampler."""

    def fit_resample(self, X, y):
        """Every second row."""
        return X[::2], y[::2]


class WithSamplers(Pipeline):
    """A pipeline that passes over samplers where it predicts."""

    def _validate_steps(self):
        """Samplers have no `transform`."""

    def fit(self, X, y):
        """Fit the steps on the drawn rows."""
        scaler, sampler, model = [step for _, step in self.steps]
        model.fit(*sampler.fit_resample(scaler.fit_transform(X), y))
        return self


@pytest.mark.parametrize(
    ("measure", "model"),
    [
        (CoefficientImportance(statistic="absolute"), LinearRegression()),
        (ImpurityImportance(rows="unseen"), RandomForestRegressor(5, random_state=0)),
        (ImpurityImportance(), RandomForestRegressor(5, random_state=0)),
    ],
)
def test_steps_that_draw_rows(measure, model):
    """They do not act on rows that are predicted, and are passed over."""
    numbers = X[["size", "age"]].to_numpy()
    steps = [("scale", StandardScaler()), ("draw", Doubled()), ("model", model)]
    whole = WithSamplers(steps).fit(numbers, Y)
    found = measure.fit(whole, numbers, Y).importances_
    plain = Pipeline([steps[0], steps[2]])
    right = type(measure)(**measure.get_params()).fit(plain, numbers, Y).importances_
    assert_allclose(found, right, rtol=1e-12)
    alone = WithSamplers(steps[1:])
    behind = steps[0][1].transform(numbers)
    found = type(measure)(**measure.get_params()).fit(alone, behind, Y).importances_
    right = type(measure)(**measure.get_params()).fit(model, behind, Y).importances_
    assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize(
    ("measure", "model", "why"),
    [
        (CoefficientImportance(statistic="t"), LinearRegression(), "likelihood"),
        (ImpurityImportance(surrogates=True), DecisionTreeRegressor(), "training data"),
    ],
)
def test_messages_name_the_step_that_drew_the_training_rows(measure, model, why):
    """Where the rows that are given are not those of the last step."""
    numbers = X[["size", "age"]].to_numpy()
    steps = [("scale", StandardScaler()), ("draw", Halved()), ("model", model)]
    whole = WithSamplers(steps).fit(numbers, Y)
    with pytest.raises(ValueError, match=why) as info:
        measure.fit(whole, numbers, Y)
    assert "step 'draw' drew other rows" in info.value.__notes__[0]
