"""Losses of boosted trees: minus their derivatives, and what the libraries minimise."""

import numpy as np
import pytest
from messages import says
from scipy.special import expit, huber, log_softmax, pseudo_huber, xlogy
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import (
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_log_error,
    mean_tweedie_deviance,
)
from sklearn.tree import DecisionTreeClassifier

from skvarimp._data.table import as_table
from skvarimp._measures.impurity.criteria import RESIDUALS, TreeLoss
from skvarimp._measures.impurity.rows import rows_in_trees
from skvarimp._models.forms import NotReadable

RANDOM = np.random.default_rng(0)
STEP = 1e-6
RAW = RANDOM.uniform(-1.5, 1.5, size=12)
NUMBERS = RAW + RANDOM.choice([-1.0, 1.0], 12) * RANDOM.uniform(0.1, 2.0, 12)
AMOUNTS = np.exp(NUMBERS)
SHARES = RANDOM.uniform(size=12)


def log_loss(y, raw, scale):
    """Of labels or shares y, by definition."""
    p = expit(scale * raw)
    return -xlogy(y, p) - xlogy(1 - y, 1 - p)


def each(metric):
    """A metric of scikit-learn, of one row at a time."""
    return lambda y, f: np.array([metric([a], [b]) for a, b in zip(y, f)])


# name -> parameter, y, and the loss, mostly of SciPy or scikit-learn
OF_NUMBERS = {
    "squared error": (1.0, NUMBERS, lambda y, f, _: (y - f) ** 2 / 2),
    "absolute error": (1.0, NUMBERS, lambda y, f, _: np.abs(y - f)),
    "relative error": (
        1.0,
        NUMBERS,
        lambda y, f, _: np.abs(y - f) / np.where(np.abs(y) < 1, 1.0, np.abs(y)),
    ),
    "huber": (0.7, NUMBERS, lambda y, f, d: huber(d, y - f)),
    "pseudo-huber": (0.7, NUMBERS, lambda y, f, d: pseudo_huber(d, y - f)),
    "fair": (
        0.7,
        NUMBERS,
        lambda y, f, c: c**2 * (abs(y - f) / c - np.log1p(abs(y - f) / c)),
    ),
    "quantile": (
        0.3,
        NUMBERS,
        lambda y, f, q: each(lambda a, b: mean_pinball_loss(a, b, alpha=q))(y, f),
    ),
    "expectile": (
        0.3,
        NUMBERS,
        lambda y, f, q: np.abs(q - (y < f)) * (y - f) ** 2 / 2,
    ),
    "log-cosh": (1.0, NUMBERS, lambda y, f, _: np.log(np.cosh(y - f))),
    "squared log error": (
        1.0,
        AMOUNTS,
        lambda y, f, _: each(mean_squared_log_error)(y, f) / 2,
    ),
    "poisson": (
        1.0,
        AMOUNTS,
        lambda y, f, _: each(mean_poisson_deviance)(y, np.exp(f)) / 2,
    ),
    "gamma": (
        1.0,
        AMOUNTS,
        lambda y, f, _: each(mean_gamma_deviance)(y, np.exp(f)) / 2,
    ),
    "tweedie": (
        1.3,
        AMOUNTS,
        lambda y, f, p: (
            each(lambda a, b: mean_tweedie_deviance(a, b, power=p))(y, np.exp(f)) / 2
        ),
    ),
    "log loss": (1.7, np.round(SHARES), log_loss),
    "log loss of shares": (1.7, SHARES, log_loss),
    "exponential": (
        0.6,
        np.round(SHARES),
        lambda y, f, s: np.exp(-s * np.where(y > 0, f, -f)),
    ),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_residuals_are_minus_the_derivatives(name):
    """Central differences of step h are off by some h^2 and rounding / h."""
    parameter, y, loss = OF_NUMBERS[name]
    raw = np.abs(RAW) if name == "squared log error" else RAW
    above, below = loss(y, raw + STEP, parameter), loss(y, raw - STEP, parameter)
    found = TreeLoss(name, parameter).residuals(y[np.newaxis], raw[np.newaxis])
    size = np.abs([above, below]).max() + np.abs(found).max()
    allowed = 100 * size * (STEP**2 + np.finfo(float).eps / STEP)
    np.testing.assert_allclose(found[0], (below - above) / (2 * STEP), atol=allowed)


@pytest.mark.parametrize("q", [0.3, 0.8])
def test_rows_at_a_quantile(q):
    """Where the loss has a corner, the slope is that of scikit-learn."""
    y = np.array([[-1.0, 0.0, 2.5]])
    model = HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=1)
    loss = model.fit(X, Y)._loss
    slope = loss.gradient(y_true=y[0], raw_prediction=y[0].copy())
    found = TreeLoss("quantile", q).residuals(y, y)
    np.testing.assert_allclose(found[0], -slope, rtol=1e-12)


