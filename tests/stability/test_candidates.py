"""Importances in all good models of a search."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from messages import says
from refit_cases import LINEAR, OBSERVED, X, Y, slopes
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    CandidatesDisplay,
    InteractionImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_candidates,
    importance_across_folds,
)
from skvarimp._data.table import as_table
from skvarimp._refits.candidates import _labels
from skvarimp._refits.filled import FilledColumns
from skvarimp.exceptions import ImportanceWarning

ALPHAS = [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 100.0]
SEARCH = GridSearchCV(Lasso(), {"alpha": ALPHAS}, cv=5).fit(X, Y)
MEASURE = PermutationImportance()


class Counting(RegressorMixin, BaseEstimator):
    """A ridge that counts how often any of its kind is fitted."""

    n_fits = 0

    def __init__(self, alpha=1.0, fails=False):
        self.alpha, self.fails = alpha, fails

    def fit(self, X, y):
        """Count, and fail on demand."""
        Counting.n_fits += 1
        if self.fails:
            raise ValueError("asked to fail")
        self.ridge_ = Ridge(alpha=self.alpha).fit(X, y)
        self.coef_ = self.ridge_.coef_
        return self

    def predict(self, X):
        """Evaluate."""
        return self.ridge_.predict(X)


def good_by_hand(search, within, name="score"):
    """Positions of the good candidates, the best first, and the score they need."""
    results, folds = search.cv_results_, search.n_splits_
    mean = results[f"mean_test_{name}"]
    best = np.nanargmax(mean)
    if within == "one_standard_error":
        of_best = [results[f"split{k}_test_{name}"][best] for k in range(folds)]
        needed = mean[best] - np.std(of_best, ddof=1) / np.sqrt(folds)
    else:
        needed = mean[best] - within * abs(mean[best])
    good = [k for k in np.argsort(-mean, kind="stable") if mean[k] >= needed]
    return good, needed


@pytest.mark.parametrize("within", ["one_standard_error", 0.0, 0.01, 0.3])
def test_equals_a_plain_loop(within):
    """Clone, set the parameters, fit, measure; the rule by hand on `cv_results_`."""
    found = importance_across_candidates(SEARCH, X, Y, within=within)
    good, needed = good_by_hand(SEARCH, within)
    assert found.score_needed == needed
    assert found.params == [SEARCH.cv_results_["params"][k] for k in good]
    np.testing.assert_array_equal(
        found.scores, SEARCH.cv_results_["mean_test_score"][good]
    )
    expected = [
        clone(MEASURE).fit(Lasso(alpha=of["alpha"]).fit(X, Y), X, Y).importances_
        for of in found.params
    ]
    np.testing.assert_array_equal(found.by_model, expected)
    np.testing.assert_array_equal(found.importances, expected[0])
    np.testing.assert_array_equal(found.lowest, np.min(expected, axis=0))
    np.testing.assert_array_equal(found.highest, np.max(expected, axis=0))
    for e in range(X.shape[1]):
        k = found.models.index(found.lowest_models[e])
        assert expected[k][e] == found.lowest[e]
        k = found.models.index(found.highest_models[e])
        assert expected[k][e] == found.highest[e]


def test_out_of_fold():
    """With `cv`, the mean over the folds of each model."""
    cv = KFold(4)
    found = importance_across_candidates(
        SEARCH, X, Y, measure=OBSERVED, within=0.05, cv=cv
    )
    assert len(found.models) > 2
    for of, values in zip(found.params, found.by_model):
        folds = importance_across_folds(Lasso(**of), X, Y, OBSERVED, cv)
        np.testing.assert_allclose(values, folds.by_fold.mean(axis=0), rtol=1e-13)


def test_two_copies_of_a_column():
    """A ridge uses both; either can go, both at once cannot."""
    random = np.random.default_rng(0)
    x, z, useless, noise = random.normal(size=(4, 200))
    copies, y = np.column_stack([x, x]), 2 * x + noise
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(copies, y)
    found = importance_across_candidates(search, copies, y)
    assert found.dispensable.all()
    assert found.dispensable_together.sum() == 1
    three = np.column_stack([x, *random.normal(size=(2, 200))])
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(three, y)
    said = importance_across_candidates(search, three, y, within=0.1).summary()
    assert "Each of x2 and x1 can go by itself. They can all go at once." in said
    frame = pd.DataFrame({"a": x, "b": x, "z": z, "useless": useless})
    y = 2 * x + z + noise
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}).fit(frame, y)
    found = importance_across_candidates(search, frame, y)
    assert (found.lowest[:2] > 1).all()  # every model uses both
    assert found.dispensable.tolist() == [True, True, False, True]
    a, b = found.dispensable_together[:2]
    assert a != b
    assert found.dispensable_together[3]
    said = found.summary()
    assert "No good model was found without z." in said
    assert "Not all of them can go" in said
    pair = SensitivityImportance(features={"a": "a", "b": "b", "both": ["a", "b"]})
    found = importance_across_candidates(search, frame, y, measure=pair)
    assert found.dispensable.tolist() == [True, True, False]


def test_many_candidates_cost_few_refits():
    """Of 200 candidates at most `max_models` are refitted, those with best scores."""
    alphas = np.logspace(-6, 0, 200)
    search = GridSearchCV(Counting(), {"alpha": alphas}, cv=3).fit(X, Y)
    Counting.n_fits = 0
    found = importance_across_candidates(search, X, Y, measure=slopes, max_models=7)
    assert Counting.n_fits == 7
    assert len(found.models) == 7
    assert found.n_good > 7
    best = np.sort(search.cv_results_["mean_test_score"])[::-1][:7]
    np.testing.assert_array_equal(found.scores, best)
    Counting.n_fits = 0
    found = importance_across_candidates(search, X, Y, measure=slopes)
    assert Counting.n_fits == 20
    assert f"the best 20 of {found.n_good} good models" in found.summary()


def test_several_metrics():
    """The metric of `refit`, or the one named."""
    scoring = {"r2": "r2", "mae": "neg_mean_absolute_error"}
    how = {"scoring": scoring, "cv": 5}
    search = GridSearchCV(Lasso(), {"alpha": ALPHAS}, refit="mae", **how).fit(X, Y)
    for name in ("r2", "mae"):
        good, needed = good_by_hand(search, "one_standard_error", name)
        found = importance_across_candidates(search, X, Y, scoring=name)
        assert found.score_needed == needed
        assert found.params == [search.cv_results_["params"][k] for k in good]
        assert found.dispensable is not None
    default = importance_across_candidates(search, X, Y)
    assert default.score_needed == needed  # that of refit="mae"
    search = GridSearchCV(Lasso(), {"alpha": ALPHAS}, refit=False, **how).fit(X, Y)
    with pytest.raises(ValueError, match=r"\['mae', 'r2'\].*refit=False"):
        importance_across_candidates(search, X, Y)
    found = importance_across_candidates(search, X, Y, scoring="mae")
    np.testing.assert_array_equal(found.by_model, default.by_model)

    def both(estimator, X, y):
        return {"r2": estimator.score(X, y), "other": 0.0}

    search = GridSearchCV(
        Lasso(), {"alpha": ALPHAS}, scoring=both, refit="r2", cv=5
    ).fit(X, Y)
    found = importance_across_candidates(search, X, Y)
    same = importance_across_candidates(SEARCH, X, Y)
    np.testing.assert_array_equal(found.by_model, same.by_model)
    np.testing.assert_array_equal(found.dispensable, same.dispensable)


def test_failed_candidates():
    """A score of NaN is not good, and not the best."""
    grid = {"alpha": [0.1, 1.0], "fails": [True, False]}
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        search = GridSearchCV(Counting(), grid, cv=3).fit(X, Y)
    found = importance_across_candidates(search, X, Y, measure=slopes, within=1.0)
    assert [of["fails"] for of in found.params] == [False, False]
    assert sorted(found.models) == ["alpha=0.1, fails=False", "alpha=1, fails=False"]
    scores = {"a": (LINEAR, [np.nan, 1.0])}
    with pytest.raises(ValueError, match=says("`search` … error_score='raise'")):
        importance_across_candidates(scores, X, Y)


def test_without_refit():
    """`refit=False`: the candidates are refitted here."""
    search = GridSearchCV(Lasso(), {"alpha": ALPHAS}, cv=5, refit=False).fit(X, Y)
    found = importance_across_candidates(search, X, Y)
    same = importance_across_candidates(SEARCH, X, Y)
    np.testing.assert_array_equal(found.by_model, same.by_model)
    np.testing.assert_array_equal(found.dispensable, same.dispensable)


def test_halving_search():
    """Only the last iteration counts; the resource may be a parameter."""
    search = HalvingGridSearchCV(
        RandomForestRegressor(random_state=0),
        {"max_depth": [1, 2, 3, 4], "min_samples_leaf": [1, 5]},
        resource="n_estimators",
        min_resources=2,
        max_resources=8,
        cv=3,
        random_state=0,
    ).fit(X, Y)
    found = importance_across_candidates(search, X, Y, measure=OBSERVED, within=10.0)
    results = search.cv_results_
    last = results["iter"] == results["iter"].max()
    assert len(found.models) == last.sum() < len(last)
    assert {of["n_estimators"] for of in found.params} == {search.n_resources_[-1]}
    assert found.scores[0] == search.best_score_
    assert found.params[0] == search.best_params_


def test_random_search_over_steps():
    """Candidates may be other estimators inside a pipeline."""
    search = RandomizedSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge": [Ridge(), Lasso(0.1)], "standardscaler__with_std": [True, False]},
        n_iter=4,
        random_state=0,
    ).fit(X, Y)
    found = importance_across_candidates(search, X, Y, measure=OBSERVED, within=0.5)
    assert sorted(found.models) == [
        f"{part}, with_std={std}" if part else part
        for part in ("ridge=Lasso", "ridge=Ridge")
        for std in (False, True)
    ] or sorted(found.models) == sorted(
        f"with_std={std}, ridge={part}"
        for part in ("Lasso", "Ridge")
        for std in (False, True)
    )
    model = clone(search.estimator).set_params(**found.params[0]).fit(X, Y)
    expected = clone(OBSERVED).fit(model, X, Y).importances_
    np.testing.assert_array_equal(found.importances, expected)


def test_fitted_models_with_scores():
    """A dict: models are measured as they are, or refitted in folds."""
    tree, ridge = DecisionTreeRegressor(max_depth=3).fit(X, Y), Ridge().fit(X, Y)
    scores = {
        "tree": cross_val_score(tree, X, Y),
        "ridge": cross_val_score(ridge, X, Y),
    }
    given = {"tree": (tree, scores["tree"]), "ridge": (ridge, scores["ridge"])}
    found = importance_across_candidates(given, X, Y, within=5.0)
    assert found.models[0] == max(scores, key=lambda name: scores[name].mean())
    for name, values in zip(found.models, found.by_model):
        expected = clone(MEASURE).fit(given[name][0], X, Y).importances_
        np.testing.assert_array_equal(values, expected)
    numbers = {name: (model, of.mean()) for name, (model, of) in given.items()}
    same = importance_across_candidates(numbers, X, Y, within=5.0)
    np.testing.assert_array_equal(same.by_model, found.by_model)
    np.testing.assert_array_equal(same.dispensable, found.dispensable)
    with pytest.raises(
        ValueError,
        match=says("within='one_standard_error' … several folds … within=0.05"),
    ):
        importance_across_candidates(numbers, X, Y)
    folds = importance_across_candidates(given, X, Y, within=5.0, cv=3)
    ridge = importance_across_folds(Ridge(), X, Y, MEASURE, 3)
    np.testing.assert_allclose(
        folds.by_model[folds.models.index("ridge")],
        ridge.by_fold.mean(axis=0),
        rtol=1e-13,
    )
    mae = {name: (model, -1.0) for name, (model, _) in given.items()}
    scored = importance_across_candidates(
        mae, X, Y, within=0.0, scoring="neg_mean_absolute_error"
    )
    assert not scored.dispensable_together.all()
    bare = {"f": (lambda X: X[:, 0], 1.0)}
    found = importance_across_candidates(bare, X, Y, within=0.1)
    assert found.dispensable is None
    assert "dispensable" not in found.to_frame()


def test_least_squares_filled_in_is_least_squares_refitted():
    """Rss without S = rss + b_S' C_S b_S, where C_S is the residuals' covariance.

    The residuals of the fit are orthogonal to those of S given the other columns, which
    span nothing that the fit has not seen. On integer-valued columns as well, with a
    penalty that is small beside a variance of 1.
    """
    random = np.random.default_rng(1)
    A = random.normal(size=(400, 4)) @ random.normal(size=(4, 4))
    y = A @ np.array([1.0, -1.0, 0.5, 0.0]) + random.normal(size=400)
    model, filled = (
        LinearRegression().fit(A, y),
        FilledColumns(as_table(A), np.ones(400)),
    )
    rows = np.arange(400)
    for S in ([0], [3], [0, 2], [1, 2, 3]):
        others = np.setdiff1d(np.arange(4), S)
        refit = LinearRegression().fit(A[:, others], y).predict(A[:, others])
        to_others = LinearRegression().fit(A[:, others], A[:, S])
        predicted = A.copy()
        predicted[:, S] = to_others.predict(A[:, others])
        # the theorem, of exact predictions
        np.testing.assert_allclose(
            np.sum((y - model.predict(predicted)) ** 2),
            np.sum((y - refit) ** 2),
            rtol=1e-10,
        )
        # ours: the observed value that is closest, so at most half a gap away, and the
        # penalty moves predictions by its share of the least eigenvalue
        least = np.linalg.eigvalsh(np.corrcoef(A, rowvar=False))[0]
        for j, found in zip(S, filled.filled(rows, S)[:, S].T):
            gap = np.abs(A[:, j] - predicted[:, [j]]).min(axis=1)
            moved = np.abs(found - predicted[:, j])
            bound = 2 * (1e-6 / least) * len(S) * A[:, j].std() * 10
            assert (moved <= gap + bound).all()
            assert np.isin(found, A[:, j]).all()


def test_filled_in_columns_keep_their_type():
    """Levels, integers, booleans, dates and missing values, in each container."""
    random = np.random.default_rng(2)
    number = random.normal(size=50)
    frame = pd.DataFrame(
        {
            "number": number,
            "missing": np.where(random.random(50) < 0.2, np.nan, number),
            "whole": np.round(3 * number).astype(int),
            "level": pd.Categorical(np.where(number > 0, "up", "down")),
            "true": number > 0,
            "text": np.where(number > 0, "b", "a"),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(number, unit="D"),
            "constant": 1.0,
        }
    )
    for rows in (frame, pl.from_pandas(frame)):
        filled = FilledColumns(as_table(rows), np.ones(50))
        for j, name in enumerate(frame):
            found = filled.filled(np.arange(50), [j])
            assert type(found) is type(rows)
            assert list(found.columns) == list(frame)
            assert found[name].dtype == rows[name].dtype
            known = set(rows[name].to_list())
            assert set(found[name].to_list()) <= known
    found = FilledColumns(as_table(frame), np.ones(50)).filled(np.arange(50), [3, 4, 5])
    # three levels of one sign: the number tells most of them
    assert (found["level"] == frame["level"]).mean() > 0.8
    assert (found["true"] == (found["level"] == "up")).all()


def test_features_that_are_no_columns():
    """Pairs have importances, but nothing can be filled in; nor in sparse rows."""
    pairs = InteractionImportance(pairs=[(0, 1), (0, 2)], grid=3)
    found = importance_across_candidates(SEARCH, X, Y, measure=pairs)
    assert found.by_model.shape[1] == 2
    assert found.dispensable is None
    assert found.summary().endswith("This is the best of 4 good models.")
    csr = sparse.csr_array(X)
    search = GridSearchCV(Lasso(), {"alpha": [0.1, 0.2]}).fit(csr, Y)
    found = importance_across_candidates(search, csr, Y)
    assert found.dispensable is None
    assert "can go" not in found._repr_html_()


def test_weights_and_groups():
    """Weights reach the fit and the measure, groups the splitter."""
    weights = np.repeat([1.0, 0.0, 2.0], 20)
    repeated = np.repeat(np.arange(60), weights.astype(int))
    how = {"measure": OBSERVED, "within": 0.05}
    given = importance_across_candidates(SEARCH, X, Y, **how, sample_weight=weights)
    by_rows = importance_across_candidates(SEARCH, X[repeated], Y[repeated], **how)
    # the lasso stops at a duality gap of tol |y|^2
    scale = np.abs(by_rows.by_model).max()
    np.testing.assert_allclose(given.by_model, by_rows.by_model, atol=1e-2 * scale)
    plain = importance_across_candidates(SEARCH, X, Y, **how)
    assert np.abs(given.by_model - plain.by_model).max() > 0.02 * scale
    patients = np.arange(60) // 6
    found = importance_across_candidates(
        SEARCH, X, Y, **how, cv=GroupKFold(5), groups=patients
    )
    folds = importance_across_folds(
        Lasso(**found.params[0]), X, Y, OBSERVED, GroupKFold(5), groups=patients
    )
    np.testing.assert_allclose(
        found.importances, folds.by_fold.mean(axis=0), rtol=1e-13
    )


@pytest.mark.thorough
def test_seeds_and_workers():
    """One seed gives one result; all models get the same seeds."""
    forest = RandomForestRegressor(3, max_depth=3)
    search = GridSearchCV(forest, {"max_features": [1.0, 1]}, cv=3).fit(X, Y)
    drawn = PermutationImportance(estimation="sampled")

    def run(**how):
        return importance_across_candidates(
            search, X, Y, measure=drawn, within=5.0, **how
        ).by_model

    first = run(random_state=0)
    np.testing.assert_array_equal(run(random_state=0, n_jobs=2), first)
    assert np.any(run(random_state=1) != first)
    both = {"a": (Ridge().fit(X, Y), 1.0), "b": (Ridge().fit(X, Y), 1.0)}
    twins = importance_across_candidates(
        both, X, Y, measure=drawn, within=0.0, random_state=0
    )
    np.testing.assert_array_equal(*twins.by_model)


def test_classes_in_frames():
    """A pipeline of categories; tables in the library that X came in."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(size=90), "c": list("aab") * 30})
    labels = np.where(frame["x"] + (frame["c"] == "b") > 0.5, "yes", "no")
    columns = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(model, grid, cv=3).fit(frame, labels)
    found = importance_across_candidates(search, frame, labels)
    assert found.features == ["x", "c"]
    assert not found.dispensable.any()
    assert "No feature was found that a good model can do without" in found.summary()
    table = importance_across_candidates(
        search, pl.from_pandas(frame), labels, cv=3
    ).to_frame()
    assert isinstance(table, pl.DataFrame)
    assert set(table["lowest_model"]) <= {"C=0.1", "C=1", "C=10"}


