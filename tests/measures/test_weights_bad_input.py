"""Models and data that have no t, and what the errors say."""

import numpy as np
import pytest
from literal_weights import glm_data, regression_data, textbook_t
from messages import says
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import CoefficientImportance, ConnectionWeightImportance
from skvarimp.exceptions import ImportanceWarning

T = CoefficientImportance(statistic="t")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Ridge(), TypeError, says("Ridge … t or Wald … statistic='standardized'")),
        (Lasso(), TypeError, says("Lasso … t or Wald … statistic='standardized'")),
        (HuberRegressor(), TypeError, "HuberRegressor has no t"),
        (LinearRegression(positive=True), ValueError, r"positive=True\) has no t"),
        (LogisticRegression(), ValueError, r"C=1\).*penalty shrinks.*C=np\.inf"),
        (
            LogisticRegression(C=np.inf, class_weight="balanced"),
            ValueError,
            "`class_weight` has no Wald",
        ),
        (PoissonRegressor(), ValueError, r"alpha=1\).*shrinks.*alpha=0"),
        (TweedieRegressor(alpha=0.5), ValueError, r"TweedieRegressor\(alpha=0\.5\)"),
        (RandomForestRegressor(2), TypeError, "linear model, got RandomF"),
        (GradientBoostingRegressor(n_estimators=2), TypeError, "got GradientB"),
        (AdaBoostRegressor(n_estimators=2), TypeError, "linear model, got AdaB"),
        (
            make_pipeline(StandardScaler(), Ridge()),
            TypeError,
            says("Ridge … t or Wald … statistic='standardized'"),
        ),
        (make_pipeline(PCA(), Ridge()), TypeError, "got a Pipeline"),
    ],
)
def test_models_without_t(model, error, message):
    """The error says why there is none, and what to use."""
    _, X, eta = glm_data()
    y = (eta > 0).astype(int)
    with pytest.raises(error, match=message):
        T.fit(model.fit(X, y), X, y)


def test_there_are_no_errors_of_groups():
    """The error names the measure and the way out."""
    _, X, eta = glm_data()
    model = LinearRegression().fit(X, eta)
    with pytest.raises(ValueError, match=r"CoefficientImportance has none\. Leave"):
        T.fit(model, X, eta, groups=np.arange(len(X)))


def test_subclasses_may_estimate_otherwise():
    """A penalised subclass of LinearRegression must not get a t."""

    class Shrunken(LinearRegression):
        """Half of the least squares coefficients."""

        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ *= 0.5
            return self

    X, y = regression_data()
    with pytest.raises(TypeError, match=says("Shrunken … statistic='standardized'")):
        T.fit(Shrunken().fit(X, y), X, y)


def test_unfitted_models():
    """Fit them first."""
    X, y = regression_data()
    for importance in (
        T,
        ConnectionWeightImportance(),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            importance.fit(LinearRegression(), X, y)


def test_too_few_rows():
    """As many coefficients as rows leave nothing to estimate errors from."""
    X, y = regression_data(4)
    with pytest.raises(
        ValueError,
        match=says("statistic='t' … got 4 rows and 4 coefficients … 'standardized'"),
    ):
        T.fit(LinearRegression().fit(X, y), X, y)
    wide = np.random.default_rng(0).normal(size=(5, 9))
    model = LinearRegression().fit(wide, np.arange(5.0))
    with pytest.raises(ValueError, match="got 5 rows and 10 coefficients"):
        T.fit(model, wide, np.arange(5.0))
    X, y = regression_data(30)
    weights = np.r_[np.ones(4), np.zeros(26)]  # rows of weight 0 do not count
    model = LinearRegression().fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="got 4 rows and 4"):
        T.fit(model, X, y, sample_weight=weights)


def test_other_data_than_the_training_data():
    """t of coefficients that do not belong to the data is refused."""
    X, y = regression_data(60)
    model = LinearRegression().fit(X, y)
    for other_X, other_y, weights in [
        (X[:30], y[:30], None),
        (X, y[::-1], None),
        (X + 5, y, None),
        (X, y, np.r_[np.ones(30), np.full(30, 0.01)]),
    ]:
        with pytest.raises(ValueError, match="not those of greatest likelihood"):
            T.fit(model, other_X, other_y, sample_weight=weights)


