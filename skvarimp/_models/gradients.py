"""Derivatives of a model's response, and which models are linear or piecewise constant.

`gradient(model, X)` differentiates the model's form, after comparing it with the
model's own output. It takes central differences where the form has no gradient.
"""

import numpy as np

from skvarimp._data.base_table import dense, spread_over
from skvarimp._data.statistics import divided
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import BehindSteps, NotReadable, numbers
from skvarimp._models.links import IDENTITY, NoGradient, PiecewiseConstant
from skvarimp._models.model import Model, is_exactly
from skvarimp._models.registry import read, unwrapped
from skvarimp._models.transformers import affine
from skvarimp._running.guards import users_code, warn
from skvarimp._running.memory import at_once, call_slices, even_slices
from skvarimp.exceptions import ResponseWarning

PROBE_ROWS = 5


def gradient(model, X, *, steps=None):
    """Partial derivatives of a model's response at rows.

    result[i, j, o] = d response_o / d x_j at row i

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)
        Rows in a container the model takes.
    steps : array-like of shape (n_features,), default=None
        Steps of a central difference; None: those of `central_steps`.

    Returns
    -------
    ndarray of shape (n_samples, n_columns, n_outputs)
        Analytic where the model's form has a gradient, else central differences. A
        model linear in X gives a read-only view of one row.

    Raises
    ------
    ValueError
        Where a column has values that are not finite numbers.

    Notes
    -----
    `gradient_blocks` gives the same block by block, in bounded memory. Kinks (ReLU at
    0) get one of the one-sided derivatives. Cost: analytic about that of one
    prediction times the number of features; else 2 n_columns predictions per row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp._models.gradients import gradient
    >>> from skvarimp._models.model import Model
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> model = Model(LinearRegression().fit(X, [1.0, 3.0, 4.0]))
    >>> gradient(model, X)[0].round(6).tolist()
    [[2.0], [3.0]]
    """
    blocks = [block for _, block in gradient_blocks(model, X, steps=steps)]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def gradient_blocks(model, X, *, columns=None, steps=None):
    """`gradient` by some columns, over blocks of rows.

    Parameters
    ----------
    model, X, steps : see `gradient`
    columns : sequence of int, default=None
        Columns to differentiate by; None: all.

    Yields
    ------
    rows : slice
    block : ndarray of shape (n_rows, n_columns, n_outputs)
    """
    table = as_table(X)
    columns = np.arange(table.n_columns) if columns is None else np.asarray(columns)
    try:
        form = differentiable(model, table)
    except NoGradient:
        yield from central_blocks(model, table, columns, steps)
        return
    everything = np.array_equal(columns, np.arange(table.n_columns))
    step = at_once(form.elements_per_row, np.inf, arrays=1)
    for rows in even_slices(table.n_samples, step):
        part = table.take(np.arange(rows.start, rows.stop))
        _, slopes = form.gradient(part.native)
        block = np.moveaxis(slopes, 0, -1)
        yield rows, block if everything else block[:, columns]


def differentiable(model, X):
    """The form that gives a model's gradient, compared with the model at some rows.

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)

    Returns
    -------
    Form

    Raises
    ------
    NoGradient
        With the reason: `PiecewiseConstant` where the derivative is 0 wherever there
        is one. A ResponseWarning comes first if the form's outputs differ from the
        model's own.
    """
    table = as_table(X)
    name = type(model.estimator).__name__
    if model.kind == "label":
        raise PiecewiseConstant(f"predict of {name} gives labels")
    rows = spread_over(table.n_samples, PROBE_ROWS)
    probed = table.take(rows)
    try:
        form = read(model, probed)
    except NotReadable as declined:
        form = _trees_behind(model, probed)
        if form is None or not form.piecewise_constant:
            raise NoGradient(str(declined)) from None
    if form.piecewise_constant and not form.constant:
        raise PiecewiseConstant(f"the prediction of {name} is piecewise constant")
    outputs, slopes = form.gradient(probed.native)
    own = model(probed.copy()).T
    # Coefficients in single precision predict in single precision.
    tolerance = 1e-4 if form.single else 1e-8
    same_shape = outputs.shape == own.shape
    gap = np.abs(outputs - own).max() if same_shape else np.inf
    # terms that cancel are larger than their sum, and so is their rounding
    terms = (np.abs(slopes) * np.abs(dense(numbers(probed)))).sum(axis=-1).max()
    size = max(np.abs(own).max(), terms, 1e-300)
    if gap <= tolerance * size:
        return form
    warn(
        f"The formula for {name} differs from its own {model.method} by {gap:.3g}; "
        "central differences are used.",
        ResponseWarning,
    )
    raise NoGradient(f"the formula for {name} failed its comparison with the model")


