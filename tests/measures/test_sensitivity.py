"""`SensitivityImportance`: scales, sampling, errors of the user, common behaviour."""

import pickle

import numpy as np
import pytest
from messages import says
from roundoff import roundoff
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skvarimp import SensitivityImportance

X, Y = make_regression(60, 4, noise=5.0, random_state=0)
LINEAR = LinearRegression().fit(X, Y)


def mean_pair_distance(v):
    """E|V' - V''| over all ordered pairs, self-pairs included."""
    v = np.asarray(v, dtype=float)
    return np.abs(v[:, None] - v[None, :]).mean()


def test_linear_model_is_coefficient_times_mean_difference():
    """Of a linear model every row's curve is the same line: |w_j| D(x_j) / D(y)."""
    imp = SensitivityImportance().fit(LINEAR, X, Y)
    expected = [abs(w) * mean_pair_distance(x) for w, x in zip(LINEAR.coef_, X.T)]
    expected = np.array(expected) / mean_pair_distance(Y)
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-10)
    assert imp.scale_ == pytest.approx(mean_pair_distance(Y))
    fit = 1 - np.abs(Y - LINEAR.predict(X)).sum() / np.abs(Y - np.median(Y)).sum()
    assert imp.goodness_of_fit_ == pytest.approx(fit)
    assert imp.ranking_[np.argmax(expected)] == 1


def test_scale_of_classifiers():
    """Class indicators for probabilities and labels, the score itself for scores."""
    Xi, yi = load_iris(return_X_y=True)
    three = GaussianNB().fit(Xi, yi)
    for method in ("predict_proba", "predict"):
        imp = SensitivityImportance(response_method=method).fit(three, Xi, yi)
        np.testing.assert_allclose(imp.scale_, [4 / 9] * 3)
        assert imp.output_names_ == ["0", "1", "2"]
        assert imp.importances_per_output_.shape == (4, 3)
    two = SVC().fit(Xi, np.where(yi == 1, "b", "a"))
    imp = SensitivityImportance().fit(two, Xi)
    assert imp.scale_ == pytest.approx(mean_pair_distance(two.decision_function(Xi)))
    assert imp.output_names_ == ["b"]
    assert imp.goodness_of_fit_ is None
    line = RidgeClassifier().fit(Xi, yi == 1)
    imp.fit(line, Xi)
    line.coef_, line.intercept_ = line.coef_ / 2**20, line.intercept_ / 2**20
    same = SensitivityImportance().fit(line, Xi)
    np.testing.assert_allclose(same.importances_, imp.importances_, rtol=1e-9)
    assert same.scale_ == pytest.approx(imp.scale_ / 2**20)


def test_scaling_the_response_scales_the_importance():
    """f -> a f + b multiplies every unscaled importance by |a|."""
    imp = SensitivityImportance(scale=None, grid="all", estimation="exact")
    for contrast in ("pairs", "observed", "range"):
        imp.set_params(contrast=contrast)
        one = imp.fit(LINEAR.predict, X).importances_
        other = imp.fit(lambda X: 7 - 3 * LINEAR.predict(X), X).importances_
        np.testing.assert_allclose(other, 3 * one, rtol=1e-9)


def test_permuting_columns_permutes_importances():
    """Feature by feature, whatever the order."""
    order = [2, 0, 3, 1]
    inverse = np.argsort(order)
    imp = SensitivityImportance(scale=None, estimation="exact")
    one = imp.fit(LINEAR.predict, X).importances_
    other = imp.fit(lambda Z: LINEAR.predict(Z[:, inverse]), X[:, order])
    np.testing.assert_allclose(other.importances_, one[order], rtol=1e-10)


def knn(n=60):
    """A model with interactions that has no fast response."""
    random = np.random.RandomState(1)
    Z = np.column_stack([random.randn(n), random.randint(0, 3, n), random.randn(n)])
    return KNeighborsRegressor(4).fit(Z, Z[:, 0] * Z[:, 1] + Z[:, 2]), Z


