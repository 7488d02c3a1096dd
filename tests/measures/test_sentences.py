"""Captions and summaries name the number, its unit, the model and the rows."""

import pickle
import re

import numpy as np
import pytest
from messages import says
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skvarimp
from skvarimp._results.words import count, listed, model_in_words, ordinal, written

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
NAMES = ["age of car", "bmi", "x:y"]
Y = 3 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=N)
CLASSES = np.where(X[:, 0] > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
LINE = LinearRegression().fit(X, Y)
PIPE = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
FOREST = RandomForestRegressor(7, max_depth=3, random_state=0).fit(X, Y)
BINARY = LogisticRegression().fit(X, CLASSES)
SEVERAL = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, THREE)
MACHINE = SVC().fit(X, CLASSES)
SEARCH = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
NETWORK = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", tol=1.0, random_state=0)
NETWORK.fit(X, Y)
S, P = skvarimp.SensitivityImportance, skvarimp.PermutationImportance


def by_hand(X):
    """A model that is a function."""
    return np.asarray(X)[:, 0]


# measure, model, y, what both texts name: the model, the unit, the metric
CASES = [
    (S(keep_rows=True), LINE, Y, ["LinearRegression (3 coef", "share of the mean dif"]),
    (S(scale=None), BINARY, CLASSES, ["LogisticRegression", "probability of yes"]),
    (
        S(contrast="range"),
        SEVERAL,
        THREE,
        ["RandomForestClassifier (5", "range"],
    ),
    (S(contrast="observed"), MACHINE, CLASSES, ["SVC (", "units of the decision"]),
    (S(scale=None), by_hand, Y, ["the function by_hand", "units of the prediction"]),
    (P(), PIPE, Y, ["Ridge (3 coefficients)", "squared error", "squared units of y"]),
    (P(loss="absolute_error"), SEARCH, Y, ["for Ridge (", "absolute error", "of y"]),
    (P(relative=True), BINARY, CLASSES, ["ratio of the mean log loss", "Logistic"]),
    (P(scoring="r2", random_state=0), LINE, Y, ["score r2", "units of r2", "Linear"]),
    (P(conditional="subgroups"), FOREST, Y, ["subgroup", "Forest", "squared units"]),
    (skvarimp.PartialDependenceImportance(), FOREST, Y, ["7 trees", "partial dep"]),
    (skvarimp.ShapleyImportance(), LINE, Y, ["Shapley", "share of that variance"]),
    (skvarimp.SobolImportance(), FOREST, Y, ["Sobol", "share of the whole variance"]),
    (skvarimp.InteractionImportance(), FOREST, Y, ["pair", "units of the prediction"]),
    (skvarimp.DerivativeImportance(), LINE, Y, ["slope", "units of the prediction"]),
    (skvarimp.ALEImportance(), FOREST, Y, ["local effect", "units of the prediction"]),
    (skvarimp.FIRMImportance(), SEVERAL, THREE, ["units of the score", "3 outputs"]),
    (skvarimp.ImpurityImportance(), FOREST, Y, ["impurity", "branch node", "7 trees"]),
    (skvarimp.ImpurityImportance(rows="unseen"), FOREST, Y, ["loss", "not fitted to"]),
    (skvarimp.CoefficientImportance(), LINE, Y, ["standard errors of the coefficient"]),
    (skvarimp.ConnectionWeightImportance(), NETWORK, Y, ["MLPRegressor (a hidden lay"]),
    (skvarimp.FilterImportance(), None, Y, ["score f_regression"]),
]


def check_english(text):
    """No word that means nothing to a reader, no doubled space, no wrong plural."""
    assert "response" not in text
    assert "entry" not in text
    assert "  " not in text
    assert not re.search(r"\b1 (features|rows|trees|coefficients|outputs)\b", text)
    assert not re.search(r"\bnan\b|\binf\b|None|\{|_\b", text)
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("measure", "model", "y", "named"), CASES, ids=lambda case: type(case).__name__
)
def test_what_the_number_is(measure, model, y, named):
    """The model with its size, the unit, the rows; numbers with their intervals."""
    measure.fit(model, X, y, feature_names=NAMES)
    found = measure.result_
    caption, summary = measure.caption(), measure.summary()
    for text in (caption, summary):
        check_english(text)
        assert all(words in text for words in named), text
        assert f"{N} rows" in text
    first = found.features[int(np.argmax(found.ranking == 1))]
    assert first in summary
    known = found.standard_errors is not None
    assert ("95% intervals over the rows" in caption) == known
    assert (summary.count("(95% interval ") == 1) == known
    if known:  # each number stands before its interval
        shown = re.findall(r"with (\S+) \((?:95% interval )?(\S+) to (\S+)\)", summary)
        assert len(shown) == len(re.findall(r" with -?\d\S*", summary)) > 0
        for of_one in shown:
            value, low, high = (float(text.strip("%,.")) for text in of_one)
            assert low <= value <= high
    assert pickle.loads(pickle.dumps(found)).summary() == summary