def test_result():
    """Table, notebook, pickle and picture."""
    found = importance_across_candidates(SEARCH, X, Y, within=0.2)
    table = found.to_frame()
    assert list(table.columns) == [
        "feature",
        "importance",
        "standard_error",
        "rank",
        "lowest",
        "lowest_model",
        "highest",
        "highest_model",
        "best_rank",
        "worst_rank",
        "dispensable",
        "dispensable_together",
        "direction",
    ]
    assert (np.diff(table["importance"]) <= 0).all()
    html = found._repr_html_()
    assert "Importances in all good models" in html
    assert "can go" in html
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.by_model, found.by_model)
    pytest.importorskip("matplotlib")
    display = found.plot(label="loss")
    assert isinstance(display, CandidatesDisplay)
    order = np.argsort(-found.importances)
    low = [bar.get_x() for bar in display.ranges_]
    width = [bar.get_width() for bar in display.ranges_]
    np.testing.assert_array_equal(low, found.lowest[order])
    np.testing.assert_allclose(width, (found.highest - found.lowest)[order], rtol=1e-12)
    bars = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(bars, found.importances[order])


def test_what_cannot_be():
    """Parameter, rule, what was got, way out."""
    with pytest.raises(NotFittedError, match="Fit it before"):
        importance_across_candidates(GridSearchCV(Lasso(), {"alpha": [1]}), X, Y)
    with pytest.raises(TypeError, match=says("`search` … dict … got array([0.")):
        importance_across_candidates(Lasso().fit(X, Y).coef_, X, Y)
    with pytest.raises(
        TypeError, match=says("got LinearRegression() for 'a' … cross_val_score")
    ):
        importance_across_candidates({"a": LINEAR}, X, Y)
    with pytest.raises(ValueError, match=says("`scoring` … Leave `scoring` out")):
        importance_across_candidates(SEARCH, X, Y, scoring="r2")
    with pytest.raises(
        ValueError, match=says("`search` … empty … (fitted model, scores)")
    ):
        importance_across_candidates({}, X, Y)
    with pytest.raises(ValueError, match="'within' parameter"):
        importance_across_candidates(SEARCH, X, Y, within=-0.1)
    with pytest.raises(ValueError, match="'max_models' parameter"):
        importance_across_candidates(SEARCH, X, Y, max_models=0)
    with pytest.raises(ValueError, match=says("scores … 'a' … got [[1, 2]]")):
        importance_across_candidates({"a": (LINEAR, [[1, 2]])}, X, Y)


