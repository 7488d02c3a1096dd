"""How many files a reader opens who follows a fit from its call to its numbers."""

import inspect
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import skvarimp
from skvarimp import SensitivityImportance

ROOT = str(Path(skvarimp.__file__).parent)
X, Y = make_regression(200, 5, random_state=0)


def first_visits(function):
    """The file of each function of the package, in the order of their first calls."""
    seen, files = set(), []

    def note(frame, event, argument):
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(ROOT)
        # modules and bodies of classes run where they are imported, and comprehensions
        # are no functions from Python 3.12 on
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        if code.co_name in ("<listcomp>", "<dictcomp>", "<setcomp>"):
            is_function = False
        if ours and is_function and code not in seen:
            seen.add(code)
            files.append(code.co_filename)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize(
    ("model", "n_files", "n_changes"),
    [
        (RandomForestRegressor(10, random_state=0), 29, 100),
        (make_pipeline(StandardScaler(), SVR()), 29, 100),
    ],
    ids=["forest", "pipeline"],
)
def test_a_fit_can_be_read_in_few_files(model, n_files, n_changes):
    """From `fit` to `importances_`; changes of file between successive first visits."""
    model.fit(X, Y)
    files = first_visits(lambda: SensitivityImportance().fit(model, X, Y))
    assert len(set(files)) <= n_files
    assert sum(a != b for a, b in pairwise(files)) <= n_changes
