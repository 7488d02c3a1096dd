"""`report`: what it says, what it asks of the model, and the page it makes."""

import pickle
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1, make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp import PermutationImportance, SensitivityImportance, report
from skvarimp._data.table import Feature, as_table
from skvarimp._report import parts


class Counting:
    """A model that counts the rows that it is asked for."""

    def __init__(self, function):
        self.function, self.n = function, 0

    def __call__(self, X):
        self.n += len(X)
        return self.function(X)


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        self.text.append(data)


def known_truth(n=600, seed=0):
    """Rows of a function that is known, with noise; see `true_model`."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["first", "second", "lone"])
    X["twin"] = X["lone"]
    X["flat"] = 1.0
    X["falls"] = rng.uniform(size=n)
    X["unused"] = rng.normal(size=n)
    return X, true_model(X) + 0.3 * rng.normal(size=n)


def true_model(X):
    """One product, a column that has a copy, and one that only falls."""
    return (2.0 * X["first"] * X["second"] + X["lone"] - 4.0 * X["falls"]).to_numpy()


@pytest.fixture(scope="module")
def truth():
    """A report on rows whose truth is known."""
    return report(true_model, *known_truth(), random_state=0)


def statements(found, question):
    """The statements of the part that asks something."""
    return " ".join(next(p for p in found.parts if question in p.question).statements)


def test_each_truth_is_said(truth):
    """The function is known, so that each statement can be judged."""
    acting = statements(truth, "each feature act")
    assert "As falls rises, the mean prediction falls," in acting
    assert "As lone rises, the mean prediction rises," in acting
    together = statements(truth, "act together")
    assert "first and second act together" in together.replace(
        "second and first", "first and second"
    )
    assert together.count("act together") == 1
    entangled = statements(truth, "entangled")
    assert "lone and twin are correlated" in entangled
    assert "lone adds nothing measurable" in entangled
    assert "first" not in entangled
    noise = statements(truth, "noise")
    above, still = noise.split("above noise.")
    assert set(["first", "second", "lone", "falls"]) == set(
        above.replace("The importances of ", "")
        .replace(" and ", ", ")
        .replace(" are ", "")
        .split(", ")
    )
    for name in ("twin", "flat", "unused"):
        assert name in still
    data = statements(truth, "data")
    assert "600 rows and 7 columns" in data
    assert "flat is constant" in data
    assert "lone and twin hold the same values" in data
    assert "No value is missing" in data


def asked_of(names, groups=(), used=(), table=None):
    """What parts look at before they ask a model."""
    features = [Feature(name, (j,)) for j, name in enumerate(names)]
    features += [Feature("+".join(group), (0, 1)) for group in groups]
    return SimpleNamespace(
        features=features,
        names=[feature.name for feature in features],
        used=lambda name: name in used,
        rows=SimpleNamespace(table=table),
        top=3,
    )


def test_parts_that_have_nothing_to_look_at_say_so():
    """Groups have no curve, one feature is no pair, some tables no correlations."""
    only_groups = asked_of([], [["a", "b"], ["c", "d"]])
    (said,) = parts.how_each_acts(only_groups).statements
    assert said == "Each feature is a group of columns, which has no curve."
    for asked in (only_groups, asked_of(["a", "b", "c"], used=["b"])):
        (said,) = parts.which_act_together(asked).statements
        assert said == "Fewer than two features are used: there is no pair."
    rows = as_table(sparse.csr_array(np.eye(3)))
    (said,) = parts.which_are_entangled(asked_of("abc", table=rows)).statements
    assert "sparse columns are not computed" in said
    n = parts.MOST_ASSOCIATED + 1
    rows = as_table(np.zeros((2, n)))
    (said,) = parts.which_are_entangled(asked_of("abc", table=rows)).statements
    assert f"X has {n}" in said
    assert "correlated_groups(X) computes them" in said


def test_summary_has_every_statement(truth):
    """In the order of the page."""
    text = truth.summary()
    for part in truth.parts:
        assert part.question in text
        for statement in part.statements:
            assert statement in text
            assert statement[-1] == "."
            assert "  " not in statement


def test_the_page_stands_alone(truth, tmp_path):
    """Nothing is loaded, each picture has a text, and headings have one root."""
    file = tmp_path / "report.html"
    truth.save(file)
    text = file.read_text("utf8")
    page = Page(text)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    sources = [value for _, key, value in page.attributes if key in ("src", "srcset")]
    assert sources
    assert all(value.startswith("data:image/svg+xml;base64,") for value in sources)
    assert page.tags.count("h1") == 1
    pictures = [
        value for tag, key, value in page.attributes if (tag, key) == ("img", "alt")
    ]
    assert len(pictures) == page.tags.count("img")
    assert all(len(alt) > 20 for alt in pictures)
    assert page.tags.count("table") == page.tags.count("caption")
    assert "url(" not in text.split("</style>")[0]
    assert len(text) < 3e6
    assert truth._repr_html_().startswith("<iframe")
    assert pickle.loads(pickle.dumps(truth)).summary() == truth.summary()


NAMES = ["<script>alert(1)</script>", "<b>bold</b>", "$x_1$ & 年齢"]


def test_names_are_text():
    """Nothing from the data is markup or code."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=NAMES)
    y = X[NAMES[0]] + X[NAMES[2]]
    found = report(LinearRegression().fit(X, y), X, y, title="</title><script>x()")
    text = found.to_html()
    page = Page(text)
    assert not {"script", "b"} & set(page.tags)
    shown = "".join(page.text)
    for name in NAMES:
        assert name in shown
    assert "<script" not in found._repr_html_()


