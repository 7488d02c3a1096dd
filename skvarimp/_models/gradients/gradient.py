"""Derivatives of a model's response, and which models are linear or piecewise constant.

`gradient(model, X)` is analytic for the types in `FORMULAS` (the exact type, never a
base class: a subclass may predict otherwise) after a comparison with the model's own
output, and a central difference for every other model.
"""

import sys

import numpy as np
from scipy import sparse

from skvarimp._data.table import as_table
from skvarimp._models.gradients.central_differences import central_blocks, row_slices
from skvarimp._models.gradients.formulas import Linear, NoFormula, Scaled, linear_model
from skvarimp._models.gradients.kernels import (
    gaussian_process,
    kernel_ridge,
    support_vectors,
)
from skvarimp._models.gradients.networks import perceptron
from skvarimp._running.warn import warn
from skvarimp.exceptions import ResponseWarning

PROBE_ROWS = 5


def gradient(model, X, *, columns=None, steps=None):
    """Partial derivatives of a model's response at rows.

    result[i, j, o] = d response_o / d x_columns[j] at row i

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)
        Rows in a container the model takes.
    columns : sequence of int, default=None
        Columns to differentiate by; None: all.
    steps : array-like of shape (n_features,), default=None
        Steps of a central difference; None: 1e-5 standard deviations of each column
        of X (of its magnitude, or 1, where it is constant).

    Returns
    -------
    ndarray of shape (n_samples, n_columns, n_outputs)
        Analytic where the model's type has a formula, else central differences. A
        model linear in X gives a read-only view of one row.

    Raises
    ------
    ValueError
        Where a column has values that are not finite numbers.

    Notes
    -----
    `gradient_blocks` gives the same block by block, in bounded memory. Kinks (ReLU at
    0) get one of the one-sided derivatives. Cost: analytic about that of one
    prediction times the number of features; else 2 n_columns predictions a row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp._models.gradients.gradient import gradient
    >>> from skvarimp._models.model import Model
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> model = Model(LinearRegression().fit(X, [1.0, 3.0, 4.0]))
    >>> gradient(model, X)[0].round(6).tolist()
    [[2.0], [3.0]]
    """
    blocks = [
        block for _, block in gradient_blocks(model, X, columns=columns, steps=steps)
    ]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def gradient_blocks(model, X, *, columns=None, steps=None):
    """`gradient` over blocks of rows.

    Parameters
    ----------
    model, X, columns, steps : see `gradient`

    Yields
    ------
    rows : slice
    block : ndarray of shape (n_rows, n_columns, n_outputs)
    """
    table = as_table(X)
    columns = np.arange(table.n_columns) if columns is None else np.asarray(columns)
    try:
        formula = formula_of(model, table)
    except NoFormula:
        yield from central_blocks(model, table, columns, steps)
        return
    for rows in row_slices(table.n_samples, formula.elements_per_row):
        _, block = formula.score_and_gradient(dense_rows(table, rows))
        yield rows, block if len(columns) == table.n_columns else block[:, columns]


def formula_of(model, X):
    """The formula of a model's response, compared with the model at some rows.

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)

    Returns
    -------
    formula : object
        score_and_gradient(X), X a dense block of rows, gives (n_rows, n_outputs) and
        (n_rows, n_features, n_outputs); `elements_per_row` is what a row costs.

    Raises
    ------
    NoFormula
        With the reason; after a ResponseWarning if the formula's scores differ from
        the model's own.
    """
    table = as_table(X)
    formula = unchecked_formula(model.estimator, model.method)
    rows = np.unique(np.linspace(0, table.n_samples - 1, PROBE_ROWS).astype(int))
    probed = table.take(rows)
    own = model(probed.native)
    score, _ = formula.score_and_gradient(dense_rows(probed))
    # Coefficients in single precision predict in single precision.
    tolerance = 1e-4 if formula.single_precision else 1e-8
    if score.shape == own.shape:
        gap = np.abs(score - own).max()
        if gap <= tolerance * max(np.abs(own).max(), formula.magnitude):
            return formula
        difference = f"by {gap:.3g}"
    else:
        difference = f"in shape: {score.shape} against {own.shape}"
    name = type(model.estimator).__name__
    warn(
        f"The formula for {name} differs from its own {model.method} {difference}; "
        "central differences are used.",
        ResponseWarning,
    )
    raise NoFormula(f"the formula for {name} failed its comparison with the model")


