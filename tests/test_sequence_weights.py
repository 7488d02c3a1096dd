"""Unfolded scores equal the models' own; a wrong kernel is noticed."""

import functools
import pickle
import warnings

import numpy as np
import pytest
from literal_sequence import kernel, random_sequences, random_tables, score
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import (
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from skvarimp.exceptions import ImportanceWarning
from skvarimp.sequence import (
    OligomerVectorizer,
    OligomerWeights,
    weighted_degree_kernel,
)

LENGTH = 12


def data(n=90, seed=0, length=LENGTH):
    """Sequences and labels "b" (GAT at 4, mostly) or "a"."""
    rng = np.random.default_rng(seed)
    X = random_sequences(rng, n, length)
    y = np.where(rng.random(n) < 0.5, "b", "a")
    X = [x[:4] + "GAT" + x[7:] if label == "b" else x for x, label in zip(X, y)]
    flip = rng.random(n) < 0.1
    return X, np.where(flip, np.where(y == "a", "b", "a"), y)


def fresh(n=20):
    """Sequences not trained on."""
    return random_sequences(np.random.default_rng(99), n, LENGTH)


def fitted(machine, degree=3, shift=0, normalize=True, seed=0, **fit_parameters):
    """Machine on a precomputed kernel, its training sequences."""
    X, y = data(seed=seed)
    gram = weighted_degree_kernel(X, degree=degree, shift=shift, normalize=normalize)
    return clone(machine).set_params(kernel="precomputed").fit(
        gram, y, **fit_parameters
    ), X


# The value object


@pytest.mark.parametrize("orders", [(1,), (3,), (1, 2, 3), (2, 5)])
def test_decision_function_adds_weights(orders):
    """Eq. (4), orders left out included; sparse and dense tables are the same."""
    rng = np.random.default_rng(0)
    tables = random_tables(rng, 5, 3, orders)
    X = random_sequences(rng, 9, 5, "ABC")
    expected = [0.7 + score(x, tables, "ABC") for x in X]

    dense = OligomerWeights(tables, 0.7, alphabet="ABC")
    as_sparse = {k: sparse.coo_matrix(table) for k, table in tables.items()}
    thin = OligomerWeights(as_sparse, 0.7, alphabet="ABC")

    np.testing.assert_allclose(dense.decision_function(X), expected, rtol=1e-13)
    np.testing.assert_allclose(thin.decision_function(X), expected, rtol=1e-13)
    assert dense.max_order == max(orders)
    assert dense.sequence_length == 5


def test_weights_of_one_oligomer():
    """The column of its table; 0 where the order has none."""
    tables = random_tables(np.random.default_rng(0), 5, 2, (2,))
    weights = OligomerWeights(tables, alphabet="AB")

    np.testing.assert_array_equal(weights.weights_of("BA"), tables[2][:, 2])
    np.testing.assert_array_equal(weights.weights_of("A"), np.zeros(5))
    with pytest.raises(ValueError, match="at most 5"):
        weights.weights_of("AAAAAA")
    with pytest.raises(ValueError, match="'C' at position 1"):
        weights.weights_of("AC")


def test_tables_are_copied_and_survive_pickling():
    """What the user passed is not shared."""
    tables = {1: np.array([[1.0, 2.0]])}
    weights = OligomerWeights(tables, alphabet="AB")
    tables[1][0, 0] = 5

    restored = pickle.loads(pickle.dumps(weights))

    assert restored.decision_function(["A", "B"]).tolist() == [1, 2]
    assert repr(weights).startswith("OligomerWeights(sequence_length=1")


def test_unknown_letters_add_nothing():
    """The windows that hold them are left out."""
    tables = {1: np.ones((3, 2)), 2: np.ones((2, 4))}
    weights = OligomerWeights(tables, alphabet="AB", unknown="ignore")

    assert weights.decision_function(["ABA", "ANA", "BBN"]).tolist() == [5, 2, 3]
    with pytest.raises(ValueError, match="unknown='ignore'"):
        OligomerWeights(tables, alphabet="AB").decision_function(["ANA"])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "at least one table"),
        ({1: np.ones((3, 2)), 2: np.ones((3, 4))}, r"order 2 must have shape \(2, 4\)"),
        ({1: np.ones((3, 3))}, r"must have shape \(3, 2\)"),
        ({0: np.ones((3, 1))}, "`order` must be at least 1"),
        ({1: np.full((3, 2), np.nan)}, "NaN or infinity"),
    ],
)
def test_bad_tables(tables, message):
    """Tables must fit one length and the alphabet."""
    with pytest.raises(ValueError, match=message):
        OligomerWeights(tables, alphabet="AB")


# Linear models


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LogisticRegression(class_weight="balanced"),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
        SVC(kernel="linear"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("normalize", [True, False])
def test_linear_classifiers(model, normalize):
    """The sum of weights is decision_function, in its sign and units."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(3, normalize=normalize), model)
    pipeline.fit(X, y)

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.decision_function(fresh()),
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("model", [Ridge(), SVR(kernel="linear")])
def test_linear_regressors(model):
    """Regressors: the units of predict."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(2), model).fit(X, y == "b")

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.predict(fresh()), atol=1e-12
    )