def test_squared_logarithms_begin_a_millionth_above_minus_one():
    """As in XGBoost: smaller raw outputs count as that."""
    raw = np.array([[-5.0, -1.0, -1.0 + 5e-7]])
    found = TreeLoss("squared log error", 1.0).residuals(np.full((1, 3), 3.0), raw)
    expected = (np.log(4.0) - np.log(1e-6)) / 1e-6
    np.testing.assert_allclose(found, np.full((1, 3), expected), rtol=1e-9)


def several(name, parameter, loss):
    """The residuals of three classes, and differences of their loss."""
    codes = np.eye(3)[:, RANDOM.integers(3, size=12)]
    raw = RANDOM.normal(size=(3, 12))
    found = TreeLoss(name, parameter).residuals(codes, raw)
    for k in range(3):
        step = np.zeros((3, 1))
        step[k] = STEP
        slope = (loss(codes, raw - step) - loss(codes, raw + step)) / (2 * STEP)
        np.testing.assert_allclose(found[k], slope, atol=1e-8 * np.abs(slope).max())


def test_residuals_of_three_classes():
    """The softmax, and the exponential loss of Zhu et al. (2009)."""
    several("softmax", 1.0, lambda y, f: -np.sum(y * log_softmax(f, axis=0), axis=0))

    def exponential(y, f):
        codes = np.where(y == 1, 1.0, -0.5)
        return np.exp(-0.6 * np.sum(codes * f, axis=0))

    several("exponential", 0.6, exponential)


def test_every_loss_has_a_derivative_here():
    """None is left out; the Huber loss by a quantile of sizes becomes a plain one."""
    assert set(RESIDUALS) == {*OF_NUMBERS, "softmax", "huber at quantile"}
    y, raw = NUMBERS[np.newaxis], RAW[np.newaxis]
    settled = TreeLoss("huber at quantile", 0.8).settled(y, raw)
    corner = np.sort(np.abs(NUMBERS - RAW))[[8, 9]]  # 0.8 of 11 steps is 8.8
    assert settled.name == "huber"
    assert settled.parameter == pytest.approx(corner @ [0.2, 0.8], rel=1e-12)


# Two groups, and boosting without a penalty until nothing is left to gain.
N = 40
X = np.repeat([[0.0], [1.0]], N, axis=0)
OUTLIERS = np.where(np.arange(2 * N) % 7 == 0, 4.0, 0.0)
Y = RANDOM.normal(size=2 * N) + X[:, 0] + OUTLIERS
TWO, THREE = (Y > 1).astype(int), np.digitize(Y, [0.3, 1.3])
POSITIVE, BETWEEN = np.exp(Y / 3), expit(Y)
STEPS = {"n_estimators": 400, "learning_rate": 0.2, "max_depth": 1}
HIST = {"max_iter": 400, "learning_rate": 0.2, "max_depth": 1, "min_samples_leaf": 1}


def xgb(objective, y, kind="XGBRegressor", **more):
    """A model of XGBoost."""
    free = {"reg_lambda": 0.0, "min_child_weight": 0.0, "max_delta_step": 0.0}
    # few steps: single precision adds up the small ones at the end in vain
    free |= {"n_estimators": 60, "learning_rate": 0.3}
    how = {**STEPS, **free, "objective": objective, "n_jobs": 1, **more}
    return "xgboost", kind, how, y


def lgbm(objective, y, kind="LGBMRegressor", **more):
    """A model of LightGBM."""
    free = {"min_child_samples": 1, "min_sum_hessian_in_leaf": 0.0, "verbose": -1}
    return "lightgbm", kind, {**STEPS, **free, "objective": objective, **more}, y


def cat(loss, y, kind="CatBoostRegressor"):
    """A model of CatBoost."""
    free = {"l2_leaf_reg": 0.0, "random_strength": 0.0, "bootstrap_type": "No"}
    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    how = {"iterations": 400, "depth": 1, "learning_rate": 0.2, **free, **quiet}
    return "catboost", kind, {**how, "loss_function": loss}, y


def sk(kind, y, **how):
    """A model of scikit-learn."""
    return None, kind, how, y