def unchecked_formula(estimator, method):
    """The formula of an estimator's response method by its exact type, or NoFormula."""
    name = type(estimator).__name__
    if method in vars(estimator):
        raise NoFormula(f"{method} of this instance was replaced")
    if is_exactly(estimator, "sklearn.pipeline", "Pipeline"):
        return _pipeline_formula(estimator, method)
    for package, names, read in FORMULAS:
        if name in names.split() and is_exactly(estimator, package, name):
            return read(estimator, method)
    raise NoFormula(f"{name} has no formula")


# The only list of models with an analytic gradient: package, types, reader.
FORMULAS = [
    (
        "sklearn.linear_model",
        "ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
        "HuberRegressor Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC "
        "LinearRegression LogisticRegression LogisticRegressionCV MultiTaskElasticNet "
        "MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV Perceptron "
        "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV PoissonRegressor "
        "PassiveAggressiveClassifier PassiveAggressiveRegressor QuantileRegressor "
        "Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor "
        "TheilSenRegressor TweedieRegressor",
        linear_model,
    ),
    ("sklearn.svm", "LinearSVC LinearSVR", linear_model),
    ("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis", linear_model),
    ("sklearn.svm", "NuSVC NuSVR OneClassSVM SVC SVR", support_vectors),
    ("sklearn.kernel_ridge", "KernelRidge", kernel_ridge),
    ("sklearn.gaussian_process", "GaussianProcessRegressor", gaussian_process),
    ("sklearn.neural_network", "MLPClassifier MLPRegressor", perceptron),
]


def is_exactly(estimator, package, name):
    """Whether an object's type is the one a package exports under a name."""
    module = sys.modules.get(package)  # not imported: no instance can exist
    return module is not None and getattr(module, name, None) is type(estimator)


def linear_coefficients(model, X=None):
    """Coefficients of a response that is linear in X, or None where it is not.

    response(x) = coef @ x + intercept

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features), default=None
        Rows to compare the coefficients with the model at; None: no comparison.

    Returns
    -------
    None, or (coef, intercept)
        Shapes (n_outputs, n_features) and (n_outputs,).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp._models.gradients.gradient import linear_coefficients
    >>> from skvarimp._models.model import Model
    >>> model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> coef, intercept = linear_coefficients(Model(model))
    >>> coef.round(6).tolist(), intercept.round(6).tolist()
    ([[2.0]], [1.0])
    """
    try:
        if X is None:
            formula = unchecked_formula(model.estimator, model.method)
        else:
            formula = formula_of(model, X)
    except NoFormula:
        return None
    return formula.linear_coefficients()


# Types whose response jumps between constants; those that combine others of such a
# kind, with the attribute that holds them.
PIECEWISE_CONSTANT = [
    (
        "sklearn.tree",
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
        "ExtraTreeRegressor",
    ),
    (
        "sklearn.ensemble",
        "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier "
        "GradientBoostingRegressor HistGradientBoostingClassifier IsolationForest "
        "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor",
    ),
    ("sklearn.dummy", "DummyClassifier DummyRegressor"),
]
UNIFORM_NEIGHBOURS = (
    "KNeighborsClassifier KNeighborsRegressor RadiusNeighborsClassifier "
    "RadiusNeighborsRegressor"
)
COMBINING = [
    ("sklearn.ensemble", "AdaBoostClassifier AdaBoostRegressor", "estimators_"),
    ("sklearn.ensemble", "BaggingClassifier BaggingRegressor", "estimators_"),
    ("sklearn.ensemble", "VotingClassifier VotingRegressor", "estimators_"),
    ("sklearn.multioutput", "MultiOutputRegressor", "estimators_"),
    ("sklearn.model_selection", "GridSearchCV RandomizedSearchCV", "best_estimator_"),
]


