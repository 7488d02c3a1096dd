"""Support vector machines with the weighted degree kernel as oligomer weights."""

import functools

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from skvarimp._running.guards import warn
from skvarimp.sequence._kernel import (
    check_kernel_parameters,
    inverse_norms,
    kernel_of_letters,
    order_weights,
    self_kernel,
    shift_weights,
    weighted_degree_kernel,
)
from skvarimp.sequence._sequences import (
    check_alphabet,
    check_codes_fit,
    check_unknown,
    encode,
    iterate_codes,
)

MACHINES = (SVC, NuSVC, OneClassSVM, SVR, NuSVR)

_DEFAULTS = {
    "degree": None,
    "shift": 0,
    "normalize": True,
    "alphabet": "ACGT",
    "unknown": "error",
}
_N_PROBES = 8  # sequences on which a machine's own scores are compared
_N_MARGINS = 200  # free support vectors whose margin is looked at
_AGREEMENT = 1e-8  # of the size of what is summed


def unfold_machine(machine, X, settings, sample_weight):
    """A fitted machine as the arguments of `OligomerWeights`.

    Parameters
    ----------
    machine : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted.
    X : sequence of str or None
        Its training sequences.
    settings : dict
        Parameters of the kernel, the defaults where the user said nothing.
    sample_weight : array-like or None
        What it was fitted with.

    Returns
    -------
    dict
        Tables, intercept, alphabet and unknown, checked against the machine where that
        is possible.
    """
    settings = _kernel_settings(machine, settings)
    degree, shift, normalize = (settings[k] for k in ("degree", "shift", "normalize"))
    alphabet = check_alphabet(settings["alphabet"])
    check_unknown(settings["unknown"])
    if X is None:
        raise ValueError(
            f"{type(machine).__name__} needs X, the sequences it was fitted on, in "
            "their order."
        )
    letters = encode(X, alphabet, unknown=settings["unknown"])
    length, n_letters = letters.shape[1], len(alphabet)
    check_kernel_parameters(degree, shift, normalize, length)
    check_codes_fit("degree", degree, n_letters, length)
    if len(letters) != machine.shape_fit_[0]:
        raise ValueError(
            f"X has {len(letters)} sequences, but {type(machine).__name__} was fitted "
            f"on {machine.shape_fit_[0]}. Pass the training sequences in their order."
        )
    if machine.dual_coef_.shape[0] > 1:
        raise ValueError(
            f"{type(machine).__name__} has {len(machine.classes_)} classes; oligomer "
            "weights are of one score. Fit one class against the rest."
        )

    def kernel(rows, columns):
        return kernel_of_letters(
            letters[rows], letters[columns], n_letters, degree, shift, normalize
        )

    _check_kernel(machine, X, kernel, sample_weight)
    dual = machine.dual_coef_[0].astype(np.float64)
    if normalize:
        scale = inverse_norms(self_kernel(letters, degree, shift))
        # of the sequence scored: the mean over X, exact where it is one constant
        mean_scale = scale.sum() / max(np.count_nonzero(scale), 1)
        dual = dual * scale[machine.support_] * mean_scale
    tables = _sum_of_windows(letters[machine.support_], dual, n_letters, degree, shift)
    return {
        "tables": tables,
        "intercept": machine.intercept_[0],
        "alphabet": alphabet,
        "unknown": settings["unknown"],
    }


def _kernel_settings(machine, settings):
    """The kernel's parameters, from the machine's own kernel where it names them."""
    kernel = machine.kernel
    if isinstance(kernel, str) and kernel != "precomputed":
        raise TypeError(
            f"{type(machine).__name__} has kernel={kernel!r}, not the weighted degree "
            "kernel. Use kernel='precomputed' or "
            "functools.partial(weighted_degree_kernel, degree=...)."
        )
    named = {}
    if isinstance(kernel, functools.partial) and kernel.func is weighted_degree_kernel:
        named = kernel.keywords
    for name, value in settings.items():
        if name in named and value != _DEFAULTS[name] and value != named[name]:
            raise ValueError(
                f"`{name}` must be {named[name]!r}, as in the estimator's kernel, got "
                f"{value!r}. Leave it out."
            )
    settings = settings | named
    if settings["degree"] is None:
        raise ValueError(
            "`degree` must be given for this kernel, got None. Pass the kernel's "
            "parameters to OligomerWeights.from_estimator."
        )
    return settings


def _sum_of_windows(letters, dual, n_letters, degree, shift):
    """Sum of dual coefficients times the kernel's features, by order.

    w_k = beta_k D_k sum_i alpha_i Phi_k(x_i): section 1 of the FIRM paper, with the
    windows spread over the positions that the shift reaches.
    """
    beta = order_weights(degree)
    tables = {}
    for order, codes in iterate_codes(letters, n_letters, degree):
        n_positions = codes.shape[1]
        row, position = np.nonzero(codes >= 0)
        summed = sparse.coo_array(
            (dual[row], (position, codes[row, position])),
            shape=(n_positions, n_letters**order),
        ).tocsr()
        offsets, values = zip(*shift_weights(shift, n_positions))
        reach = sparse.diags_array(
            values, offsets=offsets, shape=(n_positions, n_positions)
        )
        tables[order] = beta[order - 1] * (reach.tocsr() @ summed)
    return tables