I, F = skvarimp.ImpurityImportance, skvarimp.InteractionImportance
D, C = skvarimp.PartialDependenceImportance, skvarimp.CoefficientImportance

# measure, model, the label, how the definition begins, the unit or of what a share
OPTIONS = [
    (I(), "decrease of the impurity per node", "the decrease of the impurity by", ""),
    (
        I(criterion="mse", convention="rpart", surrogates=False),
        "decrease of the impurity",
        "the decrease of the impurity (mse) by",
        "units of the impurity",
    ),
    (
        I(convention="sklearn", surrogates=False),
        "decrease of the impurity, share",
        "the decrease of the impurity by",
        "the decrease by all splits",
    ),
    (D(), "standard deviation of the partial dependence", "the standard deviation", ""),
    (
        D(kind="individual"),
        "standard deviation of a row's prediction",
        "the standard deviation of the prediction of a row",
        "units of the prediction",
    ),
    (
        D(statistic="std_or_range", categorical_features=[0, 1, 2]),
        "range of the partial dependence",
        "the range of the partial dependence",
        "units of the prediction",
    ),
    (
        F(statistic="conditional_std"),
        "importance of one given the other",
        "how much the importance of one feature of a pair changes",
        "units of the prediction",
    ),
    (F(statistic="h"), "Friedman's H", "Friedman's H of a pair, from 0 to 1", ""),
    (
        F(statistic="h", triples=[(0, 1, 2)]),
        "Friedman's H",
        "Friedman's H of a triple, from 0 to 1",
        "",
    ),
    (
        F(statistic="h_overall"),
        "Friedman's H with all others",
        "Friedman's H of a feature with all others, from 0 to 1",
        "",
    ),
    (
        F(statistic="h_total"),
        "share of variance by interactions",
        "the part, from 0 to 1, of the variance of the prediction that is interaction",
        "",
    ),
    (
        skvarimp.SobolImportance(),
        "share of the variance of predictions",
        "the variance of the prediction that involves a feature, its interactions",
        "the whole variance",
    ),
    (
        skvarimp.SobolImportance(order="first"),
        "share of the variance of predictions",
        "the variance of the prediction that a feature has by itself",
        "the whole variance",
    ),
    (
        skvarimp.ShapleyImportance(scale=None),
        "squared deviation of predictions",
        "the part of the variance of the prediction that a feature explains",
        "squared units of the prediction",
    ),
    (
        skvarimp.ShapleyImportance(loss="squared_error"),
        "share of the variance of y",
        "the part of the variance of y that a feature explains",
        "that variance",
    ),
    (
        S(),
        "relative mean change of the prediction",
        "the mean absolute difference between the prediction at two random values",
        "the mean difference between two values of y",
    ),
    (
        S(contrast="range"),
        "relative range of the prediction",
        "the mean range of the prediction",
        "the range of the values of y",
    ),
    (
        S(contrast="observed"),
        "mean change of the prediction",
        "the mean absolute change of the prediction when a feature takes a random",
        "units of the prediction",
    ),
    (
        S(scale=None),
        "mean change of the prediction",
        "the mean absolute difference between the prediction at two random values",
        "units of the prediction",
    ),
    (
        P(relative=True),
        "squared error, ratio",
        "the ratio of the mean squared error when a feature takes the values of",
        "multiples of it (1 is none)",
    ),
    (
        skvarimp.FIRMImportance(standardize=True),
        "standard deviation of expected score",
        "the standard deviation of the expected score given a feature",
        "the standard deviation of the score",
    ),
]


@pytest.mark.parametrize(("measure", "label", "begins", "of"), OPTIONS)
def test_options_change_the_words(measure, label, begins, of):
    """What each option means, and whether the number is a share."""
    quantity = measure.fit(FOREST, X, Y, feature_names=NAMES).result_.quantity
    assert quantity.label == label
    assert quantity.definition.startswith(begins)
    assert of in (quantity.unit, quantity.share_of) or not of


def test_attributes_are_views_of_the_result():
    """The same arrays under both names."""
    measure = P(keep_rows=True).fit(LINE, X, Y)
    found = measure.result_
    assert measure.importances_ is found.importances
    assert measure.standard_errors_ is found.standard_errors
    assert measure.ranking_ is found.ranking
    assert measure.influences_ is found.influences
    assert measure.row_effects_ is found.row_effects
    assert measure.directions_ is found.directions


def test_ranks_are_those_of_rank_intervals():
    """With rows kept; without them the ranks are wider, never narrower."""
    keeping, other = S(keep_rows=True).fit(LINE, X, Y), S().fit(LINE, X, Y)
    ranks = skvarimp.rank_intervals(keeping).to_frame()
    assert ranks["lowest_rank"].tolist() == ranks["highest_rank"].tolist() == [1, 2, 3]
    assert "x0 is 1st, x1 is 2nd and x2 is 3rd" in keeping.summary()
    assert "x0 is 1st" in other.summary()


