"""Coefficients of linear models against certified and hand-worked values."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from literal_weights import glm_data, regression_data, textbook_t
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skvarimp import CoefficientImportance
from skvarimp.exceptions import ImportanceWarning

REFERENCE = Path(__file__).parents[1] / "reference_values"


def exact_regression(reference):
    """Coefficients, squared errors and residual variance as fractions."""
    rows = [
        [Fraction(1)] * reference["fit_intercept"] + [Fraction(str(v)) for v in row]
        for row in reference["X"]
    ]
    y = [Fraction(v) for v in reference["y"]]
    p = len(rows[0])
    table = [  # [A'A | I | A'y], reduced to [I | inverse | coefficients]
        [sum(r[a] * r[b] for r in rows) for b in range(p)]
        + [Fraction(int(a == b)) for b in range(p)]
        + [sum(r[a] * v for r, v in zip(rows, y))]
        for a in range(p)
    ]
    for a in range(p):
        table[a] = [v / table[a][a] for v in table[a]]
        for b in range(p):
            if b != a:
                factor = table[b][a]
                table[b] = [u - factor * v for u, v in zip(table[b], table[a])]
    beta = [row[-1] for row in table]
    residuals = [v - sum(c * b for c, b in zip(r, beta)) for r, v in zip(rows, y)]
    variance = sum(r * r for r in residuals) / (len(y) - p)
    return beta, [variance * table[a][p + a] for a in range(p)], variance


@pytest.mark.parametrize("name", ["longley", "noint1"])
def test_certified_values_of_nist(name):
    """Certified coefficients, errors and t; and the certificate by fractions."""
    reference = json.loads((REFERENCE / f"{name}.json").read_text())
    X, y = np.array(reference["X"]), np.array(reference["y"], dtype=float)
    slopes = slice(int(reference["fit_intercept"]), None)
    coefficients = np.array(reference["coefficients"])
    errors = np.array(reference["standard_errors"])

    exact, squares, variance = exact_regression(reference)
    assert_allclose([float(b) for b in exact], coefficients, rtol=5e-15)
    assert_allclose(np.sqrt([float(s) for s in squares]), errors, rtol=5e-15)
    deviation = reference["residual_standard_deviation"]
    assert_allclose(float(variance) ** 0.5, deviation, rtol=5e-15)

    model = LinearRegression(fit_intercept=reference["fit_intercept"]).fit(X, y)
    importance = CoefficientImportance().fit(model, X, y)

    near = {"rtol": reference["relative_tolerance"]}
    t = (coefficients / errors)[slopes]
    assert_allclose(importance.signed_importances_[:, 0], t, **near)
    assert_allclose(importance.importances_, np.abs(t), **near)
    assert_allclose(importance.coefficient_errors_[:, 0], errors[slopes], **near)
    assert_allclose(np.sqrt(importance.dispersion_), deviation, **near)
    assert importance.degrees_of_freedom_ == reference["degrees_of_freedom"]


def test_hand_worked_line():
    """Slope 0.6, residuals -0.8, 0.6, 1, -0.6, -0.2 with squares 2.4, Sxx = 10."""
    X, y = np.arange(1.0, 6)[:, None], np.array([2.0, 4, 5, 4, 5])
    model = LinearRegression().fit(X, y)

    importance = CoefficientImportance().fit(model, X, y)

    assert_allclose(importance.importances_, 0.6 / np.sqrt(2.4 / 3 / 10))
    assert_allclose(importance.dispersion_, 0.8)
    assert_allclose(importance.coefficient_errors_, [[np.sqrt(0.08)]])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_t_equals_the_normal_equations(fit_intercept, weighted):
    """With weights in both, columns of very different scale included."""
    X, y = regression_data()
    weights = np.random.default_rng(1).uniform(0.5, 3, len(y)) if weighted else None
    model = LinearRegression(fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weights)

    importance = CoefficientImportance().fit(model, X, y, sample_weight=weights)

    t, errors, variance = textbook_t(X, y, weights, fit_intercept)
    assert_allclose(importance.signed_importances_[:, 0], t, rtol=1e-7)
    assert_allclose(importance.coefficient_errors_[:, 0], errors, rtol=1e-7)
    assert_allclose(importance.dispersion_, variance)


def test_t_does_not_depend_on_units():
    """Scale and offset of a column, and of y, cancel in t."""
    X, y = regression_data()
    t = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y).importances_
    X, y = X * [-1e3, 0.1, 1e2] + 7, 1e6 * y - 3

    moved = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y)

    assert_allclose(moved.importances_, t, rtol=1e-8)


def test_several_outputs_are_single_regressions_side_by_side():
    """Importances are the mean over the outputs' |t|."""
    X, y = regression_data()
    Y = np.column_stack([y, np.random.default_rng(2).normal(size=len(y))])
    single = [
        CoefficientImportance().fit(LinearRegression().fit(X, v), X, v) for v in Y.T
    ]

    both = CoefficientImportance().fit(LinearRegression().fit(X, Y), X, Y)

    expected = np.column_stack([s.importances_ for s in single])
    assert_allclose(both.importances_per_output_, expected)
    assert_allclose(both.importances_, expected.mean(axis=1))
    assert_allclose(both.dispersion_, [s.dispersion_[0] for s in single])
    assert both.output_names_ == ["y0", "y1"]


