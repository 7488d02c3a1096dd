"""Every public measure and function says in English what it has found."""

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

import skvarimp

N = 60
NAMES = ["age of car", "bmi", "x:y"]
random = np.random.default_rng(0)
X = random.normal(size=(N, 3))
Y = 3 * X[:, 0] - X[:, 1] + 0.3 * random.normal(size=N)
FRAME = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
LINE = make_pipeline(StandardScaler(), Ridge()).fit(FRAME, Y)
FOREST = RandomForestRegressor(7, max_depth=3, random_state=0).fit(FRAME, Y)
CLASSES = np.where(Y > 0, "yes", "no")
BINARY = LogisticRegression().fit(FRAME, CLASSES)
THREE = np.digitize(Y, [-1.0, 1.0])
SEVERAL = RandomForestClassifier(7, max_depth=3, random_state=0).fit(FRAME, THREE)
SEARCH = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3).fit(FRAME, Y)
NETWORK = MLPRegressor(
    hidden_layer_sizes=(2,), solver="lbfgs", tol=1.0, random_state=0
).fit(FRAME, Y)
COHORTS = np.where(X[:, 2] > 0, "upper", "lower")


def kept(model, y, kind="PermutationImportance"):
    """A measure with the rows that comparisons need."""
    return getattr(skvarimp, kind)(keep_rows=True).fit(model, FRAME, y)


# name -> model in words, unit or metric, and what makes the result
MEASURES = {
    "SensitivityImportance": ("Ridge (3 coefficients)", "share of", LINE),
    "DerivativeImportance": ("Ridge (3 coefficients)", "units of the predict", LINE),
    "PartialDependenceImportance": ("(7 trees)", "units of the prediction", FOREST),
    "ShapleyImportance": ("(7 trees)", "share of that variance", FOREST),
    "SobolImportance": ("(7 trees)", "share of the whole variance", FOREST),
    "InteractionImportance": ("(7 trees)", "units of the prediction", FOREST),
    "ALEImportance": ("(7 trees)", "units of the prediction", FOREST),
    "PermutationImportance": ("(7 trees)", "squared units of y", FOREST),
    "FIRMImportance": ("(7 trees)", "units of the score", FOREST),
    "ImpurityImportance": ("(7 trees)", "impurity", FOREST),
    "CoefficientImportance": ("Ridge", "coefficient", LINE[-1]),
    "ConnectionWeightImportance": ("MLPRegressor (a hidden", "weight", NETWORK),
    "FilterImportance": ("", "score f_regression", None),
}
FUNCTIONS = {
    "rank_intervals": (
        ["Ridge (3 coefficients)", "squared units of y", "60 rows"],
        lambda: skvarimp.rank_intervals(kept(LINE, Y)),
    ),
    "importance_difference": (
        ["Ridge (3 coeff", "RandomForestRegressor (7 trees)", "60 rows"],
        lambda: skvarimp.importance_difference(kept(LINE, Y), kept(FOREST, Y)),
    ),
    "importance_by_cohort": (
        ["Ridge (3 coefficients)", "squared units of y", "60 rows", "upper"],
        lambda: skvarimp.importance_by_cohort(kept(LINE, Y), COHORTS),
    ),
    "compare_importances": (
        ["Ridge (3 coef", "(7 trees)", "squared units of y", "60 rows", "to forest"],
        lambda: skvarimp.compare_importances(
            {"linear": LINE, "forest": FOREST}, FRAME, Y, "permutation"
        ),
    ),
    "importance_across_folds": (
        ["Ridge refitted in 5 folds", "squared units of y", "60 held-out rows"],
        lambda: skvarimp.importance_across_folds(LINE, FRAME, Y, "permutation"),
    ),
    "null_importances": (
        ["Ridge refitted in 3 folds", "squared", "60 held-out rows", "19 shuffled"],
        lambda: skvarimp.null_importances(
            LINE, FRAME, Y, n_permutations=19, cv=3, random_state=0
        ),
    ),
    "leave_out_importances": (
        ["Ridge refitted in 5 folds", "squared units of y", "60 held-out rows"],
        lambda: skvarimp.leave_out_importances(LINE, FRAME, Y),
    ),
    "importance_across_candidates": (
        ["Ridge refitted", "squared units of y", "60 training rows", "good model"],
        lambda: skvarimp.importance_across_candidates(SEARCH, FRAME, Y),
    ),
}
# What has a summary of its own kind, or none.
OTHERS = {"report", "correlated_groups"}


def check_english(text):
    """No word that means nothing to a reader, no doubled space, no wrong plural."""
    for word in ("response", "entry", "entries", "  ", "..", " ,", " ."):
        assert word not in text, text
    wrong = r"\b1 (features|rows|trees|coefficients|outputs|folds|models|groups)\b"
    assert not re.search(wrong, text), text
    assert not re.search(r"\bnan\b|\binf\b|None(?! of)|[{}<>]|_ |array", text), text
    assert text.endswith(".")
    sentences = re.split(r"(?<=[a-z0-9%)])\. ", text)
    assert all(s[:1].isupper() or s.startswith(tuple(NAMES)) for s in sentences), text