@pytest.mark.parametrize(
    "steps",
    [
        ["passthrough"],
        [SelectKBest(chi2, k=25)],
        [MaxAbsScaler(), SelectKBest(chi2, k=25)],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_mean=False, with_std=False)],
    ],
)
def test_steps_between(steps):
    """Selectors and scalers are undone exactly; sparsified coefficients too."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(3), *steps, LogisticRegression())
    pipeline.fit(X, y)
    pipeline[-1].sparsify()

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.decision_function(fresh()),
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip


def test_the_vectorizer_brings_its_alphabet_and_rule():
    """Unknown letters score as in the pipeline."""
    X, y = data()
    vectorizer = OligomerVectorizer(2, alphabet="TCGA", unknown="ignore")
    pipeline = make_pipeline(vectorizer, LinearSVC()).fit(X, y)
    holes = ["NN" + x[2:] for x in fresh()]

    weights = OligomerWeights.from_estimator(pipeline)

    assert weights.alphabet == "TCGA"
    np.testing.assert_allclose(
        weights.decision_function(holes), pipeline.decision_function(holes), atol=1e-12
    )


def test_searches_are_replaced_by_their_best_estimator():
    """A grid search over the order."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(1), LinearSVC())
    search = GridSearchCV(pipeline, {"oligomervectorizer__max_order": [1, 3]}, cv=3)

    weights = OligomerWeights.from_estimator(search.fit(X, y))

    np.testing.assert_allclose(
        weights.decision_function(fresh()),
        search.decision_function(fresh()),
        atol=1e-12,
    )


def test_models_that_are_no_sum_of_weights():
    """Each says why and what to use."""
    X, y = data()

    def pipeline(*steps, target=y):
        return make_pipeline(OligomerVectorizer(2), *steps).fit(X, target)

    three = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    cases = [
        (pipeline(PoissonRegressor(), target=y == "b"), ValueError, "identity link"),
        (pipeline(RandomForestClassifier(2)), TypeError, "without coef_"),
        (pipeline(TruncatedSVD(2), LinearSVC()), TypeError, "TruncatedSVD between"),
        (pipeline(LinearSVC(), target=three), ValueError, "3 outputs"),
        (make_pipeline(OligomerVectorizer(2)).fit(X), TypeError, "got 1 step"),
        (make_pipeline(MaxAbsScaler(), LinearSVC()), NotFittedError, "fit"),
        (LinearSVC(), NotFittedError, "not fitted"),
        (RandomForestClassifier(2).fit([[0], [1]], [0, 1]), TypeError, "needs a Pipel"),
        (SVC, TypeError, "got the class SVC"),
    ]
    for estimator, error, message in cases:
        with pytest.raises(error, match=message):
            OligomerWeights.from_estimator(estimator)
    numbers = make_pipeline(MaxAbsScaler(), LinearSVC()).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="must start with OligomerVectorizer"):
        OligomerWeights.from_estimator(numbers)
    mixed = make_pipeline(OligomerVectorizer(1).fit(X), pipeline(LinearSVC())[-1])
    with pytest.raises(ValueError, match="Fit them together"):
        OligomerWeights.from_estimator(mixed)


# Support vector machines


@pytest.mark.parametrize("machine", [SVC(C=2.0), NuSVC(nu=0.3), OneClassSVM(nu=0.4)])
@pytest.mark.parametrize(
    ("degree", "shift", "normalize"),
    [(3, 0, True), (3, 0, False), (3, 2, False), (LENGTH, 1, False), (1, 20, False)],
)
def test_machines_on_a_precomputed_kernel(machine, degree, shift, normalize):
    """Exact without normalisation or without shift, and no warning."""
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
    with pytest.raises(ValueError, match="`degree` must be 3, as in the estimator"):
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


# Is it the kernel the machine was fitted with?

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

    with pytest.raises(ValueError, match="was not fitted with this kernel"):
        OligomerWeights.from_estimator(machine, X, **(right | wrong))


def test_wrong_sequences_are_detected():
    """The training sequences in another order, or others."""
    machine, X = fitted(SVC(), 3)

    with pytest.raises(ValueError, match="the order of X"):
        OligomerWeights.from_estimator(machine, X[::-1], degree=3)
    with pytest.raises(ValueError, match="the order of X"):
        OligomerWeights.from_estimator(machine, fresh(len(X)), degree=3)
    with pytest.raises(
        ValueError, match="X has 89 sequences, but SVC was fitted on 90"
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
    with pytest.warns(ImportanceWarning, match="no free support vectors"):
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


def test_nothing_is_modified():
    """The machine and the sequences stay as they are."""
    machine, X = fitted(SVC(), 3)
    before, sequences = pickle.dumps(machine), list(X)

    OligomerWeights.from_estimator(machine, X, degree=3)

    assert pickle.dumps(machine) == before
    assert sequences == X