def test_weights_are_precisions_not_counts():
    """Multiples change nothing; weight 0 removes; repeated rows only scale t."""
    X, y = regression_data(40)
    weights = np.random.default_rng(3).integers(0, 4, 40).astype(float)

    def t(X, y, weights=None):
        model = LinearRegression().fit(X, y, sample_weight=weights)
        return CoefficientImportance().fit(model, X, y, sample_weight=weights)

    weighted = t(X, y, weights)
    assert_allclose(t(X, y, weights / 7).importances_, weighted.importances_)
    kept = weights > 0
    dropped = t(X[kept], y[kept], weights[kept])
    assert_allclose(dropped.importances_, weighted.importances_)
    assert weighted.degrees_of_freedom_ == kept.sum() - 4
    rows = np.repeat(np.arange(40), weights.astype(int))
    repeated = t(X[rows], y[rows])
    ratio = np.sqrt((weights.sum() - 4) / (kept.sum() - 4))
    assert_allclose(repeated.importances_, ratio * weighted.importances_)


def test_aliased_columns_are_named_and_shared_by_the_pseudo_inverse():
    """t of the shortest solution, literally: b = X^+ y, variance s² (X'X)^+."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 5))
    X[:, 3] = X[:, 0] - 2 * X[:, 1] + 3
    X[:, 4] = 0.1
    y = X[:, 0] + X[:, 2] + rng.normal(size=30)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = LinearRegression().fit(frame, y)

    with pytest.warns(ImportanceWarning, match=r"\['a', 'b', 'd', 'e'\] are") as record:
        importance = CoefficientImportance().fit(model, frame, y)

    assert record[0].filename == __file__
    centred = X - X.mean(axis=0)
    centred[:, 4] = 0
    pseudo = np.linalg.pinv(centred, rcond=1e-10)
    beta = pseudo @ (y - y.mean())
    variance = np.sum((y - y.mean() - centred @ beta) ** 2) / (30 - 4)
    errors = np.sqrt(variance * np.sum(pseudo**2, axis=1))
    assert importance.degrees_of_freedom_ == 26
    assert_allclose(
        importance.signed_importances_[:4, 0], beta[:4] / errors[:4], rtol=1e-9
    )
    assert importance.importances_[4] == 0.0


def test_a_copy_of_a_column_shares_its_statistic():
    """Twice the same column: half the coefficient, half the error, the same t."""
    X, y = regression_data()
    alone = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.warns(ImportanceWarning, match=r"\['x0', 'x3'\]"):
        shared = CoefficientImportance().fit(LinearRegression().fit(twice, y), twice, y)

    assert_allclose(shared.importances_[[0, 1, 2, 3]], alone.importances_[[0, 1, 2, 0]])


def test_sparse_and_framed_input():
    """The container changes neither numbers nor, without names, labels."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 4)) * (rng.uniform(size=(50, 4)) < 0.5)
    y = X @ [1.0, 0, -1, 2] + rng.normal(size=50)
    model = LinearRegression().fit(X, y)
    expected = CoefficientImportance().fit(model, X, y)

    for container in (sparse.csr_array(X), sparse.csc_matrix(X), X.tolist()):
        found = CoefficientImportance().fit(model, container, y)
        assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
        assert found.features_ == ["x0", "x1", "x2", "x3"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = CoefficientImportance().fit(LinearRegression().fit(frame, y), frame, y)
    assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    assert found.to_frame()["feature"].iloc[0] == "d"


def test_rows_in_several_blocks():
    """Orthogonal factors merged over blocks of rows equal one factor."""
    X, y = regression_data(200)
    model = LinearRegression().fit(X, y)
    expected = CoefficientImportance().fit(model, X, y).importances_
    with config_context(working_memory=60 / 4096):
        blockwise = CoefficientImportance().fit(model, X, y).importances_

    assert_allclose(blockwise, expected, rtol=1e-10)


def test_standardized_coefficients():
    """Slope times sd(x) over sd(y), by hand: 0.6 sqrt(2 / 1.2)."""
    X, y = np.arange(1.0, 6)[:, None], np.array([2.0, 4, 5, 4, 5])
    model = LinearRegression().fit(X, y)
    standardized = CoefficientImportance(statistic="standardized")

    assert_allclose(standardized.fit(model, X, y).importances_, 0.6 * np.sqrt(2 / 1.2))
    assert standardized.dispersion_ is None
    absolute = CoefficientImportance(statistic="absolute").fit(model)
    assert_allclose(absolute.importances_, [0.6])


def test_standardized_coefficients_are_those_of_standardised_data():
    """For any linear model, weights and sparse X included."""
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :4] * [1, 10, 100, 0.1] * 20
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    model = LinearRegression().fit(X, y, sample_weight=weights)
    scaled = LinearRegression().fit(
        StandardScaler().fit_transform(X[rows]),
        (y[rows] - y[rows].mean()) / y[rows].std(),
    )

    for container in (X, sparse.csr_array(X)):
        importance = CoefficientImportance(statistic="standardized").fit(
            model, container, y, sample_weight=weights
        )
        assert_allclose(importance.signed_importances_[:, 0], scaled.coef_)
    ridge = Ridge().fit(X, y)
    expected = ridge.coef_ * X.std(axis=0) / y.std()
    found = CoefficientImportance(statistic="standardized").fit(ridge, X, y)
    assert_allclose(found.signed_importances_[:, 0], expected)


