"""Messages that name what the user called, and the reason that lies behind."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import (
    BackwardEliminationSelector,
    ForwardSelector,
    PermutationImportance,
    SensitivityImportance,
)

X = np.random.default_rng(0).normal(size=(1200, 3))
Y = X[:, 0]


@pytest.mark.parametrize("kind", [BackwardEliminationSelector, ForwardSelector])
def test_an_unknown_keyword_names_the_selector(kind):
    """Not the class above it."""
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an un"):
        kind(Ridge(), steps=2)


def test_a_response_of_strings_is_told_by_its_first():
    """In place of a chopped list."""
    with pytest.raises(ValueError, match=r"got values such as 'low'\. Watch a score"):
        SensitivityImportance(scale=None).fit(lambda X: np.array(["low"] * len(X)), X)


def test_a_response_of_rows_of_different_lengths_is_refused():
    """It is no array of numbers either."""
    ragged = [[1.0, 2.0], *([[3.0]] * (len(X) - 1))]
    with pytest.raises(ValueError, match=r"got values such as \[1.0, 2.0\]\. Watch"):
        SensitivityImportance(scale=None).fit(lambda X: ragged, X)


def test_a_bound_predict_proba_is_told_to_pass_the_classifier():
    """Its classes are not known."""
    model = LogisticRegression().fit(X, Y > 0)
    with pytest.raises(ValueError, match="Pass the classifier itself"):
        PermutationImportance().fit(model.predict_proba, X, Y)
    with pytest.raises(ValueError, match="pass the classifier itself"):
        SensitivityImportance().fit(model.predict_proba, X, Y)


def test_drawn_rows_do_not_hide_why_no_path_is_exact():
    """The model's reason stands beside the way of estimation."""
    model = KNeighborsRegressor().fit(X[:200], Y[:200])
    imp = SensitivityImportance(n_repeats=1, scale=None, random_state=0).fit(model, X)

    assert imp.estimation_ == "sampled"
    assert "drawn rows; KNeighborsRegressor has no fast" in imp.response_path_