def smooth(X):
    """A function of all columns."""
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3:].sum(axis=1)


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (100, 5),
        pytest.param(400, 4, marks=pytest.mark.thorough),
        pytest.param(300, 30, marks=pytest.mark.thorough),
    ],
)
def test_a_model_that_is_not_read_is_asked_for_twice_the_importances(n, p):
    """Counted by the model."""
    X = np.random.default_rng(0).normal(size=(n, p))
    y = smooth(X)
    alone, whole = Counting(smooth), Counting(smooth)
    PermutationImportance(random_state=0).fit(alone, X, y)
    report(whole, X, y, random_state=0)
    assert whole.n <= 2 * alone.n
    without_y = Counting(smooth)
    report(without_y, X, random_state=0)
    assert without_y.n <= 2 * alone.n


@pytest.mark.parametrize("limit", [1_000, 3_000, 20_000])
def test_a_limit_is_kept_and_parts_that_it_does_not_reach_say_so(limit):
    """Counted by the model."""
    X = np.random.default_rng(0).normal(size=(150, 5))
    model = Counting(smooth)
    found = report(model, X, smooth(X), max_evaluations=limit, random_state=0)
    assert model.n <= limit
    if limit == 1_000:
        assert f"than max_evaluations={limit} allows" in found.summary()


