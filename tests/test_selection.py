"""Selectors: the rule they follow, no leakage, scikit-learn's conventions."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel, f_classif
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDRegressor,
)
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skvarimp import (
    BackwardEliminationSelector,
    CoefficientImportance,
    ConnectionWeightImportance,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    ForwardSelector,
    ImportanceEstimator,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

X, Y = make_friedman1(200, noise=0.5, random_state=0)
BOTH = pytest.mark.parametrize("kind", [BackwardEliminationSelector, ForwardSelector])


@parametrize_with_checks(
    [
        BackwardEliminationSelector(LogisticRegression()),
        BackwardEliminationSelector(LinearRegression(), cv=3),
        ForwardSelector(Ridge()),
        ForwardSelector(LogisticRegression()),
        ImportanceEstimator(LogisticRegression(), SensitivityImportance(scale=None)),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    """All of scikit-learn's own checks."""
    check(estimator)


def assert_rule(selector):
    """The kept subset is the smallest on the path that reaches the threshold."""
    path, n = selector.path_, selector.n_features_in_
    lengths = {len(column) for column in path.values()}
    assert len(lengths) == 1
    best = max(path["score"])
    enough = best - (1 - selector.performance_threshold) * abs(best)
    good = [k for k, s in zip(path["n_features"], path["score"]) if s >= enough]
    assert selector.n_features_ == min(good) == selector.support_.sum()
    for mean, folds in zip(path["score"], path["fold_scores"]):
        assert mean == pytest.approx(np.mean(folds))
    if "dropped" in path:
        assert path["n_features"][0] == n
        left = np.ones(n, dtype=bool)
        for size, dropped in zip(path["n_features"], path["dropped"]):
            left[dropped] = False
            assert left.sum() == size
            if size == selector.n_features_:
                assert np.array_equal(left, selector.support_)
    assert (selector.ranking_ == 1).sum() == selector.n_features_


