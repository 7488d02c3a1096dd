"""Interactions of three and of all features, and the screen for the strongest pairs."""

from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
import pytest
from combinations import each
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, VotingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, SplineTransformer
from sklearn.tree import DecisionTreeRegressor

from skvarimp import ImportanceDisplay, InteractionImportance
from skvarimp._measures.joint import interaction

X, Y = make_friedman1(40, n_features=6, noise=0.5, random_state=0)
X[:, 3] = np.round(4 * X[:, 3]) / 4  # ties
WEIGHTS = np.random.RandomState(1).uniform(0.3, 2, len(X))
NETWORK = MLPClassifier(
    (5,), activation="tanh", solver="lbfgs", max_iter=40, random_state=0
)


def three_classes(X, Y):
    """A network that has seen three classes."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NETWORK.fit(X, np.digitize(Y, [11, 17]))


MODELS = {
    "bins": make_pipeline(
        KBinsDiscretizer(4, strategy="uniform"), DecisionTreeRegressor(random_state=0)
    ).fit(X, Y),
    "boosting": GradientBoostingRegressor(n_estimators=15, random_state=0).fit(X, Y),
    "kernel": KernelRidge(kernel="rbf", gamma=1.0).fit(X, Y),
    "network": three_classes(X, Y),
    "callable": lambda X: np.column_stack(
        [X[:, 0] * X[:, 1] * X[:, 3] + X[:, 2], np.sin(3 * X[:, 0] * X[:, 2]) + X[:, 1]]
    ),
}


def outputs(model):
    """X -> (n, n_outputs)."""
    if callable(model):
        return model
    ask = getattr(model, "predict_proba", model.predict)
    return lambda X: ask(X).reshape(len(X), -1)


def dependence(f, X, columns, w):
    """Centred partial dependence at the rows, by a loop over them."""
    values = []
    for row in X:
        moved = X.copy()
        moved[:, columns] = row[list(columns)]
        values.append(w @ f(moved))
    return np.array(values) - w @ np.array(values)


def literal_three(f, X, triple, w):
    """Friedman & Popescu, section 8.1: what no pair of the three explains."""
    whole = dependence(f, X, triple, w)
    rest = whole.copy()
    for j, k in combinations(triple, 2):
        rest -= dependence(f, X, (j, k), w)
    for j in triple:
        rest += dependence(f, X, (j,), w)
    return np.sqrt(w @ rest**2 / (w @ whole**2))


def literal_total(f, X, w):
    """What no single column explains."""
    base = f(X) - w @ f(X)
    rest = base - sum(dependence(f, X, (j,), w) for j in range(X.shape[1]))
    return w @ rest**2 / (w @ base**2)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "weighted"), each(MODELS, [False, True]))
def test_three_and_all_equal_a_literal_loop(name, weighted):
    """With ties, weights and several outputs."""
    model, f = MODELS[name], outputs(MODELS[name])
    weights = WEIGHTS if weighted else None
    w = WEIGHTS / WEIGHTS.sum() if weighted else np.full(len(X), 1 / len(X))
    triples = [(0, 1, 3), (4, 2, 0)]
    imp = InteractionImportance(statistic="h", triples=triples)
    imp.fit(model, X, sample_weight=weights)
    expected = [literal_three(f, X, triple, w) for triple in triples]
    close = {"rtol": 1e-8, "atol": 1e-11}
    np.testing.assert_allclose(imp.importances_per_output_, expected, **close)
    assert imp.triples_ == [("x0", "x1", "x3"), ("x4", "x2", "x0")]
    assert imp.features_ == ["x0:x1:x3", "x4:x2:x0"]
    assert imp.pairs_ is None
    assert imp.matrix_ is None
    total = InteractionImportance(statistic="h_total")
    total.fit(model, X, sample_weight=weights)
    expected = literal_total(f, X, w)
    np.testing.assert_allclose(total.importances_per_output_[0], expected, **close)
    assert total.features_ == ["all features"]
    assert total.importances_.shape == (1,)


def test_product_of_three_centred_columns():
    """On a cube: nothing but the product of all three, and one additive column."""
    cube = np.array(list(product([-1.0, 1.0], repeat=4)))

    def f(X):
        return X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3]

    pairs = InteractionImportance(statistic="h").fit(f, cube)
    assert np.all(pairs.importances_ == 0)
    three = InteractionImportance(statistic="h", triples=[(0, 1, 2), (0, 1, 3)])
    assert three.fit(f, cube).importances_.tolist() == [1.0, 0.0]
    # variance 2, of which the product has 1
    total = InteractionImportance(statistic="h_total").fit(f, cube)
    np.testing.assert_allclose(total.importances_, 0.5, rtol=1e-14)
    # of the features named, x3 excepted: its part is left as well
    part = InteractionImportance(statistic="h_total", features=[0, 1, 2]).fit(f, cube)
    np.testing.assert_allclose(part.importances_, 1.0, rtol=1e-14)
    # one feature that holds all that interact
    groups = InteractionImportance(statistic="h_total", features=[[0, 1, 2], [3]])
    np.testing.assert_allclose(groups.fit(f, cube).importances_, 0, atol=1e-14)


ENCODED = make_column_transformer((SplineTransformer(3), [0]), (OneHotEncoder(), [3]))
ADDITIVE = {
    "ridge": Ridge().fit(X, Y),
    "vote": VotingRegressor([("a", Ridge()), ("b", Lasso(0.1))]).fit(X, Y),
    "spline": make_pipeline(ENCODED, Ridge()).fit(X, Y),
    "logistic": LogisticRegression().fit(X, Y > 14),
}


@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_models_are_known(name):
    """No work for pairs and triples; H of all by the sum of the parts."""
    model = ADDITIVE[name]
    method = "decision_function" if name == "logistic" else "auto"
    how = {"response_method": method}
    triples = list(combinations(range(5), 3))
    for asked in (
        {},
        {"statistic": "h"},
        {"statistic": "h", "triples": triples},
        {"pairs": 3},
    ):
        imp = InteractionImportance(**asked, **how).fit(model, X)
        assert np.all(imp.importances_ == 0)
    total = InteractionImportance(statistic="h_total", **how).fit(model, X)
    assert total.importances_[0] < 1e-13
    # through its link the logistic model is not additive
    if name == "logistic":
        assert InteractionImportance().fit(model, X).importances_.max() > 0.001


@pytest.mark.thorough
def test_additive_pairs_take_no_time():
    """100 000 pairs of a linear model of 20 000 rows."""
    rows = np.random.default_rng(0).normal(size=(20_000, 400))
    model = Ridge().fit(rows[:500], rows[:500, 0])
    imp = InteractionImportance(statistic="h").fit(model, rows)
    assert len(imp.importances_) == 400 * 399 // 2
    assert not imp.importances_.any()


def test_screen_finds_the_strongest_pairs():
    """Of 40 columns with three pairs that matter, the three, and in their order."""
    rows = np.random.default_rng(0).normal(size=(150, 40))

    def f(X):
        main = X[:, 10] + np.sin(X[:, 11])
        products = 3 * X[:, 5] * X[:, 7] + 2 * X[:, 20] * X[:, 1] + X[:, 39] * X[:, 38]
        return main + products

    calls = []

    def counted(X):
        calls.append(len(X))
        return f(X)

    imp = InteractionImportance(pairs=3).fit(counted, rows)
    assert imp.pairs_ == [("x5", "x7"), ("x1", "x20"), ("x38", "x39")]
    assert imp.top_pairs(2) == [("x5", "x7"), ("x1", "x20")]
    assert imp.ranking_.tolist() == [1, 2, 3]
    named = InteractionImportance(pairs=imp.top_pairs(3)).fit(f, rows)
    np.testing.assert_allclose(named.importances_, imp.importances_, rtol=1e-12)
    # 15 pairs of six features, of the 780 that there are
    assert sum(calls) < 150 * (40 * 11 + 15 * 121 + 6) + 10_000
    assert np.isnan(imp.matrix_).sum() == 40 * 40 - 6


@pytest.mark.parametrize(("n_pairs", "n_taken"), [(1, 4), (2, 5), (3, 6), (4, 7)])
def test_screen_computes_four_times_as_many_pairs(n_pairs, n_taken, monkeypatch):
    """All pairs of the features that interact most; 4 * 4 needs the 21 of seven."""
    asked, screened = [], interaction.screened_pairs

    def screen(*args):
        asked.append(screened(*args))
        return asked[-1]

    monkeypatch.setattr(interaction, "screened_pairs", screen)
    rows = np.random.default_rng(0).normal(size=(60, 9))
    parts = 0.5 ** np.arange(8)
    imp = InteractionImportance(pairs=n_pairs)
    imp.fit(lambda X: 9 * X[:, 5] + X[:, 8] * (X[:, :8] @ parts), rows)
    # x8 with all, and each of the others with x8 alone, the less the later
    taken = [*range(n_taken - 1), 8]
    assert asked == [list(combinations(taken, 2))]
    assert imp.pairs_[0] == ("x0", "x8")


def test_screen_with_few_features():
    """No more pairs than there are; groups that share columns form none."""
    two = InteractionImportance(pairs=9, features=[0, 1]).fit(MODELS["boosting"], X)
    assert two.pairs_ == [("x0", "x1")]
    overlapping = InteractionImportance(pairs=9, features=[[0, 1], [1, 2], [3]])
    overlapping.fit(MODELS["boosting"], X)
    assert set(overlapping.pairs_) == {("x0+x1", "x3"), ("x1+x2", "x3")}
    constant = InteractionImportance(pairs=2).fit(lambda X: np.full(len(X), 0.1), X)
    assert constant.importances_.tolist() == [0, 0]


def test_pictures():
    """Triples and the total as bars, the pairs that a screen found as a heat map."""
    imp = InteractionImportance(statistic="h", triples=[(0, 1, 2)])
    assert isinstance(imp.fit(MODELS["boosting"], X).plot(), ImportanceDisplay)
    total = InteractionImportance(statistic="h_total").fit(MODELS["boosting"], X)
    assert isinstance(total.plot(), ImportanceDisplay)
    few = InteractionImportance(pairs=2).fit(MODELS["boosting"], X).plot()
    assert len(few.names) < 6
    with pytest.raises(TypeError, match="InteractionImportance of pairs"):
        total.top_pairs()
    plt.close("all")


def test_bad_input():
    """Before any work, naming the way out."""
    h = {"statistic": "h"}
    cases = [
        ({"triples": [(0, 1, 2)]}, ValueError, "statistic='h'"),
        ({**h, "triples": [(0, 1)]}, ValueError, "triples of different features"),
        ({**h, "triples": [(0, 1, 1)]}, ValueError, "triples of different features"),
        ({**h, "triples": [(0, 1, 2), (2, 1, 0)]}, ValueError, "more than once"),
        ({**h, "triples": [(0, 1, 9)]}, ValueError, "positions run from 0 to 5"),
        ({**h, "triples": []}, ValueError, "empty"),
        ({**h, "triples": [(0, 1, 2)], "pairs": 3}, ValueError, "both"),
        ({"statistic": "h_total", "pairs": 3}, ValueError, "no meaning"),
        ({"statistic": "h_total", "triples": [(0, 1, 2)]}, ValueError, "no meaning"),
        (
            {"statistic": "h_total", "features": [[0, 1], [1, 2]]},
            ValueError,
            "share the column 1",
        ),
        ({"pairs": 0}, ValueError, "pairs"),
        ({"pairs": 3, "features": [0]}, ValueError, "at least two features"),
    ]

    def f(X):
        return X[:, 0]

    for parameters, error, match in cases:
        with pytest.raises(error, match=match):
            InteractionImportance(**parameters).fit(f, X)


def test_positions_count_from_both_ends():
    """As indices of sequences do."""
    first = InteractionImportance(pairs=[(0, 5)]).fit(MODELS["boosting"], X)
    last = InteractionImportance(pairs=[(-6, -1)]).fit(MODELS["boosting"], X)
    assert first.pairs_ == last.pairs_


def test_ten_pairs_are_the_strongest():
    """If not told how many."""
    imp = InteractionImportance().fit(lambda X: X.prod(axis=1), X[:15, :6])
    assert len(imp.pairs_) == 15
    assert len(imp.top_pairs()) == 10
