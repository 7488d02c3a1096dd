"""`AllRelevantSelector`: shuffled copies, hits, decisions, and its history."""

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from messages import says
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skvarimp import (
    AllRelevantDisplay,
    AllRelevantSelector,
    CoefficientImportance,
    ImpurityImportance,
    InteractionImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._refits.all_relevant import TENTATIVE, Decisions

X, Y = make_friedman1(150, n_features=8, noise=0.5, random_state=0)
TREE = DecisionTreeRegressor(min_samples_leaf=5)


@parametrize_with_checks(
    [
        AllRelevantSelector(DecisionTreeClassifier(max_depth=3), max_iter=3),
    ]
)
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_scikit_learn_conventions(estimator, check):
    """All of scikit-learn's own checks."""
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks([AllRelevantSelector(LinearRegression(), max_iter=3)])
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_scikit_learn_conventions_of_regressors(estimator, check):
    """The same around a regressor."""
    check(estimator)


def test_finds_all_that_carry_information():
    """Of two copies of a column both, which a smallest sufficient set would not."""
    Z = np.column_stack([X, X[:, 3]])
    forest = RandomForestRegressor(20, min_samples_leaf=3)
    selector = AllRelevantSelector(forest, ImpurityImportance(), random_state=0)
    selector.fit(Z, Y)
    found = selector.get_support(indices=True)
    assert {0, 1, 3, 8} <= set(found) <= {0, 1, 2, 3, 4, 8}
    assert selector.n_features_ == len(found)
    assert np.array_equal(selector.transform(Z), Z[:, found])
    assert not np.any(selector.support_ & selector.tentative_)
    assert np.all(selector.ranking_[found] == 1)
    assert np.all(selector.ranking_[selector.tentative_] == 2)


def literal(history, alpha):
    """Support, tentative columns and hits, by the rule's words from the history."""
    n_rounds, p = history["importances"].shape
    state, hits, last = np.zeros(p, dtype=int), np.zeros(p, dtype=int), None
    for r in range(1, n_rounds + 1):
        row, largest = history["importances"][r - 1], history["largest_copy"][r - 1]
        left = np.flatnonzero(state >= 0)
        assert np.array_equal(left, np.flatnonzero(~np.isnan(row)))
        for j in left:
            hits[j] += row[j] > largest
        for upper in (True, False):
            side = "greater" if upper else "less"
            tails = np.array(
                [stats.binomtest(hits[j], r, 0.5, side).pvalue for j in left]
            )
            ordered = np.sort(tails)
            reached = ordered <= alpha / 2 * np.arange(1, len(left) + 1) / len(left)
            limit = ordered[reached].max() if reached.any() else -1.0
            for j, tail in zip(left, tails):
                if state[j] == 0 and tail <= limit:
                    state[j] = 1 if upper else -1
                    last = r
    return state, hits, last


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_rule(alpha):
    """The tests, round by round; rejected columns leave; ten idle rounds end it."""
    selector = AllRelevantSelector(
        TREE, max_iter=60, n_iter_no_change=10, alpha=alpha, random_state=0
    )
    selector.fit(X, Y)
    state, hits, last = literal(selector.history_, alpha)
    assert np.array_equal(selector.support_, state == 1)
    assert np.array_equal(selector.tentative_, state == 0)
    assert np.array_equal(selector.hits_, hits)
    assert selector.n_iter_ == len(selector.history_["largest_copy"])
    if (state == 0).any():
        assert selector.n_iter_ == last + 10
    else:
        assert selector.n_iter_ == last


class Fixed(RegressorMixin, BaseEstimator):
    """Remembers the tables it was fitted to, and predicts nothing."""

    seen: list = []  # noqa: RUF012 shared by all clones on purpose

    def fit(self, X, y, sample_weight=None):
        """Remember."""
        Fixed.seen.append(X)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """Zeros."""
        return np.zeros(len(X))


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("n", range(9))
def test_batches_end_where_a_decision_can_fall(n, alpha):
    """Hits only, or misses only, decide as early as any rounds to come."""
    for hits in range(n + 1):
        ends = []
        decisions = Decisions(1, 40, 40, alpha)
        decisions.hits[0], decisions.largest_copy = hits, [0.0] * n
        decisions.decide()
        if decisions.state[0] != TENTATIVE:
            continue
        batch = decisions.next_batch()
        for hit in (True, False):
            run = deepcopy(decisions)
            for more in range(1, batch + 1):
                run.add([0], float(hit), 0.5)
                run.decide()
                if run.state[0] != TENTATIVE:
                    ends.append(more)
                    assert more >= batch
                    break
        assert batch in ends


def test_only_importances_above_all_copies_are_hits():
    """A column without effect often ties with its copies, at 0."""
    decisions = Decisions(4, 10, 10, 0.05)
    decisions.add([0, 2, 3], np.array([0.0, -0.1, 0.1]), 0.0)
    decisions.add([2, 3], np.array([0.1, 0.3]), 0.2)
    assert decisions.hits.tolist() == [0, 0, 0, 2]
    assert decisions.largest_copy == [0.0, 0.2]
    expected = [[0.0, np.nan, -0.1, 0.1], [np.nan, np.nan, 0.1, 0.3]]
    np.testing.assert_array_equal(decisions.importances, expected)


def test_decisions_by_hand():
    """Always above, always below, and now and then: seven rounds decide on two."""
    flips = iter(range(1000))

    def importance(estimator, X, y):
        by_position = {"high": 1.0, "low": 0.0, "coin": float(next(flips) % 2)}
        return np.array([by_position.get(name, 0.5) for name in X.columns])

    frame = pd.DataFrame(np.zeros((20, 3)), columns=["high", "low", "coin"])
    selector = AllRelevantSelector(Fixed(), importance, random_state=0)
    selector.fit(frame, np.arange(20.0))
    assert selector.support_.tolist() == [True, False, False]
    assert selector.tentative_.tolist() == [False, False, True]
    assert selector.ranking_.tolist() == [1, 3, 2]
    assert selector.n_iter_ == 7 + 5
    assert selector.hits_.tolist() == [12, 0, 6]
    assert np.isnan(selector.history_["importances"][7:, 1]).all()
    assert not np.isnan(selector.history_["importances"][:, [0, 2]]).any()
    # 2^-7 times three columns is at most 0.025, 2^-6 times three is not
    for max_iter, decided in ((1, 0), (6, 0), (7, 2)):
        short = AllRelevantSelector(Fixed(), importance, max_iter=max_iter)
        short.fit(frame, np.arange(20.0))
        assert (~short.tentative_).sum() == decided
        assert short.n_iter_ == max_iter


@pytest.mark.parametrize("library", [pd, pl, np, sparse])
def test_copies(library):
    """Each copy holds its column's values in another order, anew in each round."""
    random = np.random.default_rng(0)
    numbers = random.integers(0, 3, (30, 3)).astype(float)
    if library is pd:
        table = pd.DataFrame(numbers, columns=["a", "b", "shuffled a"], index=range(30))
        table["b"] = pd.Categorical(
            np.array(["u", "v", "w"])[numbers[:, 1].astype(int)]
        )
    elif library is pl:
        table = pl.DataFrame(numbers, schema=["a", "b", "c"])
        table = table.with_columns(pl.col("b").cast(pl.String).cast(pl.Categorical))
    else:
        table = numbers if library is np else sparse.csr_array(numbers)
    Fixed.seen.clear()
    selector = AllRelevantSelector(
        Fixed(), lambda model, X, y: np.zeros(X.shape[1]), max_iter=3, random_state=0
    )
    selector.fit(table, np.arange(30.0))
    orders = []
    for wide in Fixed.seen:
        assert type(wide) is type(table)
        assert wide.shape == (30, 3 + 5)  # at least five copies
        if library in (pd, pl):
            names = list(wide.columns)
            assert len(set(names)) == len(names)
            assert names[:3] == list(table.columns)
            if library is pd:
                dtypes = [str(wide[name].dtype) for name in names]
                assert dtypes == (["float64", "category", "float64"] * 3)[:8]
            columns = [list(wide[name]) for name in names]
        else:
            dense = wide if library is np else wide.toarray()
            columns = dense.T.tolist()
        for k in range(3, 8):
            assert sorted(columns[k]) == sorted(columns[k % 3])
            assert columns[k] != columns[k % 3]
            orders.append(tuple(columns[k]))
    assert len(set(orders)) == len(orders)


def test_numbered_columns_of_a_frame():
    """Labels that are numbers stay numbers."""
    Fixed.seen.clear()
    frame = pd.DataFrame(X[:, :5])
    zeros = AllRelevantSelector(
        Fixed(), lambda model, X, y: np.zeros(X.shape[1]), max_iter=1
    )
    zeros.fit(frame, Y)
    assert list(Fixed.seen[0].columns) == list(range(10))


@pytest.mark.thorough
def test_random_state():
    """Same seed, same history, whatever n_jobs; other seeds differ; nothing changes."""

    def run(random_state, n_jobs=None):
        selector = AllRelevantSelector(
            RandomForestRegressor(3, max_depth=4),
            PermutationImportance(estimation="sampled", n_draws=4),
            max_iter=4,
            n_jobs=n_jobs,
            random_state=random_state,
        ).fit(X, Y)
        assert selector.estimator.random_state is None
        assert selector.measure.random_state is None
        return selector.history_["importances"]

    before = X.copy()
    first = run(0)
    np.testing.assert_array_equal(first, run(0))
    np.testing.assert_array_equal(first, run(0, n_jobs=2))
    assert not np.array_equal(first, run(1), equal_nan=True)
    consumed = np.random.RandomState(0)
    assert not np.array_equal(run(consumed), run(consumed), equal_nan=True)
    assert np.array_equal(X, before)


def test_default_importance():
    """Impurity of forests, sensitivity of other models; a misfit of the two raises."""
    forest = RandomForestRegressor(5, random_state=0, max_depth=4)
    for model in (forest, KNeighborsRegressor(5)):
        selector = AllRelevantSelector(model, max_iter=3, random_state=0).fit(X, Y)
        assert selector.history_["importances"].shape[1] == 8
    with pytest.raises(TypeError, match="needs a tree"):
        AllRelevantSelector(Ridge(), ImpurityImportance()).fit(X, Y)


@pytest.mark.parametrize(
    "importance",
    [
        SensitivityImportance(),
        PermutationImportance(),
        CoefficientImportance(statistic="standardized"),
        lambda model, X, y: np.abs(model.coef_),
    ],
)
def test_any_importance(importance):
    """A line sees four of the five columns, and not the parabola of x2."""
    selector = AllRelevantSelector(LinearRegression(), importance, random_state=0)
    found = set(selector.fit(X, Y).get_support(indices=True))
    assert {0, 1, 3, 4} <= found
    assert 2 not in found


def mixed(n=120):
    """A frame of numbers and categories; y follows one of each."""
    random = np.random.default_rng(0)
    city = np.array(["Oslo", "Rome", "Lima"])[random.integers(3, size=n)]
    frame = pd.DataFrame(
        {
            "age": random.standard_normal(n),
            "city": pd.Categorical(city),
            "size": random.standard_normal(n),
            "name": pd.Categorical(random.permutation(city)),
        }
    )
    y = 2.0 * (city == "Rome") + frame["age"] + 0.3 * random.standard_normal(n)
    return frame, y


@pytest.mark.thorough
@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_any_type(library):
    """Frames with categories, in pipelines that choose columns by type."""
    frame, y = mixed()
    if library is pl:
        frame = pl.from_pandas(frame)
        types = (pl.selectors.categorical(), pl.selectors.numeric())
        by_type = [lambda X, kind=kind: X.select(kind).columns for kind in types]
    else:
        by_type = [
            make_column_selector(dtype_include=t) for t in ("category", "number")
        ]
    encode = make_column_transformer(
        (OneHotEncoder(), by_type[0]), (StandardScaler(), by_type[1])
    )
    selector = AllRelevantSelector(make_pipeline(encode, Ridge()), random_state=0)
    selector.fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["age", "city"]
    kept = selector.set_output(transform="pandas").transform(pd.DataFrame(mixed()[0]))
    assert list(kept.columns) == ["age", "city"]


def test_missing_values_and_sparse():
    """Go to the estimator as they came."""
    Z = X.copy()
    Z[::7, 2] = np.nan
    selector = AllRelevantSelector(TREE, random_state=0, max_iter=12).fit(Z, Y)
    assert selector.support_[3]
    for container in (sparse.csr_array, sparse.csc_matrix):
        wide = container(np.where(X > 0.5, X, 0.0))
        selector = AllRelevantSelector(TREE, random_state=0, max_iter=12).fit(wide, Y)
        dense = AllRelevantSelector(TREE, random_state=0, max_iter=12)
        dense.fit(wide.toarray(), Y)
        assert np.array_equal(selector.support_, dense.support_)
        assert selector.transform(wide).shape[1] == selector.n_features_


def test_in_pipelines_and_searches():
    """As a step; its parameters and the estimator's are searched."""
    inner = AllRelevantSelector(TREE, max_iter=12, random_state=0)
    pipeline = make_pipeline(inner, Ridge())
    search = GridSearchCV(
        pipeline,
        {
            "allrelevantselector__alpha": [0.01, 0.2],
            "allrelevantselector__estimator__min_samples_leaf": [5, 20],
        },
        cv=2,
    ).fit(X, Y)
    assert search.best_score_ > 0.5
    assert search.predict(X).shape == Y.shape


def test_metadata():
    """Weights reach the fit and the measure, with routing on and off."""
    weights = np.where(np.arange(150) < 100, 1.0, 0.0)
    selector = AllRelevantSelector(Ridge(), random_state=0, max_iter=11)
    plain = selector.fit(X, Y, sample_weight=weights).history_["importances"]
    unweighted = selector.fit(X, Y).history_["importances"]
    assert not np.array_equal(plain, unweighted, equal_nan=True)
    with config_context(enable_metadata_routing=True):
        routed = AllRelevantSelector(
            Ridge().set_fit_request(sample_weight="w"),
            SensitivityImportance(contrast="observed", scale=None).set_fit_request(
                sample_weight="w"
            ),
            random_state=0,
            max_iter=11,
        ).fit(X, Y, w=weights)
    np.testing.assert_array_equal(routed.history_["importances"], plain)
    with pytest.raises(TypeError, match="takes no `groups`"):
        selector.fit(X, Y, groups=np.arange(150))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        AllRelevantSelector(KNeighborsRegressor()).fit(X, Y, sample_weight=weights)


def test_callbacks():
    """One task per round; a stop leaves the decisions so far."""
    recorder = Recorder(step="round")
    selector = AllRelevantSelector(Ridge(), random_state=0)
    selector.set_callbacks(recorder)
    selector.fit(X, Y)
    assert recorder.steps == selector.n_iter_
    selector.set_callbacks(Recorder(4, step="round"))
    assert selector.fit(X, Y).n_iter_ == 4
    assert selector.tentative_.all()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(estimator=Ridge), TypeError, "`estimator`"),
        (
            dict(measure=SensitivityImportance),
            TypeError,
            says("`measure` … the class … SensitivityImportance()"),
        ),
        (
            dict(measure=SensitivityImportance(features=[0])),
            ValueError,
            "features=None",
        ),
        (
            dict(measure=InteractionImportance()),
            TypeError,
            says("InteractionImportance … one number per column … 'h_overall'"),
        ),
        (
            dict(measure=lambda model, X, y: 1.0),
            ValueError,
            says("measure … 16 columns, got shape ()"),
        ),
        (dict(alpha=0.0), ValueError, "'alpha'"),
        (dict(max_iter=0), ValueError, "'max_iter'"),
        (dict(n_iter_no_change=0), ValueError, "'n_iter_no_change'"),
    ],
)
def test_bad_input(given, error, message):
    """Named with what to do, most of it before any fit."""
    with pytest.raises(error, match=message):
        AllRelevantSelector(**(dict(estimator=Ridge()) | given)).fit(X, Y)