def check_result(found, named, texts):
    """What both texts name; intervals behind numbers; features that there are."""
    caption, summary = texts
    for text in texts:
        check_english(text)
    for words in named:
        assert words.lower() in f"{caption} {summary}".lower(), (words, texts)
    spoken = [name for name in NAMES if name in summary]
    assert spoken
    known = getattr(found, "standard_errors", True) is not None
    numbers = re.findall(
        r" with (-?\d\S*)( \((?:\d+% (?:joint )?interval )?\S+ to \S+\))?", summary
    )
    numbers = [pair for pair in numbers if "value" not in pair[0]]
    assert numbers
    assert all(bool(interval) == known for _, interval in numbers), summary


def test_all_are_here():
    """A new measure or function must say what it finds, too."""
    public = set(skvarimp.__all__)
    assert set(MEASURES) == {n for n in public if n.endswith("Importance")}
    functions = {n for n in public if n[0].islower()}
    assert set(FUNCTIONS) == functions - OTHERS


@pytest.mark.parametrize("name", MEASURES)
def test_measures(name):
    """With their defaults."""
    model_in_words, unit, model = MEASURES[name]
    measure = getattr(skvarimp, name)().fit(model, FRAME, Y)
    texts = measure.caption(), measure.summary()
    check_result(measure.result_, [model_in_words, unit, "60 rows"], texts)


@pytest.mark.parametrize(
    ("model", "y", "named"),
    [
        (BINARY, CLASSES, ["LogisticRegression (3", "log loss", "nats"]),
        (SEVERAL, THREE, ["RandomForestClassifier (7 trees)", "log loss", "nats"]),
        (SEARCH, Y, ["Ridge (3 coefficients)", "squared units of y"]),
        (lambda X: X["bmi"].to_numpy(), Y, ["a function", "squared units of y"]),
    ],
    ids=["binary", "several classes", "search", "callable"],
)
def test_models(model, y, named):
    """Classifiers, searches and functions."""
    measure = skvarimp.PermutationImportance().fit(model, FRAME, y)
    texts = measure.caption(), measure.summary()
    check_result(measure.result_, [*named, "60 rows"], texts)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    """What functions return: texts, table, notebook, picture, pickle."""
    named, make = FUNCTIONS[name]
    found = make()
    check_result(found, named, (found.caption(), found.summary()))
    table = found.to_frame()
    assert type(table).__module__.startswith("pandas")
    assert set(table["feature"]) == set(NAMES)
    assert type(found).__name__ not in ("DataFrame", "Series")
    assert "<table>" in found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert again.summary() == found.summary()
    assert again.to_frame().equals(table)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pictures_of_functions(name):
    """In the unit of the numbers."""
    pytest.importorskip("matplotlib")
    display = FUNCTIONS[name][1]().plot()
    text = display.ax_.get_xlabel().replace("\n", " ")
    assert "squared error" in text or name in {"compare_importances"}


@pytest.mark.parametrize(
    "measure",
    [
        skvarimp.PermutationImportance(scoring=lambda e, X, y: e.score(X, y)),
        skvarimp.PermutationImportance(loss=lambda y, f: np.abs(y - f)),
        skvarimp.FilterImportance(score_func=lambda X, y: np.abs(X.T @ y)),
    ],
    ids=["scorer", "loss", "filter"],
)
def test_functions_without_a_name(measure):
    """They are called what they are."""
    model = None if isinstance(measure, skvarimp.FilterImportance) else LINE
    measure.fit(model, FRAME, Y)
    for text in (measure.caption(), measure.summary()):
        check_english(text)
        assert "units of the score" in text or "units of the loss" in text
    assert "<" not in measure.result_.quantity.label


def test_linear_model_of_all_noise():
    """Nothing can be told from noise; the sentences hold."""
    noise = random.normal(size=N)
    model = LinearRegression().fit(FRAME[:20], noise[:20])
    found = skvarimp.PermutationImportance().fit(model, FRAME[20:], noise[20:])
    check_english(found.summary())
    assert "40 rows" in found.summary()


def test_ranks_that_are_allowed_stand_in_a_notebook():
    """The lowest first; one number where they are the same."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    measure = skvarimp.SensitivityImportance(keep_rows=True, scale=None)
    measure.fit(lambda rows: 9 * rows[:, 0] + rows[:, 1] + 1.01 * rows[:, 2], X)
    found = skvarimp.rank_intervals(measure)
    assert found._beside() == {"ranks allowed": ["1", "2–3", "2–3"]}
    assert "2–3" in found._repr_html_()


def test_as_many_ranks_as_may_be(monkeypatch):
    """One feature more is an error."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    measure = skvarimp.SensitivityImportance(keep_rows=True, scale=None)
    measure.fit(lambda rows: rows.sum(axis=1), X)
    monkeypatch.setattr("skvarimp._comparing.ranks.MOST_FEATURES", 3)
    assert len(skvarimp.rank_intervals(measure).features) == 3
    monkeypatch.setattr("skvarimp._comparing.ranks.MOST_FEATURES", 2)
    with pytest.raises(ValueError, match=says("at most 2 features … got 3 … features")):
        skvarimp.rank_intervals(measure)


