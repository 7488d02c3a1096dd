"""Targets that only a scorer understands, and targets that nobody looks at."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from roundoff import roundoff
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from skvarimp import (
    BackwardEliminationSelector,
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    importance_across_folds,
    leave_out_importances,
)

X = np.random.default_rng(0).standard_normal((40, 3))
TIME = np.exp(X[:, 0])
EVENT = X[:, 1] > -1
MODEL = LinearRegression().fit(X, TIME)
SURVIVAL = np.array(
    list(zip(EVENT, TIME)), dtype=[("event", bool), ("time", np.float64)]
)


def concordance(estimator, X, y):
    """Share of pairs in the order of their times, where the earlier one is an event."""
    assert isinstance(y, np.ndarray)
    assert y.dtype.names == ("event", "time")
    risk = -estimator.predict(X)
    pairs = (y["time"][:, None] < y["time"]) & y["event"][:, None]
    return float(np.mean((risk[:, None] > risk)[pairs]))


@pytest.mark.thorough
def test_a_scorer_gets_y_as_it_is():
    """Structured arrays, also with rows of weight 0, which are left out."""
    imp = PermutationImportance(scoring=concordance, n_draws=4, random_state=0)
    imp.fit(MODEL, X, SURVIVAL)
    assert imp.ranking_[0] == 1
    assert imp.importances_[2] == pytest.approx(0, abs=0.05)
    kept = np.arange(40) % 4 > 0
    expected = imp.fit(MODEL, X[kept], SURVIVAL[kept]).importances_
    weighted = imp.fit(MODEL, X, SURVIVAL, sample_weight=kept.astype(float))
    np.testing.assert_array_equal(weighted.importances_, expected)


FRAME = {"event": EVENT, "time": TIME}
CONTAINERS = {
    "pandas": (pd.DataFrame(FRAME), lambda y: y["time"].to_numpy()),
    "polars": (pl.DataFrame(FRAME), lambda y: y["time"].to_numpy()),
    "series": (pd.Series(TIME), lambda y: y.to_numpy()),
    "polars series": (pl.Series(TIME), lambda y: y.to_numpy()),
    "list of tuples": (
        list(zip(EVENT.tolist(), TIME.tolist())),
        lambda y: np.array([time for _, time in y]),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_of_y_reach_the_scorer(kind):
    """In the type they were given."""
    y, times = CONTAINERS[kind]

    def scorer(estimator, X, given):
        assert type(given) is type(y)
        return -float(np.mean((times(given) - estimator.predict(X)) ** 2))

    weight = (np.arange(40) % 4 > 0).astype(float)
    imp = PermutationImportance(scoring=scorer, n_draws=4, random_state=0)
    found = imp.fit(MODEL, X, y, sample_weight=weight).importances_
    plain = PermutationImportance(
        scoring="neg_mean_squared_error", n_draws=4, random_state=0
    ).fit(MODEL, X, TIME, sample_weight=weight)
    np.testing.assert_allclose(found, plain.importances_, rtol=1e-9)


def test_without_a_scale_y_is_not_looked_at():
    """Nor is it by measures that compare with nothing; a scale refuses it."""
    expected = SensitivityImportance(scale=None).fit(MODEL, X).importances_
    firm = FIRMImportance().fit(MODEL, X).importances_
    for y in (SURVIVAL, pd.DataFrame(FRAME), [object()] * 40):
        found = SensitivityImportance(scale=None).fit(MODEL, X, y).importances_
        np.testing.assert_array_equal(found, expected)
        found = FIRMImportance().fit(MODEL, X, y).importances_
        np.testing.assert_array_equal(found, firm)


@pytest.mark.parametrize("model", [MODEL, LogisticRegression().fit(X, EVENT)])
def test_defaults_name_a_way_out_for_records(model):
    """A scale of the response, and a loss or scorer that knows the fields."""
    fields = r"a number or a label per row, but y has the fields \['event', 'time'\]"
    with pytest.raises(ValueError, match=f"{fields}. Use scale=None"):
        SensitivityImportance().fit(model, X, SURVIVAL)
    ways = "Use a callable loss, or .* scoring='score'"
    with pytest.raises(ValueError, match=f"{fields}. {ways}"):
        PermutationImportance().fit(model, X, SURVIVAL)
    with pytest.raises(ValueError, match=f"{fields}. {ways}"):
        leave_out_importances(Survival(), X, SURVIVAL)


@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_callable_losses_get_records(estimation):
    """As the same loss of the times alone, with weights and for refits."""

    def squared(y, predicted):
        return (y["time"] - predicted) ** 2

    weight = (np.arange(40) % 4 > 0).astype(float)
    how = {"estimation": estimation, "random_state": 0}
    imp = PermutationImportance(loss=squared, **how)
    plain = PermutationImportance(**how).fit(MODEL, X, TIME, sample_weight=weight)
    found = imp.fit(MODEL, X, SURVIVAL, sample_weight=weight)
    np.testing.assert_allclose(found.importances_, plain.importances_, rtol=1e-9)
    np.testing.assert_allclose(
        found.standard_errors_, plain.standard_errors_, rtol=1e-9
    )
    refits = leave_out_importances(Survival(), X, SURVIVAL, loss=squared)
    expected = leave_out_importances(LinearRegression(), X, TIME)
    np.testing.assert_allclose(refits.importances, expected.importances, rtol=1e-6)


QUERIES = np.array(["a", "b", "c", "d"])[np.arange(len(X)) % 4]
OF_QUERIES = {"a": 1.0, "b": 3.0, "c": 0.0, "d": 0.5}


def loss_of_queries(y, predicted, groups):
    """A squared error that counts more in some queries."""
    return np.array([OF_QUERIES[query] for query in groups]) * (y - predicted) ** 2


def loss_of_records(y, predicted):
    """The same, from records."""
    return y["share"] * (y["value"] - predicted) ** 2


@pytest.mark.filterwarnings("ignore:.* has only 4 groups")
@pytest.mark.parametrize(
    "options",
    [
        {"estimation": "exact", "keep_rows": True},
        {"estimation": "sampled", "random_state": 0},
        {"conditional": "residuals", "random_state": 0, "relative": True},
    ],
)
def test_losses_get_the_query_of_each_row(options):
    """As a loss of records that hold what each query says; rows of weight 0 are left.

    Also beside a loss that asks for y alone.
    """
    Y = 3.0 * X[:, 0] - X[:, 1]
    records = np.empty(len(X), dtype=[("value", float), ("share", float)])
    records["value"], records["share"] = Y, [OF_QUERIES[query] for query in QUERIES]
    weights = np.where(np.arange(len(X)) % 5, 1.0, 0.0)
    model, given = LinearRegression().fit(X, Y**2), {"sample_weight": weights}
    given["groups"] = QUERIES
    imp = PermutationImportance(loss=loss_of_queries, **options)
    imp.fit(model, X, Y, **given)
    expected = PermutationImportance(loss=loss_of_records, **options)
    expected.fit(model, X, records, **given)
    assert imp.importances_.max() > 0
    np.testing.assert_allclose(imp.importances_, expected.importances_, rtol=1e-12)
    errors = imp.standard_errors_, expected.standard_errors_
    np.testing.assert_allclose(*errors, rtol=1e-12)
    measures = {"queries": imp, "squares": PermutationImportance()}
    both = compare_importances(model, X, Y, measures, **given).results
    of_queries, of_squares = (both["LinearRegression", name] for name in measures)
    np.testing.assert_allclose(of_queries.importances, imp.importances_, rtol=1e-12)
    alone = PermutationImportance().fit(model, X, Y, **given)
    np.testing.assert_allclose(of_squares.importances, alone.importances_)


@pytest.mark.parametrize("rows", ["all", "oob"])
def test_a_loss_of_queries_needs_them(rows):
    """They are the `groups` of fit; trees out of bag have none."""
    forest = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    imp = PermutationImportance(loss=loss_of_queries, rows=rows)
    with pytest.raises(ValueError, match=r"a parameter `groups`.*fit\(..., groups"):
        imp.fit(forest, X, X[:, 0])


@pytest.mark.thorough
def test_comparisons_pass_y_on():
    """One measure with a scorer, one without a scale."""
    measures = {
        "scored": PermutationImportance(scoring=concordance, random_state=0),
        "moved": SensitivityImportance(scale=None),
    }
    table = compare_importances({"m": MODEL}, X, SURVIVAL, measures)
    assert len(table.features) == 3


class Survival(LinearRegression):
    """A regression of the times in a structured y."""

    def fit(self, X, y):
        """Of the field time."""
        return super().fit(X, y["time"])

    def score(self, X, y):
        """The concordance."""
        return concordance(self, X, y)


def test_the_models_own_score():
    """`scoring="score"`: the concordance of records, r2 of numbers."""
    how = {"n_draws": 4, "random_state": 0}
    model = Survival().fit(X, SURVIVAL)
    own = PermutationImportance(scoring="score", **how).fit(model, X, SURVIVAL)
    named = PermutationImportance(scoring=concordance, **how).fit(model, X, SURVIVAL)
    np.testing.assert_array_equal(own.importances_, named.importances_)
    assert own.output_names_ == ["score"]
    own = PermutationImportance(scoring="score", **how).fit(MODEL, X, TIME)
    named = PermutationImportance(scoring="r2", **how).fit(MODEL, X, TIME)
    size = np.abs(own.importances_).max()
    np.testing.assert_allclose(
        own.importances_, named.importances_, atol=roundoff(len(X), size)
    )
    with pytest.raises(TypeError, match="scoring='score' needs an estimator"):
        PermutationImportance(scoring="score").fit(MODEL.predict, X, TIME)
    selectors = (
        BackwardEliminationSelector(Survival(), scoring=s, cv=3, random_state=0)
        for s in ("score", None)
    )
    first, second = (s.fit(X, SURVIVAL).path_["score"] for s in selectors)
    np.testing.assert_array_equal(first, second)


@pytest.mark.thorough
def test_refits_take_structured_targets():
    """Selectors and folds hand them to the estimator and the scorer."""
    measure = PermutationImportance(scoring=concordance, n_draws=4, random_state=0)
    selector = BackwardEliminationSelector(
        Survival(), measure=measure, scoring=concordance, cv=3, random_state=0
    ).fit(X, SURVIVAL)
    assert selector.support_[0]
    folds = importance_across_folds(Survival(), X, SURVIVAL, measure, cv=3)
    assert np.argmax(folds.importances) == 0


def test_a_response_too_small_to_be_squared():
    """An error, as for one that is too large, and no importances of 0."""

    def model(X):
        return 1e-300 * X[:, 0]

    for measure in (FIRMImportance(), PartialDependenceImportance()):
        with pytest.raises(ValueError, match=r"varies by .*e-300.*Rescale"):
            measure.fit(model, X)
    with pytest.raises(ValueError, match=r"varies by .*e-300.*Rescale"):
        FIRMImportance().fit(None, X, 1e-300 * X[:, 0])
    assert FIRMImportance().fit(lambda X: 1e-100 * X[:, 0], X).importances_[0] > 0
    constant = PartialDependenceImportance().fit(lambda X: np.zeros(len(X)), X)
    assert not constant.importances_.any()
    sure = LogisticRegression().fit(X, EVENT)
    sure.intercept_ = sure.intercept_ - 500.0  # probabilities of 1e-217 are no mistake
    assert np.all(
        FIRMImportance(response_method="predict_proba").fit(sure, X).importances_
        < 1e-200
    )
