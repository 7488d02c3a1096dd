"""When a measure is exact and when it draws, and how often it asks the model."""

import numpy as np
import pytest
from combinations import half
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import PermutationImportance, SensitivityImportance
from skvarimp._response import contract

RANDOM = np.random.RandomState(0)

X = RANDOM.randn(40, 3)


@pytest.mark.parametrize(
    ("measure", "most"),
    [
        (SensitivityImportance(), 18),  # six donors
        (SensitivityImportance(contrast="observed"), 18),
        (SensitivityImportance(contrast="observed", n_draws=4), 12),
        (PermutationImportance(), 18),
        (PermutationImportance(n_draws=20, loss="absolute_error"), 60),
    ],
)
def test_an_unknown_model_is_asked_three_times_as_often_as_for_draws(measure, most):
    """Each row at each of the values is exact; how long a call takes is not known."""
    random = np.random.RandomState(0)
    for n_values, estimation in ((most, "exact"), (most + 1, "sampled")):
        column = np.arange(3 * n_values) % n_values
        rows = np.column_stack([column, random.permutation(column)])
        measure.set_params(random_state=0).fit(lambda X: X @ [1, 2], rows, column)
        assert measure.estimation_ == estimation


@pytest.mark.parametrize(
    "measure",
    half(
        [
            PermutationImportance(n_draws=4, random_state=0),
            SensitivityImportance(n_draws=4, random_state=0, scale=None),
        ]
    ),
)
def test_what_many_classes_cost_is_known(measure, monkeypatch):
    """Curves of 600 probabilities take far longer than drawn rows; of 3 they do not."""
    monkeypatch.setattr(contract, "NUMBERS_AFFORDABLE", 5e7)  # of one second
    rows = np.random.RandomState(0).randn(1200, 2)
    for n_classes, estimation in ((3, "exact"), (600, "sampled")):
        y = np.arange(1200) % n_classes
        model = LinearDiscriminantAnalysis().fit(rows, y)
        assert measure.fit(model, rows[:300], y[:300]).estimation_ == estimation


def test_errors_from_draws_are_not_inflated_by_drawing():
    """The mean square of standard errors of few draws is that of the exact one."""

    def product(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    parameters = {"contrast": "observed", "scale": None, "features": [0]}
    exact = SensitivityImportance(estimation="exact", **parameters).fit(product, X)
    squares = [
        SensitivityImportance(
            estimation="sampled", n_draws=4, random_state=seed, **parameters
        )
        .fit(product, X)
        .standard_errors_[0]
        ** 2
        for seed in range(60)
    ]
    assert np.mean(squares) == pytest.approx(exact.standard_errors_[0] ** 2, rel=0.1)


def test_no_call_is_larger_than_stated():
    """Not the first one either, of the rows as they are."""
    sizes = []

    def predict(rows):
        sizes.append(len(rows))
        return rows[:, 0]

    few_valued = np.random.RandomState(0).randint(0, 2, (40_000, 2))
    SensitivityImportance(scale=None, estimation="exact").fit(predict, few_valued)
    assert max(sizes) <= 16_384
    assert sum(sizes) == 3 * 40_000  # as they are, and each column's other value


def test_drawn_rows_do_not_hide_why_no_path_is_exact():
    """The model's reason stands beside the way of estimation."""
    rows = np.random.default_rng(0).normal(size=(1200, 3))
    model = KNeighborsRegressor().fit(rows[:200], rows[:200, 0])
    imp = SensitivityImportance(n_draws=4, scale=None, random_state=0).fit(model, rows)

    assert imp.estimation_ == "sampled"
    path = imp.response_path_
    assert "4 draws of each of 1200 rows; KNeighborsRegressor has no fast" in path


@pytest.mark.parametrize("contrast", ["pairs", "observed"])
def test_rows_of_columns_that_do_not_vary(contrast):
    """They cost nothing, so that all rows are taken; the importances are 0."""
    X, y = np.ones((12, 2)), np.arange(12) % 2
    model = LogisticRegression().fit(X, y)
    imp = SensitivityImportance(contrast=contrast, estimation="rows", random_state=0)
    assert imp.fit(model, X, y).importances_.tolist() == [0.0, 0.0]