def test_joint_intervals_are_called_so():
    """Those of `rank_intervals` hold for all features together, and are wider."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [3.0, 1.0, 0.2] + rng.normal(size=60)
    measure = skvarimp.SensitivityImportance(keep_rows=True)
    measure.fit(LinearRegression().fit(X, y), X, y)
    joint = skvarimp.rank_intervals(measure)
    assert "95% joint interval" in joint.summary()
    assert "joint interval" not in measure.result_.summary()
    assert np.all(np.ptp(joint.ends(), axis=0) > np.ptp(measure.result_.ends(), axis=0))


def test_cohorts_of_a_column_carry_its_name():
    """Numbers are rounded as far as they stay apart."""
    frame = FRAME.assign(bmi=np.where(X[:, 1] > 0, 0.0506801187, -0.0446416365))
    model = LinearRegression().fit(frame, Y)
    importance = skvarimp.PermutationImportance(keep_rows=True).fit(model, frame, Y)
    found = skvarimp.importance_by_cohort(importance, "bmi", X=frame)
    assert "in bmi=-0.04464 (" in found.caption()
    assert "in bmi=0.05068 with" in found.summary()
    assert "bmi=0.05068" in found._repr_html_()
    assert list(found.by_cohort) == [-0.0446416365, 0.0506801187]
    frame["bmi"] = np.where(X[:, 1] > 0, 1.00001, 1.00002)
    found = skvarimp.importance_by_cohort(importance, "bmi", X=frame)
    assert "bmi=1.00001 (" in found.caption()


@pytest.mark.parametrize(("p", "differs"), [(0.0125, True), (0.0126, False)])
def test_cohorts_differ_at_the_level_itself(p, differs):
    """The least of four p-values counts four times: 4 x 0.0125 = 0.05."""
    frame = FRAME.iloc[:, :2].assign(high=X[:, 1] > 0)
    importance = skvarimp.PermutationImportance(features=[0, 1], keep_rows=True)
    importance.fit(LinearRegression().fit(frame, Y), frame, Y)
    found = skvarimp.importance_by_cohort(importance, "high", X=frame)
    found.p_values = np.array([[1.0, 1.0], [p, 1.0]])
    assert ("From all other rows" in found.summary()) == differs
    assert ("No cohort was found to differ" in found.summary()) != differs


@pytest.mark.parametrize("statistic", ["standardized", "absolute"])
def test_coefficients_have_one_unit(statistic):
    """Those of classes add up to a score, which has no spread in the data."""
    measure = skvarimp.CoefficientImportance(statistic=statistic)
    of_classes = measure.fit(BINARY, FRAME, CLASSES).result_.quantity.unit
    assert of_classes.startswith("units of the score")
    of_numbers = measure.fit(LINE, FRAME, Y).result_.quantity.unit
    spread = "standard deviations of y"
    assert of_numbers.startswith(
        spread if statistic == "standardized" else "units of y"
    )


def test_features_of_zero_are_not_among_the_largest():
    """They are named once, as exactly 0."""
    said = skvarimp.SensitivityImportance().fit(lambda X: X[:, 0], X, Y).summary()
    largest = next(s for s in said.split(". ") if s.startswith("The largest"))
    assert "x0" in largest
    assert "x1" not in largest
    assert "The importances of x1 and x2 are exactly 0" in said


def test_what_differs_between_cohorts_and_fits():
    """A cohort in which x0 counts threefold; a fit compared with itself."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    south = X[:, 1] > 0

    def model(X):
        return np.where(X[:, 1] > 0, 3.0, 1.0) * X[:, 0] + 0.1 * X[:, 2]

    measure = skvarimp.SensitivityImportance(keep_rows=True, scale=None)
    measure.fit(model, X)
    cohorts = np.where(south, "south", "north")
    said = skvarimp.importance_by_cohort(measure, cohorts).summary()
    check_english(said)
    assert "From all other rows x0 in north and x0 in south differ" in said
    said = skvarimp.importance_difference(measure, measure).summary()
    check_english(said)
    assert said.endswith("The importance of each feature is the same in both.")
    other = skvarimp.PermutationImportance(keep_rows=True, loss="absolute_error")
    other.fit(model, X, model(X) + X[:, 1])
    difference = skvarimp.importance_difference(measure, other)
    assert difference.quantity.label == "difference of importances"
    for label in (measure.result_.quantity.label, other.result_.quantity.label):
        assert label in difference.summary()