def mixed(n=200):
    """A frame of mixed types with missing values, and classes."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "age": rng.integers(20, 80, n).astype(float),
            "size": rng.normal(size=n),
        }
    )
    y = np.where((X["colour"] == "red") | (X["age"] > 60), "yes", "no")
    return X, y


def test_classes_and_categories():
    """A pipeline of a frame: levels by name, and the class that is predicted."""
    X, y = mixed()
    columns = make_column_transformer(
        (OneHotEncoder(), ["colour"]), remainder=StandardScaler()
    )
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    found = report(model, X, y, random_state=0)
    assert found.title == "Report on LogisticRegression"
    acting = statements(found, "each feature act")
    assert "mean predicted probability of yes changes with colour" in acting
    assert "at red" in acting


X3, Y3 = make_regression(120, 3, n_targets=2, random_state=0)


@pytest.mark.filterwarnings("ignore:The .* rows count for no more than")
@pytest.mark.parametrize(
    ("model", "X", "y", "options"),
    half(
        [
            (LinearRegression(), X3, Y3, {}),
            (
                LinearRegression(),
                pl.DataFrame(X3, schema=["a", "b", "c"]),
                Y3[:, 0],
                {},
            ),
            (LinearRegression(), sparse.csr_array(X3), Y3[:, 0], {}),
            (LinearRegression(), X3, Y3[:, 0], {"groups": np.arange(120) // 4}),
            (LinearRegression(), X3, Y3[:, 0], {"sample_weight": np.arange(120) + 1.0}),
            (LinearRegression(), X3, Y3[:, 0], {"feature_names": ["u", "v", "w"]}),
            (LinearRegression(), X3, Y3[:, 0], {"measure": SensitivityImportance()}),
            (LogisticRegression(), X3, np.digitize(Y3[:, 0], [-50, 50]), {}),
        ]
    ),
    ids=[
        "outputs",
        "polars",
        "sparse",
        "groups",
        "weights",
        "names",
        "measure",
        "classes",
    ],
)
def test_what_may_be_given(model, X, y, options):
    """Every part is there, and speaks of the columns by name."""
    model.fit(X, y)
    found = report(model, X, y, random_state=0, **options)
    assert len(found.parts) == 6
    assert all(part.statements for part in found.parts)
    names = options.get("feature_names") or list(
        getattr(X, "columns", ["x0", "x1", "x2"])
    )
    shown = [row[0] for row in found.parts[0].table]
    assert sorted(shown) == sorted(names)


def test_missing_values_are_counted_and_told():
    """A tenth of a column, whose rows have a value of their own."""
    X, y = make_friedman1(300, random_state=0)
    X[::10, 0] = np.nan
    y[::10] += 30.0
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    found = report(model, X, y, top=3, random_state=0)
    assert "x0 is missing in 10% of the rows" in statements(found, "data")
    assert "Where x0 is missing, it is" in statements(found, "each feature act")


def test_a_search_says_what_other_good_models_need():
    """A column that each good ridge needs, and one that none needs."""
    search = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1.0]}, cv=3)
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = 3.0 * X[:, 0] + np.random.default_rng(1).normal(size=90)
    found = report(search.fit(X, y), X, y, random_state=0)
    assert found.title == "Report on Ridge"
    said = statements(found, "another good model")
    assert "without x0" in said
    assert "x1 can go" in said


def test_one_seed_makes_one_page():
    """Also with workers, and another seed makes another."""
    X, y = make_friedman1(120, random_state=0)
    first, again = (report(smooth, X, y, random_state=1) for _ in range(2))
    assert first.to_html() == again.to_html()
    assert report(smooth, X, y, random_state=1, n_jobs=2).summary() == first.summary()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"top": 0}, ValueError, "'top'"),
        ({"measure": "permutation"}, ValueError, "'measure'"),
        ({"max_evaluations": 0}, ValueError, "'max_evaluations'"),
        ({"n_jobs": "two"}, ValueError, "'n_jobs'"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight"),
    ],
)
def test_bad_arguments(options, error, message):
    """Before the model is asked."""
    model = Counting(smooth)
    with pytest.raises(error, match=message):
        report(model, X3, Y3[:, 0], **options)
    assert model.n == 0


def test_without_jinja(monkeypatch):
    """The way out is named before any work."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"skvarimp\[report\]"):
        report(smooth, X3, Y3[:, 0])


@pytest.mark.thorough
def test_noise_is_seldom_called_more():
    """Of 100 targets that no column knows, at most 8 lead to a claim."""
    claims = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 6)), rng.normal(size=200)
        model = LinearRegression().fit(X[:100], y[:100])
        found = report(model, X[100:], y[100:], random_state=seed)
        claims += "above noise" in statements(found, "noise")
    assert claims <= 8
