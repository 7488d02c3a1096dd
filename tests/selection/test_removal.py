"""Columns that a pipeline asks for by name go as all others do, or hold a constant."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from roundoff import roundoff
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp import (
    AllRelevantSelector,
    BackwardEliminationSelector,
    ForwardSelector,
    PermutationImportance,
    SensitivityImportance,
    leave_out_importances,
)
from skvarimp.exceptions import ImportanceWarning

NAMES = ["age", "city", "income", "noise", "size"]
NUMBERS = ["age", "income", "noise"]
WORTH = dict(age=3.0, city=2.0, income=1.0, noise=0.1, size=0.2)
DRAWN = PermutationImportance(estimation="sampled", n_draws=4)
KINDS_AND_LIBRARIES = pytest.mark.parametrize(
    ("kind", "library"), each([BackwardEliminationSelector, ForwardSelector], [pd, pl])
)


def people(library, n=90, seed=0):
    """Numbers and words; the target needs age, city and income."""
    random = np.random.default_rng(seed)
    frame = {name: random.standard_normal(n) for name in NUMBERS}
    frame["city"] = random.choice(["Oslo", "Rome"], n)
    frame["size"] = random.choice(["s", "m", "l"], n)
    y = 3 * frame["age"] + 2 * (frame["city"] == "Rome") + frame["income"]
    y = y + 0.3 * random.standard_normal(n)
    return library.DataFrame({name: frame[name] for name in NAMES}), y


def worth(model, X, y):
    """A measure that costs nothing: one number for each column that it is given."""
    return np.array([WORTH[name] for name in X.columns])


def encoded(numbers, words, encoder=None):
    """Ridge behind a ColumnTransformer of these lists, those of words nested."""
    inner = ColumnTransformer(
        [
            (
                "hot",
                encoder or OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                words,
            )
        ]
    )
    scaled = ("scaled", StandardScaler(), numbers)
    return make_pipeline(ColumnTransformer([scaled, ("words", inner, words)]), Ridge())


BY_NAME = encoded(NUMBERS, ["city", "size"])
BY_TYPE = encoded(
    make_column_selector(dtype_include="number"),
    make_column_selector(dtype_exclude="number"),
)


def by_type(library):
    """The pipeline that asks for no names, of either library."""
    if library is pd:
        return BY_TYPE

    def numbers(frame):
        return [name for name in frame.columns if name in NUMBERS]

    def words(frame):
        return [name for name in frame.columns if name not in NUMBERS]

    return encoded(numbers, words)


@KINDS_AND_LIBRARIES
def test_names_are_dropped_from_the_lists(kind, library):
    """The numbers of a pipeline that selects by type, whose lists shrink by themselves.

    Until one column is left, so that each list is empty once and its part goes.
    """
    X, y = people(library)
    new, _ = people(library, 20, seed=1)
    named = kind(BY_NAME, worth, cv=2, performance_threshold=0.0).fit(X, y)
    typed = kind(by_type(library), worth, cv=2, performance_threshold=0.0)
    typed.fit(X, y)
    assert named.n_features_ == 1
    # columns in another order, and so sums
    np.testing.assert_allclose(
        named.path_["score"], typed.path_["score"], atol=roundoff(len(y), 1.0)
    )
    assert np.array_equal(named.ranking_, typed.ranking_)
    some = clone(named).set_params(performance_threshold="auto").fit(X, y)
    assert some.get_feature_names_out().tolist() == ["age", "city", "income"]
    some.set_output(transform="pandas" if library is pd else "polars")
    kept = some.transform(new)
    assert list(kept.columns) == ["age", "city", "income"]
    np.testing.assert_array_equal(some.predict(new), some.estimator_.predict(kept))
    assert BY_NAME[0].transformers[0][2] == NUMBERS
    assert BY_NAME[0].transformers[1][1].transformers[0][2] == ["city", "size"]


@KINDS_AND_LIBRARIES
def test_constants_in_place_of_columns(kind, library):
    """Scores and predictions of frames in which the other columns hold a constant."""
    X, y = people(library)
    new, _ = people(library, 20, seed=1)
    model = make_pipeline(BY_NAME[0], Ridge(fit_intercept=False))  # constants matter
    selector = kind(
        model, worth, cv=KFold(2), removal="constant", performance_threshold=0.97
    ).fit(X, y)
    table = pd.DataFrame({name: list(X[name]) for name in NAMES})
    typical = {name: np.sort(table[name])[44] for name in NUMBERS}
    typical |= {name: table[name].mode()[0] for name in ("city", "size")}

    def constant(frame, names):
        frame = pd.DataFrame({name: list(frame[name]) for name in NAMES})
        return frame.assign(**{name: typical[name] for name in names})

    kept = selector.get_feature_names_out().tolist()
    assert kept == ["age", "city", "income"]
    gone = [name for name in NAMES if name not in kept]
    scores = []
    for train, held_out in KFold(2).split(X):
        rows = constant(X, gone)
        fitted = clone(model).fit(rows.iloc[train], y[train])
        scores.append(fitted.score(rows.iloc[held_out], y[held_out]))
    step = selector.path_["n_features"].index(3)
    np.testing.assert_allclose(selector.path_["fold_scores"][step], scores, rtol=1e-12)
    whole = clone(model).fit(constant(X, gone), y)
    np.testing.assert_allclose(
        selector.predict(new), whole.predict(constant(new, gone)), rtol=1e-12
    )
    assert selector.transform(new).shape == (20, 3)


@pytest.mark.parametrize(
    "container",
    [
        np.asarray,
        sparse.csc_matrix,
        pytest.param(sparse.csr_array, marks=pytest.mark.thorough),
    ],
)
def test_columns_by_position_are_renumbered(container):
    """Positions shift when others go; held at constants they keep their places."""
    random = np.random.default_rng(0)
    dense = random.standard_normal((80, 5)) * (random.random((80, 5)) < 0.7) + 0.0
    y = dense @ [2.0, 0.0, 1.0, 0.0, 0.0] + 0.1 * random.standard_normal(80)
    inner = ColumnTransformer([("all", "passthrough", [0, 1, 2, 3, 4])])
    model = make_pipeline(inner, Ridge())
    X = container(dense)
    selector = BackwardEliminationSelector(model, SensitivityImportance(), cv=3).fit(
        X, y
    )
    assert selector.get_support(indices=True).tolist() == [0, 2]
    two = make_pipeline(ColumnTransformer([("all", "passthrough", [0, 1])]), Ridge())
    by_hand = two.fit(container(dense[:, [0, 2]]), y)
    np.testing.assert_allclose(
        selector.predict(X), by_hand.predict(container(dense[:, [0, 2]])), rtol=1e-10
    )
    selector.set_params(removal="constant").fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 2]
    other = selector.estimator_.named_steps["ridge"]
    assert other.coef_[[1, 3, 4]] == pytest.approx(0.0, abs=1e-12)
    constant = dense.copy()
    constant[:, [1, 3, 4]] = np.sort(dense, axis=0)[39, [1, 3, 4]]
    expected = clone(model).fit(constant, y).predict(constant)
    np.testing.assert_allclose(selector.predict(X), expected, rtol=1e-10)
    integers = (10 * dense).round().astype(int)
    assert selector.predict(container(integers)) == pytest.approx(
        clone(model)
        .fit(constant, y)
        .predict(np.where(selector.support_, integers, constant[0]))
    )


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "words",
                        OneHotEncoder(
                            categories=[["Oslo", "Rome"]], sparse_output=False
                        ),
                        ["city"],
                    )
                ],
                remainder="passthrough",
                verbose_feature_names_out=False,
            ).set_output(transform="pandas"),
            HistGradientBoostingRegressor(
                max_iter=5, categorical_features=["city_Oslo", "city_Rome"]
            ),
        ),
        pytest.param(
            make_pipeline(
                BY_NAME[0],
                ColumnTransformer([("again", StandardScaler(), ["scaled__age"])]),
                Ridge(),
            ).set_output(transform="pandas"),
            marks=pytest.mark.thorough,
        ),
    ],
)  # fmt: skip
def test_auto_takes_constants_where_names_are_bound(model):
    """Names that an earlier step makes; a warning says which."""
    X, y = people(pd)
    X = X.assign(size=X["size"].map({"s": 0.0, "m": 1.0, "l": 2.0}))
    with pytest.warns(ImportanceWarning, match="hold a constant.*no column of X|makes"):
        found = BackwardEliminationSelector(model, worth, cv=2, step=2).fit(X, y)
    told = clone(found).set_params(removal="constant").fit(X, y)
    assert found.path_["score"] == told.path_["score"]
    assert found.estimator_.n_features_in_ == len(NAMES)
    with pytest.warns(ImportanceWarning, match="hold a constant"):
        left_out = leave_out_importances(
            model, X, y, cv=2, features=["size"], removal="auto"
        )
    constant = leave_out_importances(model, X, y, cv=2, features=["size"])
    np.testing.assert_array_equal(left_out.importances, constant.importances)


def test_a_column_that_is_given_as_a_vector():
    """Texts to a CountVectorizer: without the column the transformer goes."""
    X, y = people(pd)
    X["text"] = np.where(y > np.median(y), "good old", "bad old")
    texts = ColumnTransformer(
        [("text", CountVectorizer(), "text"), ("rest", StandardScaler(), NUMBERS)]
    )
    model = make_pipeline(texts, Ridge())
    found = leave_out_importances(
        model, X, y, features=["text", "age"], removal="drop", cv=2
    )
    for feature, other in zip(["text", "age"], found.differences.T):
        parts = [("text", CountVectorizer(), "text")] if feature != "text" else []
        numbers = [name for name in NUMBERS if name != feature]
        parts.append(("rest", StandardScaler(), numbers))
        by_hand = make_pipeline(ColumnTransformer(parts), Ridge())
        for train, held_out in KFold(2).split(X):
            losses = [
                (y[held_out] - m.fit(X.iloc[train], y[train]).predict(X.iloc[held_out]))
                ** 2
                for m in (by_hand, model)
            ]
            np.testing.assert_allclose(
                other[held_out], losses[0] - losses[1], rtol=1e-9, atol=1e-9
            )
    selector = AllRelevantSelector(model, DRAWN, random_state=0, max_iter=2)
    assert (selector.fit(X, y).hits_[[0, 5]] == selector.n_iter_).all()


@pytest.mark.parametrize(("library", "removal"), each([pd, pl], ["auto", "constant"]))
def test_copies_are_given_to_the_lists(library, removal):
    """Shuffled copies go where their column goes: as by type, to the last hit."""
    X, y = people(library, 150)
    how = dict(measure=DRAWN, random_state=0, max_iter=3)
    named = AllRelevantSelector(BY_NAME, removal=removal, **how).fit(X, y)
    assert (named.hits_[:3] == named.n_iter_).all()
    assert (named.hits_[3:] < named.n_iter_).all()
    if library is pd and removal == "auto":
        typed = AllRelevantSelector(BY_TYPE, **how).fit(X, y)
        np.testing.assert_allclose(
            named.history_["importances"], typed.history_["importances"], rtol=1e-9
        )
    foreign = encoded(NUMBERS, ["city", "weight"])
    with pytest.raises(ValueError, match=r"'weight', which.*make_column_selector"):
        AllRelevantSelector(foreign).fit(X, y)


@pytest.mark.thorough
def test_searches_and_pipelines_over_selectors():
    """A removal is a parameter like others; the lists of a clone are its own."""
    X, y = people(pd)
    selector = BackwardEliminationSelector(BY_NAME, worth, cv=2, step=2)
    search = GridSearchCV(selector, {"removal": ["drop", "constant"]}, cv=2).fit(X, y)
    assert search.predict(X).shape == (90,)
    # a constant has coefficient 0 in a ridge with an intercept
    dropped, held = search.cv_results_["mean_test_score"]
    assert dropped == pytest.approx(held, rel=1e-9)
    before = selector.set_output(transform="pandas")
    after = make_pipeline(before, clone(BY_TYPE)).fit(X, y)
    assert after[0].get_feature_names_out().tolist() == ["age", "city", "income"]


class NeedsAll(Ridge):
    """Raises without one of six columns."""

    def fit(self, X, y, sample_weight=None):
        """Count first."""
        if X.shape[1] < 6:
            raise ValueError("Six columns.")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("n_gone", "named"),
    [
        (1, "'x0'"),
        (3, "'x0', 'x1', 'x2'"),
        (4, "'x0', 'x1', 'x2' and 1 more"),
        (5, "'x0', 'x1', 'x2' and 2 more"),
    ],
)
def test_columns_without_which_a_refit_fails_are_named(n_gone, named):
    """The first three; the estimator's own error follows."""
    X = np.random.default_rng(0).standard_normal((30, 6))
    expected = f"without {named} the estimator raises ValueError: Six columns. To go on"
    features = {"these": list(range(n_gone))}
    with pytest.raises(ValueError, match=re.escape(expected)):
        leave_out_importances(
            NeedsAll(), X, X[:, 0], features=features, removal="drop", random_state=0
        )