@pytest.mark.parametrize("contrast", ["pairs", "observed"])
def test_sampled_converges_to_exact(contrast):
    """Within four Monte Carlo errors at many repeats, with weights and a group."""
    model, Z = knn()
    weights = np.random.RandomState(2).uniform(0, 2, len(Z))
    parameters = {"contrast": contrast, "scale": None, "features": [0, 1, [0, 2]]}
    exact = SensitivityImportance(estimation="exact", **parameters)
    exact.fit(model, Z, sample_weight=weights)
    drawn = SensitivityImportance(
        estimation="sampled", n_draws=40, random_state=0, **parameters
    ).fit(model, Z, sample_weight=weights)
    gap = np.abs(drawn.importances_ - exact.importances_)
    # no more values than draws: none is left out
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_ + roundoff(len(Z), 10.0))
    assert np.all(drawn.monte_carlo_errors_ < 0.02 * exact.importances_)
    np.testing.assert_allclose(drawn.standard_errors_, exact.standard_errors_, rtol=0.1)
    assert drawn.n_draws_.tolist() == [40 * 60, 3 * 60, 40 * 60]


@pytest.mark.thorough
def test_monte_carlo_intervals_cover_the_exact_value():
    """Nominal 95% intervals at ten repeats cover in 90 to 99% of 300 runs."""
    model, Z = knn(40)
    exact = SensitivityImportance(scale=None, estimation="exact").fit(model, Z)
    inside = []
    for seed in range(300):
        drawn = SensitivityImportance(
            scale=None, estimation="sampled", random_state=seed, features=[0]
        ).fit(model, Z)
        gap = abs(drawn.importances_[0] - exact.importances_[0])
        inside.append(gap < 1.96 * drawn.monte_carlo_errors_[0])
    assert 0.90 <= np.mean(inside) <= 0.99


@pytest.mark.thorough
@pytest.mark.parametrize("contrast", ["pairs", "observed"])
def test_standard_errors_cover_the_population_value(contrast):
    """f = x0 + x0 x1, standard normal inputs, 300 samples of 200 rows."""

    def f(X):
        return X[:, 0] * (1 + X[:, 1])

    # E|1 + x1| for a standard normal x1 is 1.1666306...; pairs of x0: times 2/sqrt(pi)
    from scipy.stats import norm

    level = 2 * norm.pdf(1) + 2 * norm.cdf(1) - 1
    population = 2 / np.sqrt(np.pi) * level
    inside = []
    for seed in range(300):
        Z = np.random.RandomState(seed).randn(200, 2)
        imp = SensitivityImportance(contrast=contrast, scale=None, features=[0])
        imp.fit(f, Z)
        gap = abs(imp.importances_[0] - population)
        inside.append(gap < 1.96 * imp.standard_errors_[0])
    assert 0.92 <= np.mean(inside) <= 0.98