CLASSIFIER = {"kind": "XGBClassifier"}
LIBRARIES = {
    "xgb squares": xgb("reg:squarederror", Y),
    "xgb log squares": xgb("reg:squaredlogerror", POSITIVE),
    "xgb absolute": xgb("reg:absoluteerror", Y),
    "xgb pseudo-Huber": xgb("reg:pseudohubererror", Y, huber_slope=0.5),
    "xgb quantile": xgb("reg:quantileerror", Y, quantile_alpha=0.3),
    "xgb tweedie": xgb("reg:tweedie", POSITIVE, tweedie_variance_power=1.3),
    "xgb poisson": xgb("count:poisson", POSITIVE),
    "xgb gamma": xgb("reg:gamma", POSITIVE),
    "xgb logistic": xgb("binary:logistic", TWO, **CLASSIFIER),
    "xgb softmax": xgb("multi:softprob", THREE, **CLASSIFIER),
    "lgbm squares": lgbm("regression", Y),
    "lgbm absolute": lgbm("regression_l1", Y),
    "lgbm Huber": lgbm("huber", Y, alpha=0.5),
    "lgbm fair": lgbm("fair", Y, fair_c=0.5),
    "lgbm quantile": lgbm("quantile", Y, alpha=0.3),
    "lgbm relative": lgbm("mape", Y),
    "lgbm poisson": lgbm("poisson", POSITIVE),
    "lgbm gamma": lgbm("gamma", POSITIVE),
    "lgbm tweedie": lgbm("tweedie", POSITIVE, tweedie_variance_power=1.3),
    "lgbm cross-entropy": lgbm("cross_entropy", BETWEEN),
    "lgbm logistic": lgbm("binary", TWO, kind="LGBMClassifier", sigmoid=2.0),
    "lgbm softmax": lgbm("multiclass", THREE, kind="LGBMClassifier"),
    "lgbm one-versus-rest": lgbm("multiclassova", THREE, kind="LGBMClassifier"),
    "cat squares": cat("RMSE", Y),
    "cat absolute": cat("MAE", Y),
    "cat quantile": cat("Quantile:alpha=0.3", Y),
    "cat expectile": cat("Expectile:alpha=0.3", Y),
    "cat Huber": cat("Huber:delta=0.5", Y),
    "cat log-cosh": cat("LogCosh", Y),
    "cat poisson": cat("Poisson", POSITIVE),
    "cat tweedie": cat("Tweedie:variance_power=1.3", POSITIVE),
    "cat logistic": cat("Logloss", TWO, "CatBoostClassifier"),
    "cat cross-entropy": cat("CrossEntropy", BETWEEN, "CatBoostClassifier"),
    "cat softmax": cat("MultiClass", THREE, "CatBoostClassifier"),
    "sklearn quantile": sk(
        GradientBoostingRegressor, Y, loss="quantile", alpha=0.3, **STEPS
    ),
    "sklearn logistic": sk(GradientBoostingClassifier, TWO, **STEPS),
    "sklearn exponential": sk(
        GradientBoostingClassifier, TWO, loss="exponential", **STEPS
    ),
    "sklearn softmax": sk(GradientBoostingClassifier, THREE, **STEPS),
    "hist poisson": sk(HistGradientBoostingRegressor, POSITIVE, loss="poisson", **HIST),
    "hist gamma": sk(HistGradientBoostingRegressor, POSITIVE, loss="gamma", **HIST),
    "hist quantile": sk(
        HistGradientBoostingRegressor, Y, loss="quantile", quantile=0.3, **HIST
    ),
    "hist absolute": sk(
        HistGradientBoostingRegressor, Y, loss="absolute_error", **HIST
    ),
    "hist logistic": sk(HistGradientBoostingClassifier, TWO, **HIST),
    "adaboost": sk(
        AdaBoostClassifier, TWO, estimator=DecisionTreeClassifier(max_depth=1)
    ),
}
JUMPS = ("absolute error", "relative error", "quantile")  # their sums jump at 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_ends_where_its_residuals_add_up_to_0(name):
    """In each group of equal rows, whose only prediction minimises the loss.

    Where residuals jump, the sum is within the jump of a row or two of 0. Elsewhere
    libraries stop at about half a hundredth of the sum of the sizes.
    """
    library, kind, how, y = LIBRARIES[name]
    if library is not None:
        kind = getattr(pytest.importorskip(library), kind)
    model = kind(**how).fit(X, y)
    rows = rows_in_trees(model, as_table(X), y, np.ones(len(X)))
    raw = rows.form.scores(as_table(X))
    loss = rows.loss.settled(rows.y, raw)
    residuals = loss.residuals(rows.y, raw)
    assert np.ptp(residuals) > 0
    for of_group in (residuals[:, :N], residuals[:, N:]):
        jump = 1.5 if loss.name in JUMPS else 0.0
        allowed = jump * np.ptp(of_group) + 0.01 * np.abs(of_group).sum(axis=1)
        assert np.all(np.abs(of_group.sum(axis=1)) <= allowed)


def test_unknown_losses():
    """They are refused by name."""
    with pytest.raises(NotReadable, match=says("residuals … hinge")):
        TreeLoss("hinge", 1.0)
