"""What scikit-learn keeps private: named in one file, and done without if missing."""

import ast
import importlib
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from callback_recorder import Recorder
from messages import says
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

import skvarimp
from skvarimp import SensitivityImportance
from skvarimp._running import private_sklearn
from skvarimp._running.tasks import set_callbacks
from skvarimp.exceptions import ResponseWarning

X = np.random.default_rng(0).standard_normal((30, 2))
Y = X[:, 0] + X[:, 1]


def imported(path):
    """The modules and names that a file imports, as dotted paths."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_private_imports_stand_in_one_file():
    """No other file imports a module or a name with a leading underscore."""
    package = Path(skvarimp.__file__).parent
    with_private = {
        path.name
        for path in package.rglob("*.py")
        for name in imported(path)
        if name.startswith("sklearn.") and "._" in name
    }
    assert with_private == {"private_sklearn.py"}


def test_every_private_attribute_is_used_and_explained():
    """A name that no reader asks for any more goes."""
    package = Path(skvarimp.__file__).parent
    sources = [
        path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
        if path.name != "private_sklearn.py"
    ]
    asked = set(
        re.findall(r'"(_[A-Za-z_]+)"', "".join(s for s in sources if "private(" in s))
    )
    assert set(private_sklearn.ATTRIBUTES) <= asked


def test_import_without_the_vocabulary_of_constraints(monkeypatch):
    """Parameters are not checked then; everything else works."""
    model = LinearRegression().fit(X, Y)
    expected = SensitivityImportance(scale=None).fit(model, X).importances_
    for name in [n for n in sys.modules if n.partition(".")[0] == "skvarimp"]:
        monkeypatch.delitem(sys.modules, name)
    private = "sklearn.utils._param_validation"
    monkeypatch.setitem(sys.modules, private, types.ModuleType(private))
    fresh = importlib.import_module("skvarimp")
    assert fresh is not skvarimp
    found = fresh.SensitivityImportance(scale=None).fit(model, X).importances_
    np.testing.assert_array_equal(found, expected)
    for name in [n for n in sys.modules if n.partition(".")[0] == "skvarimp"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_missing_attribute_costs_speed_only(monkeypatch):
    """The model is asked itself, and the warning names the attribute."""
    model = SVR().fit(X, Y)
    imp = SensitivityImportance(scale=None, estimation="exact")
    expected = imp.fit(model, X).importances_
    assert "black box" not in imp.response_path_

    def without_gamma(estimator, name, *default):
        if name == "_gamma":
            raise AttributeError
        return getattr(estimator, name, *default)

    monkeypatch.setattr(private_sklearn, "getattr", without_gamma, raising=False)
    with pytest.warns(ResponseWarning, match=r"has no `_gamma`: the number"):
        found = imp.fit(model, X).importances_
    assert "black box" in imp.response_path_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_callbacks_that_cannot_be_driven(monkeypatch):
    """The fit goes on without them."""
    callback = pytest.importorskip("sklearn.callback")
    mixin = callback.CallbackSupportMixin
    monkeypatch.delattr(mixin, "_init_callback_context")
    imp = SensitivityImportance(scale=None).set_callbacks(Recorder())
    assert imp.fit(lambda X: X[:, 0], X).importances_[0] > 0


@pytest.mark.parametrize("hint", ["Unknown", "the number", "1 / 0", "typing.Any"])
def test_hints_of_users_are_not_read(hint):
    """Any text may stand there; words of ours are checked in users' classes, too."""

    class Users(SensitivityImportance):
        def __init__(self, contrast="pairs", extra: hint = 1):
            super().__init__(contrast=contrast, scale=None)
            self.extra = extra

    assert Users().fit(lambda X: X[:, 0], X).importances_[0] > 0
    with pytest.raises(ValueError, match=says("'contrast' … Users … Got 'nope'")):
        Users("nope").fit(lambda X: X[:, 0], X)
    fields = {"__annotations__": {"extra": hint}, "extra": 1}
    kind = dataclass(type("Fields", (SensitivityImportance,), fields), repr=False)
    with pytest.raises(ValueError, match="'contrast' parameter of Fields"):
        kind(contrast="nope").fit(lambda X: X[:, 0], X)


def test_callbacks_of_what_drives_none():
    """A base class of an older scikit-learn has no `set_callbacks`."""
    set_callbacks(object(), None)
    with pytest.raises(TypeError, match=says("`callbacks` … scikit-learn 1.9")):
        set_callbacks(object(), [print])