def test_beta_coefficients_of_huh_and_lee():
    """Their simulated data (section 4): 4, 3, 2, 1 over sqrt(31), Table 3 nearly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = X @ [4, 3, 2, 1] + rng.normal(size=20_000)
    model = LinearRegression().fit(X, y)

    betas = CoefficientImportance(statistic="standardized").fit(model, X, y)

    assert_allclose(betas.importances_, np.array([4, 3, 2, 1]) / np.sqrt(31), atol=0.01)


def test_models_in_another_unit_than_y_are_not_divided_by_its_spread():
    """Classifiers and log links: |coefficient| sd(x), y not needed."""
    rng, X, eta = glm_data()
    standardized = CoefficientImportance(statistic="standardized")
    for model, y in [
        (LogisticRegression(), eta > 0),
        (LinearSVC(), np.digitize(eta, [-1, 1])),
        (PoissonRegressor(), rng.poisson(np.exp(eta))),
    ]:
        model.fit(X, y)
        expected = np.atleast_2d(np.abs(model.coef_)).T * X.std(axis=0)[:, None]
        found = standardized.fit(model, X).importances_per_output_
        assert_allclose(found, expected)
    identity = TweedieRegressor(power=0).fit(X, eta)
    expected = np.abs(identity.coef_) * X.std(axis=0) / eta.std()
    assert_allclose(standardized.fit(identity, X, eta).importances_, expected)


def test_names_of_outputs():
    """Classes, the second of two, pairs of a support vector machine, numbers."""
    _, X, eta = glm_data()
    letters = np.array(["a", "b", "c"])[np.digitize(eta, [-1, 1])]
    absolute = CoefficientImportance(statistic="absolute")
    for model, y, names in [
        (RidgeClassifier(), letters, ["a", "b", "c"]),
        (RidgeClassifier(), eta > 0, ["True"]),
        (SVC(kernel="linear"), letters, ["a or b", "a or c", "b or c"]),
        (SVC(kernel="linear"), eta > 0, ["True"]),
        (Lasso(0.01), eta, ["y"]),
        (Lasso(0.01), np.column_stack([eta, eta]), ["y0", "y1"]),
    ]:
        found = absolute.fit(model.fit(X, y), X)
        assert found.output_names_ == names
        assert found.importances_per_output_.shape == (3, len(names))
    sparse_model = SVC(kernel="linear").fit(sparse.csr_array(X), eta > 0)
    assert absolute.fit(sparse_model).importances_.shape == (3,)


def test_names_come_from_the_estimator_where_there_is_no_x():
    """And from X where there is one."""
    X, y = regression_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    absolute = CoefficientImportance(statistic="absolute")

    absolute.fit(LinearRegression().fit(frame, y))
    assert absolute.features_ == ["a", "b", "c"]
    assert_array_equal(absolute.feature_names_in_, ["a", "b", "c"])
    absolute.fit(LinearRegression().fit(X, y))
    assert absolute.features_ == ["x0", "x1", "x2"]
    assert absolute.n_features_in_ == 3
    assert not hasattr(absolute, "feature_names_in_")
    assert clone(absolute).statistic == "absolute"


def test_nothing_is_modified():
    """Read-only data, and an estimator with the same attributes after."""
    X, y = regression_data()
    model = LinearRegression().fit(X, y)
    before = {k: np.copy(v) for k, v in vars(model).items()}
    X.setflags(write=False)
    y.setflags(write=False)

    for statistic in ("t", "standardized", "absolute"):
        CoefficientImportance(statistic=statistic).fit(model, X, y)

    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        assert_array_equal(getattr(model, name), value)


def test_auto_takes_t_where_it_is_valid():
    """Least squares have t; too few rows, other data and penalties have none."""
    X, y = regression_data()
    model = LinearRegression().fit(X, y)
    found = CoefficientImportance().fit(model, X, y)
    assert found.statistic_ == "t"
    assert "standard errors of the coefficient" in found.caption()
    assert_allclose(found.importances_, np.abs(textbook_t(X, y)[0]), rtol=1e-7)
    assert_allclose(found.wald_statistics_, found.signed_importances_**2)
    penalised = Ridge().fit(X, y)
    cases = [
        (penalised, X, y),
        (LogisticRegression().fit(X, y > y.mean()), X, y > y.mean()),
        (LinearRegression().fit(X[:4], y[:4]), X[:4], y[:4]),
        (model, X, y[::-1]),
    ]
    for k, (model, X, y) in enumerate(cases):
        beta = CoefficientImportance(statistic="standardized").fit(model, X, y)
        if k < 2:
            found = CoefficientImportance().fit(model, X, y)
        else:
            with pytest.warns(ImportanceWarning, match="coefficients, not t"):
                found = CoefficientImportance().fit(model, X, y)
        assert found.statistic_ == "standardized"
        assert_array_equal(found.importances_, beta.importances_)
        assert found.pvalues_ is None
        assert "standard deviation" in found.caption()


def test_auto_does_not_trust_separated_classes():
    """Wald's statistics then mean nothing."""
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)
    with pytest.warns(ImportanceWarning, match="coefficients, not t"):
        found = CoefficientImportance().fit(model, X, y)
    assert found.statistic_ == "standardized"


