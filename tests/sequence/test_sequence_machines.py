"""Weights of oligomers from kernel machines, and whether it is their kernel."""

import functools
import warnings

import numpy as np
import pytest
from combinations import each
from literal_sequence import kernel
from messages import says
from sequence_machines import LENGTH, data, fitted, fresh
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from skvarimp.exceptions import ImportanceWarning
from skvarimp.sequence import OligomerWeights, weighted_degree_kernel

# degree, shift, normalize
KERNELS = [
    (3, 0, True),
    (3, 0, False),
    (3, 2, False),
    (LENGTH, 1, False),
    (1, 20, False),
]


@pytest.mark.parametrize(
    ("machine", "kernel"),
    each([SVC(C=2.0), NuSVC(nu=0.3), OneClassSVM(nu=0.4)], KERNELS),
    ids=str,
)
def test_machines_on_a_precomputed_kernel(machine, kernel):
    """Exact without normalisation or without shift, and no warning."""
    degree, shift, normalize = kernel
    machine, X = fitted(machine, degree, shift, normalize)
    kernel_of = dict(degree=degree, shift=shift, normalize=normalize)

    with warnings.catch_warnings():
        if degree < LENGTH:  # in so large a space no support vector may be free
            warnings.simplefilter("error")
        else:
            warnings.simplefilter("ignore", ImportanceWarning)
        weights = OligomerWeights.from_estimator(machine, X, **kernel_of)

    own = machine.decision_function(weighted_degree_kernel(fresh(), X, **kernel_of))
    np.testing.assert_allclose(
        weights.decision_function(fresh()), own, atol=1e-11 * np.abs(own).max()
    )


def test_normalized_with_shift_averages_the_norm_of_the_sequence_scored():
    """sum_i a_i K(x_i, x) / sqrt(K(x_i, x_i)) times the mean of 1 / sqrt(K(x, x))."""
    machine, X = fitted(SVC(), 3, 2, True)

    weights = OligomerWeights.from_estimator(machine, X, degree=3, shift=2)

    inverse = np.array([kernel(x, x, 3, 2, False) for x in X]) ** -0.5
    expected = [
        machine.intercept_[0]
        + inverse.mean()
        * sum(
            a * inverse[i] * kernel(X[i], x, 3, 2, False)
            for i, a in zip(machine.support_, machine.dual_coef_[0])
        )
        for x in fresh(6)
    ]
    np.testing.assert_allclose(
        weights.decision_function(fresh(6)), expected, rtol=1e-12
    )


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), OneClassSVM(nu=0.4)])
@pytest.mark.parametrize("shift", [0, 2])
def test_machines_with_a_callable_kernel(machine, shift):
    """`functools.partial` names the parameters; any other callable leaves them out."""
    X, y = data()
    named = functools.partial(weighted_degree_kernel, degree=3, shift=shift)
    by_name = clone(machine).set_params(kernel=named).fit(X, y)

    def other(A, B):
        return named(A, B)

    by_other = clone(machine).set_params(kernel=other).fit(X, y)

    first = OligomerWeights.from_estimator(by_name, X)
    second = OligomerWeights.from_estimator(by_other, X, degree=3, shift=shift)

    np.testing.assert_array_equal(
        first.decision_function(fresh()), second.decision_function(fresh())
    )
    if shift == 0:
        own = by_name.decision_function(fresh())
        np.testing.assert_allclose(first.decision_function(fresh()), own, atol=1e-11)
    with pytest.raises(ValueError, match="own scores"):
        OligomerWeights.from_estimator(by_other, X, degree=4, shift=shift)
    with pytest.raises(
        ValueError, match=says("`degree` must be 3 … got 4. Leave it out")
    ):
        OligomerWeights.from_estimator(by_name, X, degree=4)
    with pytest.raises(ValueError, match="`degree` must be given"):
        OligomerWeights.from_estimator(by_other, X)


def test_regressors_with_the_kernel():
    """Units of predict; precomputed, the margins need y: a warning."""
    X, y = data()
    target = (y == "b") + 0.1 * np.arange(len(y)) / len(y)
    named = functools.partial(weighted_degree_kernel, degree=3)
    called = SVR(kernel=named).fit(X, target)
    precomputed = NuSVR(kernel="precomputed").fit(named(X), target)

    weights = OligomerWeights.from_estimator(called, X)
    with pytest.warns(ImportanceWarning, match="depend on y"):
        other = OligomerWeights.from_estimator(precomputed, X, degree=3)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), called.predict(fresh()), atol=1e-11
    )
    np.testing.assert_allclose(
        other.decision_function(fresh()), precomputed.predict(named(fresh(), X)),
        atol=1e-11,
    )  # fmt: skip


def test_sign_follows_the_second_class():
    """Renaming the classes in the other order turns the score round."""
    X, y = data()
    gram = weighted_degree_kernel(X, degree=3)
    forward = SVC(kernel="precomputed").fit(gram, y)
    backward = SVC(kernel="precomputed").fit(gram, np.where(y == "a", "z", "b"))

    scores = OligomerWeights.from_estimator(forward, X, degree=3).decision_function(X)
    turned = OligomerWeights.from_estimator(backward, X, degree=3).decision_function(X)

    assert forward.classes_[1] == "b"
    assert scores[y == "b"].mean() > 0 > scores[y == "a"].mean()
    np.testing.assert_allclose(turned, -scores, atol=1e-2)