@BOTH
@pytest.mark.parametrize("threshold", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_smallest_good_enough_subset(kind, threshold, scoring):
    """Also for negative scores, where 95% of the best means 5% worse."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    selector = kind(tree, cv=3, performance_threshold=threshold, scoring=scoring)
    assert_rule(selector.fit(X, Y))


@BOTH
def test_recovers_informative_columns(kind):
    """Friedman 1 with a kernel machine, and a classification with noise columns."""
    machine = make_pipeline(StandardScaler(), SVR(C=10.0))
    selector = kind(machine, cv=3, performance_threshold=0.98, random_state=0)
    kept = set(selector.fit(X, Y).get_support(indices=True))
    assert {0, 1, 3} <= kept <= {0, 1, 2, 3, 4}
    Z, labels = make_classification(
        300, 12, n_informative=3, n_redundant=0, shuffle=False, random_state=1
    )
    forest = RandomForestClassifier(30, random_state=0)
    selector = kind(forest, cv=3, performance_threshold=0.98, step=2)
    assert set(selector.fit(Z, labels).get_support(indices=True)) <= {0, 1, 2}


def test_low_importances_go_at_once_and_ties_drop_the_last():
    """Importances by hand: 1, 0, 0.5, 0, 0.5 of five columns."""
    fixed = np.array([1.0, 0.0, 0.5, 0.0, 0.5])
    seen = []

    def importance(estimator, X, y):
        seen.append(X.shape[1])
        return fixed[np.round(X[0]).astype(int)]

    Z = np.tile(np.arange(5.0), (40, 1))
    y = np.random.RandomState(0).randn(40)
    selector = BackwardEliminationSelector(LinearRegression(), importance).fit(Z, y)
    assert selector.path_["n_features"] == [5, 3, 2, 1]
    assert [d.tolist() for d in selector.path_["dropped"]] == [[], [1, 3], [4], [2]]
    assert seen == [5, 3, 2]
    by_share = BackwardEliminationSelector(
        LinearRegression(), importance, step=0.5, importance_threshold=0.0
    ).fit(Z, y)
    assert by_share.path_["n_features"] == [5, 3, 2, 1]
    at_least = BackwardEliminationSelector(
        LinearRegression(), importance, min_features_to_select=4
    ).fit(Z, y)
    assert at_least.path_["n_features"] == [5, 4]


def test_ranking_of_those_dropped_together():
    """1 = kept, the columns dropped first have the largest rank."""
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    selector = BackwardEliminationSelector(tree, step=3, random_state=0).fit(X, Y)
    for earlier, later in zip(
        selector.path_["dropped"][1:], selector.path_["dropped"][2:]
    ):
        if selector.ranking_[later][0] > 1:
            assert selector.ranking_[earlier][0] == selector.ranking_[later][0] + 1
        assert len(set(selector.ranking_[earlier])) == 1


def test_rescaling_the_target_changes_nothing():
    """Thresholds are relative."""
    one = BackwardEliminationSelector(Ridge(1e-6), cv=3).fit(X, Y)
    other = BackwardEliminationSelector(Ridge(1e-6), cv=3).fit(X, 1000 * Y)
    assert np.array_equal(one.ranking_, other.ranking_)


def test_no_training_score_is_reported():
    """One nearest neighbour of itself would be right always; on noise it is not."""
    random = np.random.RandomState(0)
    Z, labels = random.randn(200, 6), random.randint(0, 2, 200)
    selector = BackwardEliminationSelector(KNeighborsClassifier(1), cv=4).fit(Z, labels)
    assert max(selector.path_["score"]) < 0.65
    inner = BackwardEliminationSelector(KNeighborsClassifier(5), random_state=0)
    pipeline = make_pipeline(inner, KNeighborsClassifier(5))
    assert abs(cross_val_score(pipeline, Z, labels, cv=5).mean() - 0.5) < 0.1


def test_importance_sees_held_out_rows_only():
    """Rows are numbered by their first column; none is in the fit."""
    fitted, shown = [], []

    class Recorder(LinearRegression):
        def fit(self, X, y):
            fitted.append(set(X[:, 0]))
            return super().fit(X, y)

    def importance(estimator, X, y):
        shown.append(set(X[:, 0]))
        return np.arange(X.shape[1])[::-1]

    Z = np.column_stack([np.arange(50.0), np.random.RandomState(0).randn(50, 3)])
    BackwardEliminationSelector(Recorder(), importance, random_state=0).fit(Z, Z[:, 1])
    assert len(shown[0]) == 15
    for train, held_out in zip(fitted, shown):
        assert not train & held_out


class Needs(BaseEstimator, ClassifierMixin):
    """A classifier that refuses to be fitted without sample_weight."""

    def fit(self, X, y, sample_weight=None):
        """Fit, given weights."""
        assert sample_weight is not None
        assert len(sample_weight) == len(y)
        self.classes_ = np.unique(y)
        self.inner_ = LogisticRegression().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X):
        """Of the inner model."""
        return self.inner_.predict_proba(X)

    def predict(self, X):
        """Of the inner model."""
        return self.inner_.predict(X)


def test_metadata_with_and_without_routing():
    """Weights reach estimator, importance and scorer; groups reach the splitter."""
    Z, labels = make_classification(90, 5, random_state=0)
    weights, groups = np.linspace(1, 2, 90), np.arange(90) // 10
    selector = BackwardEliminationSelector(Needs(), cv=GroupKFold(3))
    selector.fit(Z, labels, sample_weight=weights, groups=groups)
    assert_rule(selector)
    without = BackwardEliminationSelector(LogisticRegression(), cv=3)
    assert_rule(without.fit(Z, labels, sample_weight=weights))
    with pytest.raises(TypeError, match="sample_weight and groups"):
        without.fit(Z, labels, offset=weights)
    with pytest.raises(ValueError, match="90 entries"):
        without.fit(Z, labels, sample_weight=weights[:3])
    with config_context(enable_metadata_routing=True):
        routed = BackwardEliminationSelector(
            Needs()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            SensitivityImportance(contrast="observed").set_fit_request(
                sample_weight=True
            ),
            cv=GroupKFold(3),
        ).fit(Z, labels, sample_weight=weights, groups=groups)
    assert np.array_equal(routed.ranking_, selector.ranking_)
    assert routed.path_["score"] == pytest.approx(selector.path_["score"])


@pytest.mark.parametrize("routing", [True, False])
def test_groups_stay_together_without_cv(routing):
    """One split that holds whole groups out, with routing on and off."""
    Z, labels = make_classification(90, 4, random_state=0)
    groups = np.arange(90) // 10
    rows = np.column_stack([groups, Z])
    seen = []

    def importance(estimator, X, y):
        seen.append(set(X[:, 0]))
        return np.arange(X.shape[1])[::-1] + 1.0

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

    with config_context(enable_metadata_routing=routing):
        selector = BackwardEliminationSelector(Recorder(), importance, random_state=0)
        selector.fit(rows, labels, groups=groups)
    train, held_out = seen[:2]
    assert train
    assert not train & held_out


def test_weights_without_a_taker_are_refused():
    """They would silently not reach the model; routing says what they are for."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    labels, weights = Y.mean() < Y, np.ones(len(Y))
    for estimator in (model, KNeighborsClassifier()):
        with pytest.raises(ValueError, match=r"takes no sample_weight.*routing=True"):
            BackwardEliminationSelector(estimator).fit(X, labels, sample_weight=weights)


@BOTH
def test_routing_without_metadata(kind):
    """Routing switched on changes nothing where nothing is passed."""
    plain = kind(Ridge(), cv=3).fit(X, Y)
    with config_context(enable_metadata_routing=True):
        routed = kind(Ridge(), cv=3).fit(X, Y)
        folds = kind(Ridge(), cv=KFold(3).split(X)).fit(X, Y)
    assert np.array_equal(plain.ranking_, routed.ranking_)
    assert folds.path_["score"] == plain.path_["score"]


DRIVERS = [
    PermutationImportance(subset="oob"),
    PermutationImportance(),
    PartialDependenceImportance(),
    FIRMImportance(),
    ImpurityImportance(convention="sklearn"),
    SensitivityImportance(),
    FilterImportance(f_classif),
]


@pytest.mark.parametrize("importance", DRIVERS)
def test_measures_that_drive_a_forest(importance):
    """Out-of-bag measures get the training rows, the others held-out ones."""
    Z, labels = make_classification(
        120, 5, n_informative=2, n_redundant=0, shuffle=False, random_state=3
    )
    forest = RandomForestClassifier(15, random_state=0)
    selector = BackwardEliminationSelector(
        forest, importance, min_features_to_select=2, step=2, random_state=0
    )
    selector.fit(Z, labels)
    assert_rule(selector)
    assert selector.path_["n_features"][0] == 5


NETWORK = MLPRegressor(
    hidden_layer_sizes=(4,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0
)


@pytest.mark.parametrize(
    ("importance", "model"),
    [
        (DerivativeImportance(), Ridge()),
        (CoefficientImportance(statistic="absolute"), Ridge()),
        (CoefficientImportance(), LinearRegression()),
        (FIRMImportance(method="gaussian"), Ridge()),
        (PermutationImportance(scoring="r2", random_state=0), SVR(C=10.0)),
        (DerivativeImportance(), SVR(C=10.0)),
        (ImpurityImportance(surrogates=True), DecisionTreeRegressor(max_depth=4)),
        (ConnectionWeightImportance(), NETWORK),
        (
            InteractionImportance(statistic="h_overall"),
            HistGradientBoostingRegressor(max_iter=5),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_measures_that_drive_a_regressor(importance, model):
    """Those that read the fit or need y too; weights of 0 are taken as well."""
    weights = np.arange(len(Y)) % 3.0
    for given in ({}, {"sample_weight": weights}):
        selector = BackwardEliminationSelector(
            model, importance, step=4, min_features_to_select=3, random_state=0
        )
        assert_rule(selector.fit(X, Y, **given))
        assert 3 in selector.get_support(indices=True)


def test_searches_and_nested_parameters():
    """The measure's parameters are tunable; cloning and pickling keep all."""
    selector = BackwardEliminationSelector(
        Ridge(), SensitivityImportance(contrast="observed", scale=None), cv=3
    )
    grid = {"importance__contrast": ["pairs", "observed"], "estimator__alpha": [0.1, 1]}
    search = GridSearchCV(selector, grid, cv=2).fit(X, Y)
    assert search.best_params_["importance__contrast"] in {"pairs", "observed"}
    fitted = search.best_estimator_
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert repr(clone(fitted)) == repr(fitted)
    assert not hasattr(selector.importance, "importances_")


def frame(n=120):
    """Strings, missing values, numbers; the target needs two columns."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "noise": random.randn(n),
            "city": random.choice(["Oslo", "Rome"], n),
            "size": np.where(random.rand(n) < 0.1, np.nan, random.rand(n)),
            "more": random.randn(n),
        }
    )
    y = 5 * (frame["city"] == "Oslo") + 8 * frame["size"].fillna(0.5)
    return frame, y.to_numpy()


def test_frames_reach_the_estimator_as_they_came():
    """A pipeline that encodes strings by type, over pandas and polars."""
    Z, y = frame()
    encoded = ColumnTransformer(
        [
            ("text", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
            ("rest", "passthrough", make_column_selector(dtype_include="number")),
        ]
    )
    model = make_pipeline(
        encoded, HistGradientBoostingRegressor(max_iter=30, random_state=0)
    )
    selector = BackwardEliminationSelector(model, random_state=0).fit(Z, y)
    assert selector.get_feature_names_out().tolist() == ["city", "size"]
    assert selector.score(Z, y) > 0.8
    out = selector.set_output(transform="pandas").transform(Z)
    assert list(out.columns) == ["city", "size"]
    assert clone(selector).fit(Z, y).transform(Z).shape == (len(Z), 2)

    direct = HistGradientBoostingRegressor(
        max_iter=30, categorical_features="from_dtype", random_state=0
    )
    polars = pl.from_pandas(Z).with_columns(pl.col("city").cast(pl.Categorical))
    selector = BackwardEliminationSelector(direct, random_state=0).fit(polars, y)
    assert selector.get_feature_names_out().tolist() == ["city", "size"]


def test_named_columns_inside_are_refused_when_dropped():
    """By name and by position, with the way out."""
    Z, y = frame()
    Z["size"] = Z["size"].fillna(0)
    for columns, message in (
        (["noise", "size"], "dropped column 'noise'"),
        ([0, 2], "position"),
    ):
        inner = ColumnTransformer([("some", StandardScaler(), columns)])
        model = make_pipeline(inner, Ridge())
        for kind in (BackwardEliminationSelector, ForwardSelector):
            with pytest.raises(ValueError, match=message + ".*make_column_selector"):
                kind(model).fit(Z, y)


def test_sparse_missing_values_and_inverse():
    """Sparse X stays sparse, NaN where the estimator takes it."""
    Z = sparse.random_array((150, 8), density=0.4, rng=np.random.default_rng(0))
    y = (Z @ np.array([3.0, 0, 0, 2, 0, 0, 0, 0])) > 1
    selector = BackwardEliminationSelector(LogisticRegression(C=100.0), cv=3)
    out = selector.fit(Z.tocsr(), y).transform(Z.tocsr())
    assert sparse.issparse(out)
    assert set(selector.get_support(indices=True)) <= {0, 3}
    dense = Z.toarray()
    back = selector.inverse_transform(selector.transform(dense))
    assert np.array_equal(back[:, selector.support_], dense[:, selector.support_])
    missing = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, X)
    boosting = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    assert_rule(BackwardEliminationSelector(boosting, cv=2, step=3).fit(missing, Y))


def test_n_jobs_changes_nothing():
    """Folds in processes."""
    one = BackwardEliminationSelector(Ridge(), cv=3).fit(X, Y)
    two = BackwardEliminationSelector(Ridge(), cv=3, n_jobs=2).fit(X, Y)
    assert np.array_equal(one.ranking_, two.ranking_)
    assert one.path_["score"] == two.path_["score"]


class StopAfter:
    """A callback that stops after some steps."""

    def __init__(self, steps):
        self.steps, self.seen, self.closed = steps, 0, False

    def setup(self, estimator, context):
        """Nothing to set up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context):
        """Stop once enough steps ended."""
        self.seen += 1
        return self.seen >= self.steps

    def teardown(self, estimator, context):
        """Note that the fit is over."""
        self.closed = True


def test_callbacks_stop_the_path():
    """The subset is chosen among those seen."""
    stop = StopAfter(3)
    selector = BackwardEliminationSelector(Ridge(), cv=2)
    selector.set_callbacks(stop).fit(X, Y)
    assert selector.path_["n_features"] == [10, 9, 8]
    assert stop.closed
    assert_rule(selector)


def test_importance_estimator_serves_scikit_learns_selectors():
    """Machines that RFE and SelectFromModel refuse by themselves."""
    Z, labels = make_classification(
        120,
        6,
        n_informative=2,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=2.0,
        shuffle=False,
        random_state=0,
    )
    machine = ImportanceEstimator(
        make_pipeline(StandardScaler(), SVC()), SensitivityImportance()
    )
    with pytest.raises(ValueError, match="importance"):
        RFE(SVC(), n_features_to_select=2).fit(Z, labels)
    kept = RFE(machine, n_features_to_select=2).fit(Z, labels).get_support(indices=True)
    assert kept.tolist() == [0, 1]
    kept = SelectFromModel(machine, max_features=2, threshold=-np.inf).fit(Z, labels)
    assert kept.get_support(indices=True).tolist() == [0, 1]
    fitted = machine.fit(Z, labels)
    assert fitted.score(Z, labels) > 0.7
    assert not hasattr(fitted, "coef_")


BAD = [
    (dict(performance_threshold=1.1), ValueError, "performance_threshold"),
    (dict(performance_threshold=-0.1), ValueError, "performance_threshold"),
    (dict(importance_threshold=1.0), ValueError, "importance_threshold"),
    (dict(importance_threshold=-1e-9), ValueError, "importance_threshold"),
    (dict(step=0), ValueError, "step"),
    (dict(step=1.0), ValueError, "step"),
    (dict(step=0.0), ValueError, "step"),
    (dict(min_features_to_select=0), ValueError, "min_features_to_select"),
    (dict(min_features_to_select=11), ValueError, "only 10 columns"),
    (dict(importance="pairs"), ValueError, "importance"),
    (dict(importance=SensitivityImportance), TypeError, r"Use SensitivityImportance()"),
    (dict(step=np.nan), ValueError, "step"),
    (dict(step=-1), ValueError, "step"),
    (dict(cv=[]), ValueError, "no split"),
    (dict(importance=lambda e, X, y: None), ValueError, r"shape \(\)"),
    (dict(importance=lambda e, X, y: np.ones(3)), ValueError, r"shape \(3,\)"),
    (dict(importance=lambda e, X, y: X[0] * np.nan), ValueError, "'x0' is NaN"),
    (
        dict(importance=SensitivityImportance(features=[0, 1])),
        ValueError,
        "features=None",
    ),
    (
        dict(scoring=make_scorer(lambda y, p: np.nan * mean_squared_error(y, p))),
        ValueError,
        "scorer returned nan",
    ),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD)
def test_bad_parameters(parameters, error, message):
    """With the way out."""
    with pytest.raises(error, match=message):
        BackwardEliminationSelector(LinearRegression(), **parameters).fit(X, Y)


@pytest.mark.parametrize(
    "importance",
    [
        ImpurityImportance(),
        InteractionImportance(),
        ConnectionWeightImportance(),
        PermutationImportance(subset="oob"),
        PermutationImportance(loss="log_loss"),
        PermutationImportance(loss="zero_one"),
        SensitivityImportance(response_method="predict_proba"),
    ],
    ids=repr,
)
def test_importances_that_cannot_serve_raise_before_the_first_fit(importance):
    """The estimator is never fitted."""

    class NeverFitted(LinearRegression):
        def fit(self, X, y):
            raise AssertionError("fitted")

    for kind in (BackwardEliminationSelector, ForwardSelector):
        with pytest.raises(TypeError, match=r"Importance|bootstrap|loss="):
            kind(NeverFitted(), importance).fit(X, Y)


def test_known_before_the_first_fit():
    """A slope of trees; out-of-bag rows of a forest without bootstrap."""

    class NoFit:
        def fit(self, X, y):
            raise AssertionError("fitted")

    tree = DecisionTreeRegressor()
    with pytest.raises(TypeError, match="piecewise constant"):
        BackwardEliminationSelector(tree, DerivativeImportance()).fit(X, Y)

    class Forest(NoFit, RandomForestClassifier):
        pass

    with pytest.raises(TypeError, match="bootstrap=True"):
        BackwardEliminationSelector(
            Forest(bootstrap=False), PermutationImportance(subset="oob")
        ).fit(X, Y.mean() < Y)


class FirstColumn(RegressorMixin, BaseEstimator):
    """A model that needs no memory of its own."""

    def fit(self, X, y):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """The first column."""
        return X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0]


DRAWS = SensitivityImportance(
    contrast="observed", scale=None, estimation="sampled", n_repeats=1
)
STEEP = SGDRegressor(max_iter=1, tol=None, learning_rate="constant", eta0=1e-6)


BY_CALLABLE = (FirstColumn(), lambda model, X, y: np.arange(X.shape[1])[::-1])


@pytest.mark.parametrize(
    ("form", "model", "importance"),
    [
        *((form, *BY_CALLABLE) for form in ("C", "F", "csr", "csc")),
        *((form, STEEP, None) for form in ("C", "F", "csr", "csc")),
        ("C", FirstColumn(), DRAWS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_memory_of_narrowing_data(form, model, importance):
    """At most two copies of X beside it while columns go, the measure included."""
    import tracemalloc

    shape = (60_000, 50) if importance is DRAWS else (6000, 500)
    Z = np.random.default_rng(0).standard_normal(shape)
    y = Z[:, 0].copy()
    size = Z.nbytes
    if form == "F":
        Z = np.asfortranarray(Z)
    elif form != "C":
        Z = sparse.random_array(shape, density=0.5, rng=0).asformat(form)
        size = Z.data.nbytes + Z.indices.nbytes
    n = Z.shape[1]
    selector = BackwardEliminationSelector(
        model,
        importance,
        importance_threshold=0.0,
        min_features_to_select=n - 2,
        random_state=0,
    )
    tracemalloc.start()
    selector.fit(Z, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert selector.path_["n_features"] == [n, n - 1, n - 2]
    own = size if model is STEEP and form in {"F", "csc"} else 0  # it wants rows
    assert peak <= 2.0 * size + own


def test_plot_path():
    """The chosen subset is marked; the folds' spread is drawn."""
    import matplotlib.pyplot as plt

    selector = BackwardEliminationSelector(Ridge(), cv=3).fit(X, Y)
    display = selector.plot_path()
    assert display.line_.get_xdata().tolist() == list(range(1, 11))
    assert f"kept: {selector.n_features_} of 10" in [
        t.get_text() for t in display.ax_.get_legend().get_texts()
    ]
    plt.close(display.figure_)