def _trees_behind(model, table):
    """The form of trees behind a pipeline's steps that mix columns, or None."""
    estimator = unwrapped(model.estimator)
    in_pipeline = is_exactly(estimator, "sklearn.pipeline", "Pipeline")
    if not in_pipeline:
        return None
    with users_code():
        behind = as_table(estimator[:-1].transform(table.copy()))
    try:
        return read(Model(estimator[-1], model.method), behind)
    except NotReadable:
        return None


def linear_coefficients(model, X):
    """Coefficients of a response that is linear in X, or None where it is not.

    response(x) = coef @ x + intercept

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)
        Rows to compare the coefficients with the model at.

    Returns
    -------
    None, or (coef, intercept)
        Shapes (n_outputs, n_features) and (n_outputs,).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp._models.gradients import linear_coefficients
    >>> from skvarimp._models.model import Model
    >>> X = [[0.0], [1.0]]
    >>> model = LinearRegression().fit(X, [1.0, 3.0])
    >>> coef, intercept = linear_coefficients(Model(model), X)
    >>> coef.round(6).tolist(), intercept.round(6).tolist()
    ([[2.0]], [1.0])
    """
    table = as_table(X)
    try:
        form = _linear_part(differentiable(model, table), table.n_columns)
    except NoGradient:
        return None
    if form is None or form.link is not IDENTITY:
        return None
    return form.weights.T, form.intercept


def _linear_part(form, n_columns):
    """The linear `Additive` form that a form of n_columns columns is, or None.

    Affine steps in front are multiplied in. Layers are never linear here, even without
    a bend: their coefficients are products of weights. Other steps raise NotAffine.
    """
    if isinstance(form, BehindSteps):
        steps = affine(form.steps, n_columns)
        inner = _linear_part(form.form, steps.matrix.shape[1])
        return None if inner is None else inner.after(steps)
    return form if isinstance(form, Additive) and not form.parts else None


def piecewise_constant(model, X):
    """Why a response is known to have derivative 0 wherever it has one, or None.

    Parameters
    ----------
    model : Model
    X : {array, frame, sparse, Table} of shape (n_samples, n_features)

    Returns
    -------
    str or None
    """
    try:
        differentiable(model, X)
    except PiecewiseConstant as reason:
        return str(reason)
    except NoGradient:
        pass
    return None


STEP = 1e-5  # of a central difference, in standard deviations of the column
STEPS = STEP * 10.0 ** np.arange(5)  # tried where the response is not so precise
STEP_ROWS = 20  # that they are tried at
SMOOTH = 1e-3  # share of the slope by which differences over h and 2h may differ
DOUBTFUL = 0.1  # of such shares
LEAST_SLOPE = 1e-3  # that matters, in standard deviations of response and column