@pytest.mark.thorough
def test_random_state():
    """Same seed same numbers, another seed others, a generator is consumed."""
    model, Z = knn(30)

    def run(random_state, n_jobs=None):
        imp = SensitivityImportance(
            estimation="sampled",
            scale=None,
            n_draws=4,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return imp.fit(model, Z).importances_

    assert np.array_equal(run(3), run(3))
    assert np.array_equal(run(3), run(3, n_jobs=2))
    assert not np.array_equal(run(3), run(4))
    for generator in (np.random.RandomState(0), np.random.default_rng(0)):
        assert not np.array_equal(run(generator), run(generator))
    before = np.random.get_state()[1].copy()  # noqa: NPY002 it must stay as it is
    run(3)
    after = np.random.get_state()[1]  # noqa: NPY002
    assert np.array_equal(before, after)


def test_a_model_that_is_not_read_draws_by_default():
    """Exact numbers of at most three times six donors: few values; else six draws."""
    model, Z = knn(18)
    assert SensitivityImportance(scale=None).fit(model, Z).estimation_ == "exact"
    model, Z = knn()
    imp = SensitivityImportance(scale=None).fit(model, Z)
    assert imp.estimation_ == "sampled"
    assert imp.n_draws_.tolist() == [6 * 60, 3 * 60, 6 * 60]  # three values
    assert np.all(imp.standard_errors_ > 0)
    assert "6 draws of each of 60 rows" in imp.response_path_


def test_unused_and_constant_columns_are_exactly_zero():
    """Also in the sampled estimate, and without a warning."""
    Z = np.column_stack([X, np.full(len(X), 0.1)])

    def f(Z):
        return Z[:, 0] * Z[:, 4]

    for estimation in ("exact", "sampled"):
        imp = SensitivityImportance(estimation=estimation, scale=None).fit(f, Z)
        assert np.all(imp.importances_[[1, 2, 3, 4]] == 0)
        assert np.all(imp.standard_errors_[[1, 2, 3, 4]] == 0)
    constant = SensitivityImportance(response_method="decision_function")
    flat = LogisticRegression().fit(X, Y > 0)
    flat.coef_ = np.zeros_like(flat.coef_)
    assert np.all(constant.fit(flat, X).importances_ == 0)


@pytest.mark.thorough
def test_missing_values_are_values():
    """Where the model takes NaN, it is one more value of the column."""
    Z = X.copy()
    Z[::5, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(Z, Y)
    imp = SensitivityImportance(scale=None, features=[0]).fit(model, Z)
    from literal import sensitivity

    expected = sensitivity(lambda X: model.predict(X)[:, None], Z, (0,), "pairs")
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-10)


def test_common_attributes_and_refit():
    """Names, frame, ranking; fit twice forgets the first; keyword fit."""
    imp = SensitivityImportance(features={"first": 0, "rest": [1, 2, 3]})
    imp.fit(estimator=LINEAR, X=X, y=Y)
    assert imp.features_ == ["first", "rest"]
    assert imp.n_features_in_ == 4
    assert imp.response_path_
    frame = imp.to_frame()
    columns = ["feature", "importance", "standard_error", "rank", "direction"]
    assert list(frame.columns) == columns
    assert frame["rank"].tolist() == [1, 2]
    again = pickle.loads(pickle.dumps(imp))
    assert np.array_equal(again.importances_, imp.importances_)
    assert "SensitivityImportance" in repr(clone(imp))
    first = imp.importances_
    assert np.array_equal(imp.fit(LINEAR, X, Y).importances_, first)
    assert SensitivityImportance(features=[[0, 1], -1]).fit(LINEAR, X, Y).features_ == [
        "x0+x1",
        "x3",
    ]


def test_estimator_is_not_routed_as_metadata():
    """`estimator` is the object examined; what belongs to the rows can be requested."""
    imp = SensitivityImportance()
    requests = imp.get_metadata_routing().fit.requests
    assert set(requests) == {"sample_weight", "groups"}


BAD_CALLS = [
    (dict(estimator=LinearRegression()), NotFittedError, "not fitted yet"),
    (dict(estimator=LinearRegression), TypeError, "got the class"),
    (dict(estimator=object()), TypeError, "or be a callable"),
    (dict(X=X[:, :2]), ValueError, "X has 2 columns, but LinearRegression was fitted"),
    (dict(X=X[0]), ValueError, "2-dimensional"),
    (dict(X=X[:0], y=Y[:0]), ValueError, "no rows"),
    (dict(X=X[:1], y=Y[:1]), ValueError, "Only one row"),
    (dict(y=Y[:-1]), ValueError, "y has 59 rows, but X has 60 rows"),
    (dict(y=np.where(Y > 0, np.nan, 1)), ValueError, "y contains NaN"),
    (dict(y=np.ones(60)), ValueError, "constant.*scale=None"),
    (dict(y=None), ValueError, "got no y: pass y, or scale=None"),
    (dict(y=[[1.0, 2.0]] * 60), ValueError, "one column of y for each output"),
    (dict(y=["a"] * 60), ValueError, "numeric y.*scale=None"),
    (dict(sample_weight=np.ones(3)), ValueError, r"shape \(60,\)"),
    (dict(sample_weight=-np.ones(60)), ValueError, "non-negative"),
    (dict(sample_weight=np.zeros(60)), ValueError, "0 everywhere"),
    (dict(sample_weight=["a"] * 60), ValueError, "`sample_weight` must be finite num"),
    (dict(sample_weight=np.eye(60)[0]), ValueError, "Only one row"),
    (
        dict(sample_weight=np.full(60, np.nan)),
        ValueError,
        "`sample_weight` contains NaN",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_bad_input(call, error, message):
    """A clear error before any work."""
    call = {"estimator": LINEAR, "X": X, "y": Y} | call
    with pytest.raises(error, match=message):
        SensitivityImportance().fit(**call)


@pytest.mark.parametrize("labels", [["no", "maybe"], [False, True]])
def test_labels_unknown_to_the_classifier(labels):
    """The scale compares with the classes of y, which must be the model's."""
    yes = Y > 0
    model = LogisticRegression().fit(X, np.where(yes, "yes", "no"))
    with pytest.raises(ValueError, match="is not among the model's classes"):
        SensitivityImportance().fit(model, X, np.where(yes, labels[1], labels[0]))
    SensitivityImportance(scale=None).fit(model, X, yes)


BAD_PARAMETERS = [
    (dict(features=[]), ValueError, "empty"),
    (
        dict(features=["age"]),
        ValueError,
        "'age' is not among the 4 features seen by the estimator: ",
    ),
    (dict(features=[4]), ValueError, "positions run from 0 to 3"),
    (dict(features=[0, 0]), ValueError, "'x0' 2 times"),
    (dict(features=[[0, 1], [1, 0]]), ValueError, "same columns twice"),
    (dict(features=[[0, 0]]), ValueError, "'x0' twice"),
    (dict(features=[[]]), ValueError, r"empty group, got \[\[\]\]"),
    (dict(features=[[0, [1]]]), TypeError, r"got \[1\] of type list"),
    (dict(features=[0.5]), TypeError, "column names, integer positions"),
    (dict(response_method="decision_function"), ValueError, "no `decision_function`"),
    (dict(contrast="pair"), ValueError, "contrast"),
    (dict(n_draws=2), ValueError, "'n_draws' parameter .* an even int"),
    (dict(n_draws=7), ValueError, "n_draws"),
    (dict(grid=0), ValueError, "grid"),
    (dict(grid=True), ValueError, "grid"),
    (dict(grid=[[1.0]], features=[0]), ValueError, "1-d array"),
    (dict(grid=["a"], features=[0]), ValueError, "finite numbers"),
    (dict(contrast="range", estimation="sampled"), ValueError, "not a mean of draws"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters(parameters, error, message):
    """A clear error, in scikit-learn's style for types and ranges."""
    with pytest.raises(error, match=message):
        SensitivityImportance(**parameters).fit(LINEAR, X, Y)


def test_sparse_refused_by_the_model_is_the_models_own_error():
    """The model is called with X's own container."""
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    with pytest.raises(TypeError, match=says("Sparse … X … toarray()")):
        SensitivityImportance(scale=None).fit(model, sparse.csr_array(X))
    S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(S, Y > 0)
    dense = SensitivityImportance().fit(tree, S.toarray(), Y > 0)
    for form in ("csr", "csc", "coo"):
        imp = SensitivityImportance().fit(tree, S.asformat(form), Y > 0)
        np.testing.assert_allclose(imp.importances_, dense.importances_, rtol=1e-10)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_several_labels_are_one_output_each(n_labels):
    """Their probabilities do not sum to 1, and none of two is dropped."""
    random = np.random.RandomState(0)
    labels = (X[:, :n_labels] + 0.3 * random.randn(60, n_labels) > 0).astype(int)
    model = OneVsRestClassifier(GaussianNB()).fit(X, labels)
    for method in ("predict_proba", "predict"):
        imp = SensitivityImportance(response_method=method).fit(model, X, labels)
        assert imp.importances_per_output_.shape == (4, n_labels)
        shares = labels.mean(axis=0)
        np.testing.assert_allclose(imp.scale_, 2 * shares * (1 - shares))
        assert np.all(imp.importances_per_output_.argmax(axis=0) == range(n_labels))


def test_ranges_are_shares_of_the_range():
    """Of y for values, of its indicators for labels, of the score itself for scores."""
    by_range = SensitivityImportance(contrast="range")
    linear = LinearRegression().fit(X, Y)
    assert by_range.fit(linear, X, Y).scale_ == np.ptp(Y)
    slopes = np.abs(linear.coef_) * np.ptp(X, axis=0)
    np.testing.assert_allclose(by_range.importances_, slopes / np.ptp(Y))
    labels = Y > 0
    by_range.fit(LogisticRegression().fit(X, labels), X, labels)
    assert by_range.scale_ == 1.0
    machine = RidgeClassifier().fit(X, labels)
    by_range.fit(machine, X, labels)
    assert by_range.scale_ == pytest.approx(np.ptp(machine.decision_function(X)))