def piecewise_constant(model):
    """Why a response has derivative 0 wherever it has one, or None if not known to.

    Parameters
    ----------
    model : Model

    Returns
    -------
    str or None
    """
    if model.kind == "label":
        return f"predict of {type(model.estimator).__name__} gives labels"
    if _jumps(model.estimator):
        return f"the response of {type(model.estimator).__name__} is piecewise constant"
    return None


def never_has_slope(estimator):
    """Whether an estimator, fitted or not, is known to be piecewise constant."""
    try:
        return _jumps(estimator)
    except AttributeError:  # it shows once its parts are fitted
        return False


def _jumps(estimator):
    name = type(estimator).__name__
    if is_exactly(estimator, "sklearn.pipeline", "Pipeline"):
        return _jumps(estimator.steps[-1][1])
    if name in UNIFORM_NEIGHBOURS.split():
        return (
            is_exactly(estimator, "sklearn.neighbors", name)
            and estimator.weights in ("uniform", None)  # distances make it vary
        )
    for package, names in PIECEWISE_CONSTANT:
        if name in names.split() and is_exactly(estimator, package, name):
            return True
    for package, names, attribute in COMBINING:
        if name in names.split() and is_exactly(estimator, package, name):
            members = getattr(estimator, attribute)
            members = members if isinstance(members, list) else [members]
            return all(_jumps(member) for member in members)
    return False


def _pipeline_formula(pipeline, method):
    """Column-wise affine steps in front of a model: the chain rule."""
    scale, shift = 1.0, 0.0
    for _, step in pipeline.steps[:-1]:
        factor, offset = _affine(step)
        scale, shift = factor * scale, factor * shift + offset
    inner = unchecked_formula(pipeline.steps[-1][1], method)
    if np.ndim(scale) == np.ndim(shift) == 0:  # every step passes X through
        return inner
    return Scaled(inner, scale, shift)


def _affine(step):
    """A fitted column-wise step as x * factor + offset."""
    if step is None or step == "passthrough":
        return 1.0, 0.0
    preprocessing = "sklearn.preprocessing"
    if is_exactly(step, preprocessing, "StandardScaler"):
        factor = 1.0 if step.scale_ is None else 1.0 / step.scale_
        return factor, -step.mean_ * factor if step.with_mean else 0.0
    if is_exactly(step, preprocessing, "MinMaxScaler") and not step.clip:
        return step.scale_, step.min_
    if is_exactly(step, preprocessing, "MaxAbsScaler") and not step.clip:
        return 1.0 / step.scale_, 0.0
    if is_exactly(step, preprocessing, "RobustScaler"):
        factor = 1.0 / step.scale_ if step.with_scaling else 1.0
        return factor, -step.center_ * factor if step.with_centering else 0.0
    raise NoFormula(f"the step {type(step).__name__} has no formula")


def dense_rows(table, rows=None):
    """Rows of a numeric table as a float64 array."""
    if rows is not None and not (rows.start == 0 and rows.stop == table.n_samples):
        table = table.take(np.arange(rows.start, rows.stop))
    X = table.numeric()
    if X is None:
        raise NoFormula("X has columns that are not numbers")
    return X.toarray() if sparse.issparse(X) else X


__all__ = [
    "Linear",
    "NoFormula",
    "central_blocks",
    "formula_of",
    "gradient",
    "gradient_blocks",
    "linear_coefficients",
    "never_has_slope",
    "piecewise_constant",
]