def test_stopped():
    """The models done so far are returned, the best first."""
    with pytest.warns(ImportanceWarning, match="2 of 4 models done"):
        found = importance_across_candidates(
            SEARCH,
            X,
            Y,
            within=0.3,
            callbacks=Recorder(stop_after=2, step="refit"),
            max_models=5,
        )
    assert len(found.models) == 2
    assert found.scores[0] == SEARCH.best_score_


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        # the last word of a name, where only one parameter that differs has it
        (
            [{"a__alpha": 1, "a__tol": 2}, {"a__alpha": 3, "a__tol": 4}],
            ["alpha=1, tol=2", "alpha=3, tol=4"],
        ),
        (
            [{"a__alpha": 1, "b__alpha": 2, "b__tol": 5}, {"a__alpha": 3}],
            ["a__alpha=1, b__alpha=2, tol=5", "a__alpha=3"],
        ),
        # what all have in common is left out, unless it is all there is
        ([{"alpha": 1, "tol": 2}, {"alpha": 3, "tol": 2}], ["alpha=1", "alpha=3"]),
        ([{"alpha": 1}], ["alpha=1"]),
        # names of two candidates would be the same
        (
            [{"alpha": 1}, {"alpha": 1}],
            ["candidate 4 alpha=1", "candidate 5 alpha=1"],
        ),
        (
            [{"alpha": 1.00001}, {"alpha": 1.00002}, {"alpha": 123456.0}],
            ["candidate 4 alpha=1", "candidate 5 alpha=1", "alpha=1.235e+05"],
        ),
        ([{}, {"alpha": 2}], ["candidate 4", "alpha=2"]),
        ([{"model": Ridge(2.0)}, {"model": Lasso()}], ["model=Ridge", "model=Lasso"]),
        (
            [{"words": "m" * 40}, {"words": "n" * 41}],
            ["words=" + "m" * 40, "words=" + "n" * 39 + "…"],
        ),
    ],
)
def test_candidates_have_short_names(params, expected):
    """The parameters that differ, with four digits and up to forty characters."""
    assert _labels(params, range(4, 4 + len(params))) == expected