def test_a_solver_that_stopped_early_is_warned_about():
    """The distance bounds the error of every statistic, to first order."""
    X, y = regression_data(60)
    model = LinearRegression().fit(X, y)
    exact = T.fit(model, X, y).signed_importances_
    errors = T.fit(model, X, y).coefficient_errors_
    model.coef_[0] += 0.3 * errors[0, 0]
    with pytest.warns(
        ImportanceWarning, match=r"up to 0\.\d+ standard errors"
    ) as record:
        near = T.fit(model, X, y).signed_importances_

    assert record[0].filename == __file__
    assert_allclose(near[0] - exact[0], 0.3, atol=0.02)


def test_dropped_directions_are_noticed():
    """LinearRegression drops directions below its `tol`, here of a small column."""
    X, y = regression_data()
    X = X * [1e-9, 1.0, 1.0]
    model = LinearRegression().fit(X, y)
    assert model.rank_ < 3  # or this test tests nothing
    with pytest.raises(ValueError, match="dropped directions"):
        T.fit(model, X, y)
    model = LinearRegression(tol=0).fit(X, y)
    t = textbook_t(X / [1e-9, 1, 1], y)[0]
    assert_allclose(
        T.fit(model, X, y).signed_importances_[:, 0],
        t,
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, y: (None, y), says("statistic='t' … X … statistic='absolute'")),
        (lambda X, y: (X, None), says("statistic='t' … training target y")),
        (lambda X, y: (X, np.full(60, "a")), says("y … got labels … training target")),
        (lambda X, y: (X, np.c_[y, y]), "y has 2 outputs, but the estimator 1"),
        (lambda X, y: (X[:, :2], y), "X has 2 columns"),
        (lambda X, y: (np.where(X > 1200, np.nan, X), y), "X contains NaN"),
        (
            lambda X, y: (X.astype(str), y),
            says("X … numbers … the estimator was fitted with"),
        ),
        (lambda X, y: (X, y[:3]), "y has 3 rows"),
    ],
)
def test_bad_data(arguments, message):
    """Said before any work starts."""
    X, y = regression_data()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=message):
        T.fit(model, *arguments(X, y))


def test_no_residual_no_statistic():
    """A perfect fit, and a constant target."""
    X, _ = regression_data()
    for exact in (X @ [1.0, 2, 3] + 1, np.ones(60)):
        with pytest.raises(ValueError, match="without any residual"):
            T.fit(LinearRegression().fit(X, exact), X, exact)
    model = LinearRegression().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="y is constant"):
        CoefficientImportance(statistic="standardized").fit(model, X, np.ones(60))


def test_counts_without_residuals_have_a_wald_statistic():
    """Their variance is their mean; that of other targets would be 0.

    The log of the ratio of two Poisson means of ten rows, 2 and 6, has the variance
    1 / 20 + 1 / 60.
    """
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.where(X[:, 0] > 0, 6.0, 2.0)
    for model in (PoissonRegressor(alpha=0), GammaRegressor(alpha=0)):
        model.fit(X, y)
        model.intercept_, model.coef_ = np.log(2.0), np.array([np.log(3.0)])
        if isinstance(model, GammaRegressor):
            with pytest.raises(ValueError, match="without any residual"):
                T.fit(model, X, y)
            continue
        expected = np.log(3.0) / np.sqrt(1 / 20 + 1 / 60)
        assert_allclose(T.fit(model, X, y).importances_, expected, rtol=1e-12)


def test_unknown_class_and_parameter():
    """Labels that the classifier does not know, and a statistic that is none."""
    _, X, eta = glm_data()
    y = (eta + np.random.default_rng(0).logistic(size=150) > 0).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match=says("y … label 5 … [0, 1]")):
        T.fit(model, X, np.where(y, 5, 0))
    with pytest.raises(ValueError, match="'statistic' parameter"):
        CoefficientImportance(statistic="f").fit(model, X, y)