def test_directions():
    """One clause for each way; features that do not matter have none."""
    model = LinearRegression().fit(X[:, :2], Y)
    text = P().fit(model, X[:, :2], Y).summary()
    assert "The prediction rises with x0, and falls as x1 rises." in text


def test_noise_is_named():
    """Of a measure whose noise is 0: intervals that reach down to it."""
    noise = rng.normal(size=N)
    model = LinearRegression().fit(X[:20], noise[:20])
    assert (
        "None of the features can be told from noise"
        in P().fit(model, X[20:], noise[20:]).summary()
    )


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ([0], "It is 6.8"),
        ([], "There is no feature."),
        ([1, 2], "each of the 2 features is 0"),
        ([2], "The importance of the only feature, x2, is 0."),
    ],
    ids=str,
)
def test_few_features(features, expected):
    """One, none, and some that the model does not look at."""
    measure = S(scale=None, features=features or [0])
    measure.fit(lambda X: 6 * np.asarray(X)[:, 0], X)
    found = measure.result_
    if not features:
        found = skvarimp.Importances([], np.empty(0))
    check_english(found.summary())
    assert expected in found.summary() or features == [0]
    assert found.summary().count("feature") >= 1


@pytest.mark.parametrize(
    ("values", "top", "expected"),
    [
        ([2.0, 2.0, 1.0], 5, "importances are those of a and b with 2.00 each, foll"),
        ([2.0, 2.0, 1.0], 1, "of a with 2.00 and 1 other feature with the same"),
        ([2.0, 1.0, 1.0], 5, "is that of a with 2.00, followed by b and c with 1.00 e"),
        ([1.0, 1.0, 1.0], 5, "importances are those of a, b and c with 1.00 each."),
    ],
    ids=str,
)
def test_ties(values, top, expected):
    """Features of equal importance are named together; none is first."""
    text = skvarimp.Importances(list("abc"), np.array(values)).summary(top)
    check_english(text)
    assert expected in text


def test_ties_with_intervals():
    """Each number has its interval, and no rank of tied features is settled."""
    same = X[:, [0, 0, 1]]
    found = S(keep_rows=True, scale=None, estimation="exact")
    text = found.fit(lambda X: 3 * (X[:, 0] + X[:, 1]) + X[:, 2], same).summary()
    number = r"\S+ \(95% interval \S+ to \S+\)"
    names = "x0 and x1|x1 and x0"  # they differ by rounding
    assert re.search(f"importances are those of ({names}) with {number} each", text)
    assert "x2 is 3rd, while the data allow ranks for x0 from 1 to 2" in text


def test_weights_and_groups():
    """Rows with zero weight do not count; groups are said."""
    weights, groups = np.arange(N) % 3, np.arange(N) // 5
    measure = P().fit(LINE, X, Y, sample_weight=weights, groups=groups)
    caption = measure.caption()
    assert "40 weighted rows in 12 independent groups" in caption
    assert "over the groups of rows" in caption


def test_numbers_that_are_not_known():
    """They are counted, not written."""
    found = skvarimp.Importances(["a", "b"], np.array([1.0, np.nan]))
    assert "The importance of 1 feature is not known." in found.summary()
    check_english(found.summary())
    found = skvarimp.Importances(["a"], np.array([np.nan]))
    assert "The importance of no feature is known." in found.summary()
    with pytest.raises(ValueError, match="`top`"):
        found.summary(0)


def test_pvalues():
    """One-sided, adjusted for the number of features."""
    found = P().fit(LINE, X, Y).result_
    plain, careful = found.pvalues(), found.pvalues("holm")
    assert plain[0] < 0.01
    assert np.all(careful >= plain)
    assert np.all(found.pvalues("fdr") <= careful + 1e-15)
    with pytest.raises(ValueError, match=says("no p-value … PermutationImportance()")):
        S().fit(LINE, X, Y).result_.pvalues()
    with pytest.raises(ValueError, match="`adjust`"):
        found.pvalues("bonferroni")


def test_words():
    """Plurals, lists, ordinals, and decimal places that numbers share."""
    assert (count(1, "feature"), count(2, "entity")) == ("1 feature", "2 entities")
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 21)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "21st"]
    )
    assert written(np.array([12.34, 1.0])).tolist() == ["12.3", "1.0"]
    assert written(np.array([0.4567]), percent=True).tolist() == ["45.7%"]
    assert written(np.array([1.234e-12, -5e-13])).tolist() == ["1.23e-12", "-5.00e-13"]
    assert written(np.array([1.234e-12, -5e-13]) * 1e22).tolist()[0] == "1.23e+10"
    assert written(np.array([-1e-9, 100.0])).tolist() == ["0.000", "100.000"]
    assert model_in_words(None) == ""
    assert model_in_words(lambda X: X) == "a function"