# Was the machine fitted with this kernel?


def _check_kernel(machine, X, kernel, sample_weight):
    """Raise where the machine contradicts the kernel, warn where it cannot tell."""
    if callable(machine.kernel):
        _compare_scores(machine, X, kernel)
    elif machine.fit_status_ != 0:
        _warn_unchecked(machine, "the solver stopped before it converged")
    elif isinstance(machine, SVR | NuSVR):
        _warn_unchecked(machine, "a regressor's margins depend on y")
    elif not _compare_margins(machine, kernel, sample_weight):
        _warn_unchecked(machine, "it has no free support vectors")


def _compare_scores(machine, X, kernel):
    """A machine that holds its kernel can be asked for its own scores."""
    rows = _spread(np.arange(len(X)), _N_PROBES)
    sequences = np.array([str(sequence) for sequence in X])[rows]
    regressor = isinstance(machine, SVR | NuSVR)
    own = machine.predict if regressor else machine.decision_function
    difference = _scores(machine, kernel, rows) - own(sequences)
    size = 1 + np.abs(machine.dual_coef_).sum() * kernel(rows, rows).max()
    if np.abs(difference).max() > _AGREEMENT * size:
        raise ValueError(
            _wrong_kernel(machine, "its own scores", np.abs(difference).max())
        )


def _compare_margins(machine, kernel, sample_weight):
    """A precomputed kernel shows in the margins of the free support vectors only.

    False where there are none to look at.
    """
    free, sign, target = _free_support(machine, sample_weight)
    if len(free) == 0:
        return False
    chosen = _spread(free, _N_MARGINS)
    rows = kernel(machine.support_[chosen], machine.support_)
    margins = sign[chosen] * (rows @ machine.dual_coef_[0] + machine.intercept_[0])
    violation = np.abs(margins - target).max()
    if violation > _margin_tolerance(machine, rows):
        raise ValueError(
            _wrong_kernel(machine, "the margins of its free support vectors", violation)
        )
    return True


def _scores(machine, kernel, rows):
    """Kernel expansion at training sequences, eq. (2) of the FIRM paper."""
    expansion = kernel(rows, machine.support_) @ machine.dual_coef_[0]
    return expansion + machine.intercept_[0]


def _free_support(machine, sample_weight):
    """Support vectors strictly below their bound, their sign, and their margin."""
    dual = machine.dual_coef_[0]
    sign = np.where(dual > 0, 1.0, -1.0)
    weight = np.ones(len(dual))
    if sample_weight is not None:
        weight = _check_weight(machine, sample_weight)[machine.support_]
    if isinstance(machine, SVC):
        bound = machine.C * machine.class_weight_[(dual > 0).astype(int)] * weight
    else:  # one bound for each sign, attained by some support vector if by any
        bound = np.empty(len(dual))
        for side in (sign > 0, sign < 0):
            bound[side] = weight[side] * np.max(np.abs(dual / weight)[side], initial=0)
    free = np.flatnonzero(np.abs(dual) < bound * (1 - 1e-8))
    target = 0.0 if isinstance(machine, OneClassSVM) else 1.0
    return free, sign, target


def _check_weight(machine, sample_weight):
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (machine.shape_fit_[0],) or not np.all(weight > 0):
        raise ValueError(
            f"`sample_weight` must have shape ({machine.shape_fit_[0]},) and be "
            f"positive, got shape {weight.shape} and minimum {weight.min():g}. Fit "
            f"{type(machine).__name__} without the rows of weight 0. With a "
            "precomputed kernel scikit-learn leaves them out when it numbers the "
            "support vectors."
        )
    return weight


def _margin_tolerance(machine, rows):
    """Twice the solver's tolerance, and the single precision of its kernel cache."""
    rounding = np.finfo(np.float32).eps * (rows @ np.abs(machine.dual_coef_[0])).max()
    scale = 1.0
    if isinstance(machine, NuSVC):  # solved with duals up to 1, rescaled afterwards
        scale = max(1.0, np.abs(machine.dual_coef_).max())
    return 2 * machine.tol * scale + rounding


def _wrong_kernel(machine, what, deviation):
    return (
        f"{type(machine).__name__} was not fitted with this kernel on these sequences: "
        f"{what} differ from it by up to {deviation:.3g}. Check degree, shift, "
        "normalize, alphabet, the order of X and, if the model was fitted with "
        "weights, sample_weight."
    )


def _warn_unchecked(machine, reason):
    warn(
        f"Whether {type(machine).__name__} was fitted with this kernel could not be "
        f"checked: {reason}."
    )


def _spread(indices, number):
    """At most `number` of the indices, evenly spread."""
    if len(indices) <= number:
        return indices
    return indices[np.linspace(0, len(indices) - 1, number).astype(int)]
