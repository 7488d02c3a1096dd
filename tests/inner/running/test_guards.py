"""Flags of matrix products say nothing; results do. The user's settings are kept."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skvarimp import FIRMImportance, PermutationImportance, SensitivityImportance
from skvarimp._running.guards import no_overflow, users_code

X = np.random.default_rng(0).standard_normal((30, 3))


def spurious_flag(product):
    """Tell NumPy's handler what a BLAS library does that flags finite numbers."""
    np.geterrcall().write(f"Warning: overflow encountered in {product}\n")


@pytest.mark.parametrize("product", ["matmul", "dot", "vecdot", "matvec", "vecmat"])
def test_flags_of_products_are_not_believed(product):
    """Finite products go on, as on a Mac; the same flag elsewhere is an error."""
    with no_overflow():
        spurious_flag(product)
        assert np.isfinite(X @ X.T).all()
    with pytest.raises(ValueError, match="in multiply"), no_overflow():
        spurious_flag("multiply")


def test_a_measure_goes_on_after_spurious_flags(monkeypatch):
    """All flags there are, in every product, change no number and no path."""
    model = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0])
    imp = SensitivityImportance(scale=None).fit(model, X)
    expected, path = imp.importances_, imp.response_path_
    matmul = np.matmul

    class Flagged(np.ndarray):
        """Coefficients whose products raise every flag."""

        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            plain = [np.asarray(i) for i in inputs]
            if ufunc is matmul:
                for kind in ("overflow", "invalid value", "divide by zero"):
                    text = f"Warning: {kind} encountered in matmul\n"
                    if np.geterr()["over"] == "log":
                        np.geterrcall().write(text)
                    elif np.geterr()["over"] == "raise":
                        raise FloatingPointError(text)
            return getattr(ufunc, method)(*plain, **options)

    model.coef_ = model.coef_.view(Flagged)
    imp.fit(model, X)
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-12)
    assert imp.response_path_ == path


def test_infinite_results_are_an_error():
    """Squares that do overflow, and standard deviations that do not."""
    large = np.round(X) * 1e200
    y = large[:, 0]
    firm = FIRMImportance().fit(None, large, y)
    expected = 1e200 * FIRMImportance().fit(None, np.round(X), y / 1e200).importances_
    np.testing.assert_allclose(firm.importances_, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Rescale"):
        PermutationImportance(estimation="exact").fit(lambda X: X[:, 0], large, y[::-1])


def test_the_users_own_settings_stay_theirs():
    """What they ignore, warn of or log is so inside their code, and after it."""
    heard = []

    class Log:
        @staticmethod
        def write(message):
            heard.append(message)

    def model(X):
        np.array([1e308]) * 10.0
        return X[:, 0]

    with np.errstate(over="log", call=Log):
        SensitivityImportance(scale=None).fit(model, X)
        assert np.geterrcall() is Log
    assert heard
    assert set(heard) == {"Warning: overflow encountered in multiply\n"}
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        SensitivityImportance(scale=None).fit(model, X)
    with users_code(), np.errstate(over="ignore"):
        assert np.array([1e308])[0] * 10.0 == np.inf
