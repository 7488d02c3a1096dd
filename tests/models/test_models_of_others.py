"""Fitted models that do not say what they are as scikit-learn's own models do."""

import numpy as np
import pandas as pd
import pytest
from boosting_models import CAT, LGBM, XGB
from messages import says
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp import (
    ALEImportance,
    BackwardEliminationSelector,
    CoefficientImportance,
    DerivativeImportance,
    FIRMImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    leave_out_importances,
)
from skvarimp.inspection import permutation_importance

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((60, 3))
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
LOGISTIC = LogisticRegression().fit(X, LABELS)


# Classifiers, regressors and rankers


class Untyped(BaseEstimator):
    """A classifier whose tags name no kind of model."""

    def fit(self, X, y):
        """As logistic regression."""
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        """Labels."""
        return self.model_.predict(X)


class WithProbabilities(Untyped):
    """One that has probabilities."""

    def predict_proba(self, X):
        """Of both classes."""
        return self.model_.predict_proba(X)


class WithScores(Untyped):
    """One that has scores."""

    def decision_function(self, X):
        """Of the second class."""
        return self.model_.decision_function(X)


@pytest.mark.parametrize("kind", [WithProbabilities, WithScores])
def test_classes_with_probabilities_or_scores_say_classifier(kind):
    """The same importances as the classifier inside, whose tags say it."""
    method = "auto" if kind is WithProbabilities else "decision_function"
    for labels in (LABELS, (LABELS == "yes").astype(int)):
        model = kind().fit(X, labels)
        exact = {"estimation": "exact"}
        measure = PermutationImportance(response_method=method, **exact)
        expected = measure.fit(model.model_, X, labels)
        names = expected.output_names_, expected.importances_
        found = PermutationImportance(**exact).fit(model, X, labels)
        assert found.output_names_ == names[0] != ["squared_error"]
        np.testing.assert_allclose(found.importances_, names[1], rtol=1e-12)
        scaled = SensitivityImportance().fit(model, X, labels)
        assert scaled.output_names_ == [str(model.classes_[1])]


class Valued(BaseEstimator):
    """A model of values with probabilities, whose tags say what it is."""

    def __init__(self, says):
        self.says = says

    def fit(self, X, y):
        """As least squares."""
        self.model_, self.classes_ = LinearRegression().fit(X, y), np.array([0, 1])
        return self

    def predict(self, X):
        """Values."""
        return self.model_.predict(X)

    def decision_function(self, X):
        """Not the response."""
        raise AssertionError("no classifier")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = self.says
        return tags


def test_tags_that_say_regressor_are_believed():
    """Whatever else the model has."""
    imp = PermutationImportance(estimation="exact")
    found = imp.fit(Valued("regressor").fit(X, Y), X, Y).importances_
    expected = imp.fit(LinearRegression().fit(X, Y), X, Y).importances_
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def _rankers():
    """Each library's ranker, fitted to 4 queries of 15 rows."""
    relevance = np.digitize(Y, [0.5, 1.5])
    xgb, lgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    cat, query = pytest.importorskip("catboost"), np.repeat(np.arange(4), 15)
    yield xgb.XGBRanker(**XGB).fit(X, relevance, qid=query), relevance
    ranker = lgbm.LGBMRanker(**LGBM).fit(X, relevance, group=[15] * 4)
    yield ranker, relevance
    yield make_pipeline(StandardScaler().fit(X), ranker), relevance
    yield cat.CatBoostRanker(**CAT).fit(X, relevance, group_id=query), relevance


def test_rankers_need_a_loss_or_a_scorer():
    """Their scores only order rows; a loss or a scorer of the user's is taken."""

    def inversions(y, scores):
        return np.abs(y.mean() - (scores > 0))

    for ranker, relevance in _rankers():
        with pytest.raises(ValueError, match=says("ranker … one query … `scoring`")):
            PermutationImportance().fit(ranker, X, relevance)
        PermutationImportance(loss=inversions).fit(ranker, X, relevance)
        PermutationImportance(loss="squared_error").fit(ranker, X, relevance)
        scored = PermutationImportance(
            scoring=lambda f, X, y: np.corrcoef(f.predict(X), y)[0, 1], n_draws=4
        )
        assert scored.fit(ranker, X, relevance).importances_.shape == (3,)
    with pytest.raises(ValueError, match=says("ranker … one query … `scoring`")):
        leave_out_importances(ranker, X, relevance)


# Fitted or not


class Quiet(BaseEstimator):
    """Keeps what it learns in attributes without a trailing underscore."""

    def fit(self, X, y):
        """As least squares."""
        self.inside = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        """Values, of which an unfitted model has none."""
        return self.inside.predict(X)


class QuietClassifier(ClassifierMixin, Quiet):
    """A classifier of the kind, which has probabilities only."""

    predict = property()

    def fit(self, X, y):
        """As logistic regression."""
        self.inside = LogisticRegression().fit(X, y)
        return self

    @property
    def classes_(self):
        """Of the model inside, once there is one."""
        return self.inside.classes_

    def predict_proba(self, X):
        """Of both classes."""
        return self.inside.predict_proba(X)