def test_two_rows_are_enough():
    """In so few no tree finds anything; a single row has no other order."""
    selector = AllRelevantSelector(TREE, random_state=0, max_iter=3)
    selector.fit([[0.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
    assert selector.hits_.tolist() == [0, 0]
    with pytest.raises(ValueError, match=says("at least two … n_samples = 1")):
        selector.fit([[0.0, 1.0]], [0.0])


def test_labels_as_text():
    """Classes may be strings."""
    words = np.where(np.median(Y) < Y, "high", "low")
    forest = RandomForestClassifier(15, min_samples_leaf=3)
    selector = AllRelevantSelector(forest, random_state=0, max_iter=15).fit(X, words)
    assert selector.support_[3]


@pytest.mark.parametrize("n_columns", [5, 20, 100])
def test_plot(n_columns):
    """One box per column and one of the largest copies, coloured by the decision."""
    random = np.random.default_rng(0)
    levels = np.arange(n_columns, 0.0, -1.0)
    values = levels + 0.1 * random.standard_normal((12, n_columns))
    values[9:, -2:] = np.nan
    copies = np.full(12, 2.5)
    names = [f"column {j}" for j in range(n_columns)]
    states = ["selected"] * (n_columns - 2) + ["rejected"] * 2
    display = AllRelevantDisplay(values, copies, names, states).plot()
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    shown = min(n_columns, 30)
    assert len(labels) == shown + 1
    assert labels[0] == "column 0"
    if n_columns <= 30:
        assert labels[-3:] == ["largest copy", *names[-2:]]
    else:
        note = " ".join(display.key_.get_text().split())
        assert "not shown: 68 selected, 2 rejected" in note
        assert labels[-1] == "largest copy"
    legend = display.figure_.legends[0].get_texts()
    assert legend[0].get_text() == f"selected ({n_columns - 2})"
    with pytest.raises(ValueError, match="max_features"):
        AllRelevantDisplay(values, copies, names, states).plot(max_features=0)


def test_plot_of_a_selector():
    """Names from X, in one call."""
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    selector = AllRelevantSelector(TREE, max_iter=12, random_state=0).fit(frame, Y)
    display = selector.plot_history(label="impurity")
    assert display.ax_.get_xlabel().startswith("impurity (")
    texts = {text.get_text() for text in display.ax_.get_yticklabels()}
    assert texts == {*frame.columns, "largest copy"}


def test_columns_that_the_measure_names_by_their_places():
    """The first column of an array without names is x0, and so is its copy."""
    found = []
    for named in (["x0", "x3"], [0, 3]):
        measure = SensitivityImportance(categorical_features=named)
        selector = AllRelevantSelector(
            Ridge(), measure=measure, max_iter=3, random_state=0
        )
        found.append(selector.fit(X, Y).history_["importances"])
    np.testing.assert_array_equal(*found)