def test_unknown_letters_in_the_kernel():
    """K(x, x) differs where letters are unknown; unnormalised it is exact."""
    X, y = data()
    X = [x if i % 5 else "N" + x[1:] for i, x in enumerate(X)]
    named = functools.partial(
        weighted_degree_kernel, degree=2, normalize=False, unknown="ignore"
    )
    machine = SVC(kernel=named).fit(X, y)
    holes = ["NN" + x[2:] for x in fresh()]

    weights = OligomerWeights.from_estimator(machine, X)

    np.testing.assert_allclose(
        weights.decision_function(holes), machine.decision_function(holes), atol=1e-11
    )


WRONG = [
    {"degree": 4},
    {"degree": 2},
    {"shift": 1},
    {"shift": 3},
    {"normalize": False},
]


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), OneClassSVM(nu=0.4)])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_kernel_is_detected(machine, wrong):
    """Free support vectors lie on the margin of their own kernel only."""
    machine, X = fitted(machine, 3, 2, True)
    right = {"degree": 3, "shift": 2, "normalize": True}
    OligomerWeights.from_estimator(machine, X, **right)

    with pytest.raises(
        ValueError,
        match=says("not fitted … kernel … Check degree, shift, normalize, alphabet"),
    ):
        OligomerWeights.from_estimator(machine, X, **(right | wrong))


def test_wrong_sequences_are_detected():
    """The training sequences in another order, or others."""
    machine, X = fitted(SVC(), 3)

    with pytest.raises(ValueError, match=says("SVC … not fitted … the order of X")):
        OligomerWeights.from_estimator(machine, X[::-1], degree=3)
    with pytest.raises(ValueError, match=says("SVC … not fitted … the order of X")):
        OligomerWeights.from_estimator(machine, fresh(len(X)), degree=3)
    with pytest.raises(
        ValueError, match=says("X … 89 sequences … SVC … 90 … training sequences")
    ):
        OligomerWeights.from_estimator(machine, X[1:], degree=3)
    with pytest.raises(ValueError, match="SVC needs X"):
        OligomerWeights.from_estimator(machine, degree=3)


@pytest.mark.parametrize("machine", [SVC(C=0.6), NuSVC(nu=0.3)])
def test_class_and_sample_weights_move_the_bounds(machine):
    """Bounded support vectors are no evidence against the kernel."""
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=90)
    weighted, X = fitted(machine, 3, sample_weight=w)

    weights = OligomerWeights.from_estimator(weighted, X, degree=3, sample_weight=w)

    own = weighted.decision_function(weighted_degree_kernel(fresh(), X, degree=3))
    np.testing.assert_allclose(weights.decision_function(fresh()), own, atol=1e-11)
    balanced, X = fitted(clone(machine).set_params(class_weight={"a": 0.3, "b": 1}), 3)
    OligomerWeights.from_estimator(balanced, X, degree=3)
    if isinstance(machine, SVC):
        with pytest.raises(ValueError, match="sample_weight"):
            OligomerWeights.from_estimator(weighted, X, degree=3)
    for bad in (w[1:], np.where(w == 1, 0, w)):
        with pytest.raises(
            ValueError, match=r"`sample_weight` must have shape \(90,\)"
        ):
            OligomerWeights.from_estimator(weighted, X, degree=3, sample_weight=bad)


def test_kernels_that_cannot_be_checked_are_warned_about():
    """Every support vector at its bound; a solver that gave up."""
    bounded, X = fitted(SVC(C=1e-4), 3)
    with pytest.warns(ImportanceWarning, match=says("SVC … free support vectors")):
        OligomerWeights.from_estimator(bounded, X, degree=3)

    with pytest.warns(ConvergenceWarning):
        stopped, X = fitted(SVC(max_iter=3), 3)
    with pytest.warns(ImportanceWarning, match="before it converged"):
        OligomerWeights.from_estimator(stopped, X, degree=3)


def test_bad_machines_and_parameters():
    """Another kernel, more classes, orders that do not fit."""
    machine, X = fitted(SVC(), 3)
    cases = [
        (machine, {"degree": 13}, ValueError, "`degree` must be at most 12"),
        (machine, {"degree": 3, "shift": -1}, ValueError, "`shift`"),
        (machine, {"degree": 3, "alphabet": "ACG"}, ValueError, "not in the alphabet"),
        (machine, {}, ValueError, "`degree` must be given"),
    ]
    rbf = SVC().fit(np.eye(90), data()[1])
    cases.append((rbf, {"degree": 3}, TypeError, "kernel='rbf'"))
    gram = weighted_degree_kernel(X, degree=3)
    three = SVC(kernel="precomputed").fit(gram, np.arange(90) % 3)
    cases.append((three, {"degree": 3}, ValueError, "3 classes"))

    class Other(SVC):
        """Subclasses may score in another way."""

    other = Other(kernel="precomputed").fit(gram, data()[1])
    cases.append((other, {"degree": 3}, TypeError, "got Other"))
    for estimator, parameters, error, message in cases:
        with pytest.raises(error, match=message):
            OligomerWeights.from_estimator(estimator, X, **parameters)
    long = data(length=40)[0]
    machine = SVC(kernel="precomputed").fit(
        weighted_degree_kernel(long, degree=35), data()[1]
    )
    with pytest.raises(ValueError, match="64-bit integers, got 35"):
        OligomerWeights.from_estimator(machine, long, degree=35)