MEASURES = [
    SensitivityImportance(random_state=0),
    PermutationImportance(random_state=0),
    FIRMImportance(),
    DerivativeImportance(),
    ALEImportance(),
    InteractionImportance(),
]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: type(m).__name__)
def test_a_model_that_responds_is_fitted(measure):
    """Wherever it keeps what it learned; one that does not respond is not."""
    with pytest.raises(NotFittedError, match=says("Quiet … not fitted")):
        measure.fit(Quiet(), X, Y)
    model = Quiet().fit(X, Y)
    found = measure.fit(model, X, Y).importances_
    expected = measure.fit(model.predict, X, Y).importances_
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_quiet_model_everywhere_else():
    """Classifiers without `predict`, comparisons, refits and the drop-in."""
    with pytest.raises(NotFittedError, match="This QuietClassifier instance"):
        PermutationImportance().fit(QuietClassifier(), X, LABELS)
    model = QuietClassifier().fit(X, LABELS)
    imp = PermutationImportance(estimation="exact")
    found = imp.fit(model, X, LABELS).importances_
    expected = imp.fit(LOGISTIC, X, LABELS).importances_
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    table = compare_importances([Quiet().fit(X, Y)], X, Y)
    assert len(table.features) == 3
    own = leave_out_importances(Quiet(), X, Y, cv=2).importances
    expected = leave_out_importances(LinearRegression(), X, Y, cv=2).importances
    np.testing.assert_allclose(own, expected, rtol=1e-6)
    selector = BackwardEliminationSelector(Quiet(), scoring="r2", random_state=0)
    assert selector.fit(X, Y).support_[0]
    dropped = permutation_importance(
        Quiet().fit(X, Y), X, Y, scoring="r2", random_state=0
    )
    expected = permutation_importance(
        LinearRegression().fit(X, Y), X, Y, random_state=0
    )
    np.testing.assert_allclose(dropped.importances, expected.importances, rtol=1e-9)


# Columns that the model does not ask for

FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    city=RANDOM.choice(["Oslo", "Bergen"], 60)
)
BY_NAME = make_pipeline(
    make_column_transformer(
        (StandardScaler(), ["c", "a"]), (OneHotEncoder(), ["city"]), ("drop", ["b"])
    ),
    Ridge(),
).fit(FRAME, Y)


def _model_by_name(kind):
    """A fitted model and its columns."""
    if kind == "pipeline":
        return BY_NAME, FRAME
    cat, numbers = pytest.importorskip("catboost"), FRAME[["a", "b", "c"]]
    return cat.CatBoostRegressor(**CAT).fit(numbers, Y), numbers


def _among_others(frame):
    """The columns between two that no model knows."""
    values = X[:, 0] * X[:, 1]
    return pd.DataFrame({"first": values} | dict(frame) | {"last": values})


@pytest.mark.parametrize("kind", ["pipeline", "catboost"])
@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(),
        PermutationImportance(),
        PartialDependenceImportance(statistic="std"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_columns_that_the_model_does_not_ask_for(kind, measure):
    """They have importance 0 and the others' stay, by the same response."""
    model, frame = _model_by_name(kind)
    given = dict(zip(frame, measure.fit(model, frame, Y).importances_))
    path, more = measure.response_path_, _among_others(frame)
    found = dict(zip(more, measure.fit(model, more, Y).importances_))
    assert path == measure.response_path_
    assert "black box" not in path
    assert found["first"] == found["last"] == 0
    assert list(found)[1:-1] == list(given)
    for name, importance in given.items():
        assert found[name] == pytest.approx(importance, rel=1e-9, abs=1e-14)


def test_columns_that_a_model_behind_steps_does_not_ask_for():
    """Coefficients are counted by the columns of X."""
    given = (
        CoefficientImportance(statistic="standardized")
        .fit(BY_NAME, FRAME, Y)
        .importances_
    )
    found = (
        CoefficientImportance(statistic="standardized")
        .fit(BY_NAME, _among_others(FRAME), Y)
        .importances_
    )
    np.testing.assert_allclose(found, [0, *given, 0], rtol=1e-12)


def test_other_widths_that_are_refused():
    """Too many columns for a model of positions, too few for one of names."""
    model = LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match="X has 4 columns, but LinearRegression was"):
        SensitivityImportance().fit(model, np.hstack([X, X[:, :1]]), Y)
    with pytest.raises(ValueError, match="X has 3 columns, but Pipeline was"):
        SensitivityImportance().fit(BY_NAME, FRAME.drop(columns="a"), Y)


def test_predict_wins_over_a_call():
    """Of an object with both; a bare callable is asked by any name for `predict`."""

    class Both:
        def predict(self, rows):
            return rows[:, 0]

        def __call__(self, rows):
            return rows[:, 1]

    measure = SensitivityImportance(scale=None)
    assert measure.fit(Both(), X).importances_[1] == 0.0
    for method in ("auto", "predict"):
        measure.set_params(response_method=method)
        assert measure.fit(Both().__call__, X).importances_[0] == 0.0
    measure.set_params(response_method="predict_proba")
    with pytest.raises(ValueError, match="no `predict_proba`"):
        measure.fit(Both(), X)


def test_a_response_of_strings_is_told_by_its_first():
    """In place of a chopped list."""
    with pytest.raises(ValueError, match=says("response … numbers … 'low' … score")):
        SensitivityImportance(scale=None).fit(lambda X: np.array(["low"] * len(X)), X)


def test_a_response_of_rows_of_different_lengths_is_refused():
    """It is no array of numbers either."""
    ragged = [[1.0, 2.0], *([[3.0]] * (len(X) - 1))]
    with pytest.raises(ValueError, match=says("response … [1.0, 2.0] … score")):
        SensitivityImportance(scale=None).fit(lambda X: ragged, X)


def test_a_bound_predict_proba_is_told_to_pass_the_classifier():
    """Its classes are not known."""
    model = LogisticRegression().fit(X, Y > 0)
    with pytest.raises(
        ValueError,
        match=says("loss='auto' … (60,) for 2 outputs … the classifier itself"),
    ):
        PermutationImportance().fit(model.predict_proba, X, Y)
    with pytest.raises(
        ValueError,
        match=says("scale='auto' … (60, 1) for 2 outputs … the classifier itself"),
    ):
        SensitivityImportance().fit(model.predict_proba, X, Y)