def central_steps(model, table, columns):
    """Steps of the central differences, and by how much these cannot be trusted.

    Rounding or noise of size e makes an error of about e / h, and curvature one of
    about h^2. Differences over h and 2h show both. The step is the smallest of 1e-5,
    1e-4, ..., 0.1 standard deviations of the column at which they agree to 0.1% at
    some rows: 1e-5 for a smooth response in double precision. Otherwise it is the one
    at which they agree best.

    Parameters
    ----------
    model : Model
    table : Table
    columns : sequence of int

    Returns
    -------
    steps : ndarray of shape (n_features,)
        In units of the columns; 0 for columns not asked for.
    gaps : ndarray of shape (n_features,)
        Mean difference between the slopes over h and 2h, as a share of the mean slope,
        in the worst output.
    """
    steps, gaps = np.zeros((2, table.n_columns))
    rows = spread_over(table.n_samples, STEP_ROWS)
    spread = model(table.take(rows).native).std(axis=0)
    for j in columns:
        values = table.column(j)
        if values.dtype.kind not in "fbiu" or not np.all(np.isfinite(values)):
            raise ValueError(
                f"Feature {table.column_names()[j]!r} has values that are not finite "
                "numbers, so the prediction has no derivative by it."
            )
        numbers = values.astype(np.float64)
        largest = np.abs(numbers).max()
        deviation = numbers.std() if numbers.min() < numbers.max() else 0.0
        unit = deviation or largest or 1.0
        # values far from 0 with little spread: a step that does not round away
        least = 8 * np.spacing(_precision(values)(largest))
        tried = np.maximum(STEPS * unit, least)
        least_slope = LEAST_SLOPE * spread / unit
        steps[j], gaps[j] = _step(model, table, rows, j, tried, least_slope)
    return steps, gaps


def _step(model, table, rows, j, steps, least_slope):
    """The step of one column and its gap; see `central_steps`.

    The smallest where no step is good and that one shows no change: the response is
    then likely to be piecewise constant, and has derivative 0.
    """
    gaps = np.full(len(steps), np.nan)  # where nothing changes
    for i, step in enumerate(steps):
        try:
            near, far = _slopes(model, table, rows, j, [step, 2 * step])
        except (ValueError, FloatingPointError):  # no response so far from a row
            break
        sizes = np.abs([near, far]).mean(axis=1).max(axis=0)
        if sizes.any():
            gap = np.abs(far - near).mean(axis=0)
            gaps[i] = divided(gap, np.maximum(sizes, least_slope)).max()
        if gaps[i] <= SMOOTH:
            return step, gaps[i]
    if np.isnan(gaps).all():
        return steps[0], 0.0
    best = np.nanargmin(gaps)
    constant = np.isnan(gaps[0]) and gaps[best] > DOUBTFUL
    return steps[0 if constant else best], gaps[best]


def central_blocks(model, table, columns, steps=None):
    """(f(x + h e_j) - f(x - h e_j)) / 2h, one call of the model a block and column.

    Parameters
    ----------
    model : Model
    table : Table
    columns : sequence of int
    steps : ndarray of shape (n_features,), default=None
        None: `central_steps`.

    Yields
    ------
    rows : slice
    block : ndarray of shape (n_rows, n_columns, n_outputs)
    """
    if steps is None:
        steps, _ = central_steps(model, table, columns)
    blocks = call_slices(table.n_samples, table.n_columns, len(columns), rows_each=2)
    for rows in blocks:
        at = np.arange(rows.start, rows.stop)
        slopes = [_slopes(model, table, at, j, [steps[j]])[0] for j in columns]
        yield rows, np.stack(slopes, axis=1)


def _slopes(model, table, rows, j, steps):
    """Central differences by column j over steps, (n_steps, n_rows, n_outputs)."""
    values = table.column(j)[rows]
    moved = np.stack([[_stored(values, h), _stored(values, -h)] for h in steps])
    positions = np.tile(rows, 2 * len(steps))
    X = table.moved(positions, (int(j),), values=moved.reshape(-1, 1))
    f = model(X, where=f"next to a row, as column {j} moves by {max(steps):.3g}")
    f = f.reshape(*moved.shape, -1)
    # Divided by the step that rounding left, not by the step asked for.
    return (f[:, 0] - f[:, 1]) / (moved[:, 0] - moved[:, 1])[..., np.newaxis]


def _stored(values, step):
    """Moved values as float64, rounded as a column of single precision stores them."""
    moved = values.astype(np.float64) + step
    return moved.astype(_precision(values)).astype(np.float64)


def _precision(values):
    return np.float32 if values.dtype == np.float32 else np.float64
