"""The weighted degree kernel against a literal double loop."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_sequence import kernel, random_sequences
from messages import says
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skvarimp.sequence import _kernel, weighted_degree_kernel


def literal(X, Y, degree, shift, normalize, unknown=""):
    """Kernel matrix by plain loops."""
    return np.array(
        [[kernel(x, y, degree, shift, normalize, unknown) for y in Y] for x in X]
    )


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("shift", [0, 1, 3, 20])
@pytest.mark.parametrize(
    ("alphabet", "length", "degree"),
    [("ACGT", 9, 3), ("ACGT", 7, 7), ("AB", 6, 4), ("ACGT", 1, 1)],
)
def test_equals_the_double_loop(alphabet, length, degree, shift, normalize):
    """Every pair, with itself and between two sets."""
    rng = np.random.default_rng(0)
    X = random_sequences(rng, 6, length, alphabet)
    Y = random_sequences(rng, 5, length, alphabet)
    compute = functools.partial(
        weighted_degree_kernel,
        degree=degree,
        shift=shift,
        normalize=normalize,
        alphabet=alphabet,
    )

    np.testing.assert_allclose(
        compute(X), literal(X, X, degree, shift, normalize), rtol=1e-13
    )
    np.testing.assert_allclose(
        compute(X, Y), literal(X, Y, degree, shift, normalize), rtol=1e-13, atol=1e-15
    )


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    length=st.integers(1, 12),
    shift=st.integers(0, 4),
    data=st.data(),
)
def test_equals_the_double_loop_on_repetitive_sequences(seed, length, shift, data):
    """Long common windows: few letters, unequal frequencies, unknown ones."""
    degree = data.draw(st.integers(1, length))
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("AAAAAACN"), size=(4, length))
    X = ["".join(row) for row in letters]

    result = weighted_degree_kernel(X, degree=degree, shift=shift, unknown="ignore")

    expected = literal(X, X, degree, shift, True, unknown="N")
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


def test_degree_and_weights_by_hand():
    """d = 2: beta = 2/3, 1/3; GAT, GAC: 2 letters and 1 window of two."""
    assert weighted_degree_kernel(["GAT"], ["GAC"], degree=2, normalize=False) == (
        pytest.approx(2 * 2 / 3 + 1 / 3, abs=1e-15)
    )
    # shift 1: G and A match one letter apart, in one direction, at weight 1/4
    shifted = weighted_degree_kernel(
        ["GAT"], ["CGA"], degree=1, shift=1, normalize=False
    )
    assert shifted == pytest.approx(2 / 4, abs=1e-15)


@pytest.mark.parametrize("columns", [1, 40, 300])
def test_numbering_of_columns_changes_nothing(monkeypatch, columns):
    """Above a number of columns only repeated oligomers are numbered."""
    rng = np.random.default_rng(3)
    X, Y = random_sequences(rng, 9, 12, "AC"), random_sequences(rng, 8, 12, "AC")
    X[3] = X[5]
    expected = weighted_degree_kernel(X, degree=9, shift=2)
    expected_xy = weighted_degree_kernel(X, Y, degree=9, shift=2)

    monkeypatch.setattr(_kernel, "_MAX_COLUMNS", columns)

    np.testing.assert_allclose(
        weighted_degree_kernel(X, degree=9, shift=2), expected, rtol=1e-13
    )
    np.testing.assert_allclose(
        weighted_degree_kernel(X, Y, degree=9, shift=2), expected_xy, rtol=1e-13
    )


@pytest.mark.parametrize("elements", [1, 700])
def test_blocks_change_nothing(elements):
    """Blocks of 16 and of 17 columns, of 40."""
    X = random_sequences(np.random.default_rng(4), 40, 10)
    expected = weighted_degree_kernel(X, degree=4, shift=2)
    expected_xy = weighted_degree_kernel(X, X[:33], degree=4, shift=2)

    with config_context(working_memory=elements / 4096):
        result = weighted_degree_kernel(X, degree=4, shift=2)
        of_two = weighted_degree_kernel(X, X[:33], degree=4, shift=2)
    np.testing.assert_allclose(result, expected, rtol=1e-13)
    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_allclose(of_two, expected_xy, rtol=1e-13)


def test_windows_longer_than_a_64_bit_code():
    """4 ** 40 has no 64-bit integer; sequences that share 38 letters do match."""
    rng = np.random.default_rng(5)
    (x,) = random_sequences(rng, 1, 45)
    X = [x, x[:38] + "A" * 7, *random_sequences(rng, 3, 45)]

    result = weighted_degree_kernel(X, degree=40, shift=1)

    np.testing.assert_allclose(result, literal(X, X, 40, 1, True), rtol=1e-12)


def test_symmetric_positive_and_unit():
    """Without shift it is an inner product; normalised, K(x, x) = 1 exactly."""
    X = random_sequences(np.random.default_rng(6), 30, 15)

    result = weighted_degree_kernel(X, degree=5)

    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_array_equal(np.diag(result), 1)
    assert np.linalg.eigvalsh(result).min() > -1e-12
    between = weighted_degree_kernel(X, list(X), degree=5)
    np.testing.assert_allclose(between, result, rtol=1e-13)


def test_unknown_letters_match_nothing():
    """A sequence of unknown letters only has kernel 0, even with itself."""
    result = weighted_degree_kernel(["NNN", "ACG"], degree=2, unknown="ignore")

    np.testing.assert_array_equal(result, [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"degree": 0}, ValueError, says("`degree` … at least 1, got 0")),
        ({"degree": 5}, ValueError, says("`degree` … at most 4 … got 5")),
        ({"degree": 2.0}, TypeError, says("`degree` … integer, got 2.0 of type float")),
        ({"degree": 2, "shift": -1}, ValueError, says("`shift` … at least 0, got -1")),
        (
            {"degree": 2, "shift": True},
            TypeError,
            says("`shift` … integer, got True of type bool"),
        ),
        ({"degree": 2, "normalize": "yes"}, TypeError, "`normalize` must be True"),
        ({"degree": 2, "unknown": "skip"}, ValueError, "`unknown` must be"),
        (
            {"degree": 2, "alphabet": "AC"},
            ValueError,
            says("Sequence 0 … 'G' … position 2 … 'AC' … unknown="),
        ),
        ({"degree": 2, "Y": ["ACG"]}, ValueError, says("Y … 3 letters … 4")),
        ({"degree": 2, "Y": []}, ValueError, says("Y … no sequences")),
    ],
)
def test_bad_input(arguments, error, message):
    """Errors name the parameter or the argument."""
    with pytest.raises(error, match=message):
        weighted_degree_kernel(["ACGT", "AAAA"], **arguments)


def test_svc_takes_the_kernel_as_a_callable_and_precomputed():
    """Both are one machine, also in a search over lists of strings."""
    rng = np.random.default_rng(7)
    X = random_sequences(rng, 60, 10)
    y = ["GA" in x for x in X]
    called = functools.partial(weighted_degree_kernel, degree=3, shift=2)

    by_call = SVC(kernel=called).fit(X, y)
    precomputed = SVC(kernel="precomputed").fit(called(X), y)
    search = GridSearchCV(
        SVC(kernel=called), {"C": [0.1, 10]}, cv=3, error_score="raise"
    )

    np.testing.assert_allclose(
        by_call.decision_function(X),
        precomputed.decision_function(called(X)),
        atol=1e-12,
    )
    assert search.fit(X, y).best_score_ > 0.5