def test_absolute_coefficients_say_what_they_are_per_unit_of():
    """Behind a scaler of the scaled column: 3 per unit of x, which has spread 50."""
    X = 100.0 * np.array([[0.0], [1.0], [0.0], [1.0]])
    y = 3.0 * X[:, 0]
    plain, scaled = (
        CoefficientImportance(statistic="absolute").fit(model.fit(X, y), X, y)
        for model in (
            LinearRegression(),
            make_pipeline(StandardScaler(), LinearRegression()),
        )
    )
    assert plain.importances_[0] == pytest.approx(3.0)
    assert scaled.importances_[0] == pytest.approx(3.0 * 50.0)
    for text in (plain.caption(), plain.plot().ax_.get_xlabel()):
        assert "per unit of the feature" in " ".join(text.split())
    for text in (scaled.caption(), scaled.plot().ax_.get_xlabel()):
        text = " ".join(text.split())
        assert "per unit of the feature" not in text
        assert "per unit of what the model is given behind its steps" in text


def test_inside_a_transformed_target():
    """t of the regression that was fitted, in units of the logarithm."""
    X, y = regression_data()
    y = np.exp((y - y.mean()) / y.std())
    model = TransformedTargetRegressor(
        LinearRegression(), func=np.log, inverse_func=np.exp
    )
    found = CoefficientImportance().fit(model.fit(X, y), X, y)
    assert found.statistic_ == "t"
    assert_allclose(found.importances_, np.abs(textbook_t(X, np.log(y))[0]), rtol=1e-7)


def test_a_classifier_of_each_output():
    """Its own coefficients, one column for two classes and one for each of more."""
    X, y = regression_data()
    labels = np.column_stack(
        [y > np.median(y), np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    )
    model = MultiOutputClassifier(LogisticRegression(max_iter=10_000)).fit(X, labels)
    found = CoefficientImportance(statistic="absolute").fit(model, X, labels)
    coefficients = np.vstack([member.coef_ for member in model.estimators_])
    assert_array_equal(found.signed_importances_, coefficients.T)
    assert found.output_names_ == ["y0: 1", "y1: 0", "y1: 1", "y1: 2"]
    spread = CoefficientImportance().fit(model, X, labels)
    assert spread.statistic_ == "standardized"
    expected = np.abs(coefficients.T * X.std(axis=0)[:, None])
    assert_allclose(spread.importances_per_output_, expected, rtol=1e-9)
