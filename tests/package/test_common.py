"""What every importance class has in common, checked on each of them."""

import pickle
import string

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

import skvarimp
from skvarimp.extending import BaseImportance

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:80, :4], Y[:80]
LINEAR = LinearRegression().fit(X, Y)
NETWORK = MLPRegressor(
    hidden_layer_sizes=(3,), solver="lbfgs", random_state=0, max_iter=50
)
TREE = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y)

# One small instance of each class and a model that it serves.
INSTANCES = {
    "SensitivityImportance": ({}, LINEAR),
    "DerivativeImportance": ({}, LINEAR),
    "ALEImportance": ({}, TREE),
    "PartialDependenceImportance": ({}, TREE),
    "ShapleyImportance": ({"random_state": 0}, TREE),
    "SobolImportance": ({}, TREE),
    "InteractionImportance": ({"grid": 4}, TREE),
    "PermutationImportance": ({}, TREE),
    "FIRMImportance": ({}, LINEAR),
    "ImpurityImportance": ({"surrogates": True}, TREE),
    "CoefficientImportance": ({}, LINEAR),
    "ConnectionWeightImportance": ({}, NETWORK),
    "FilterImportance": ({"score_func": f_regression}, None),
}

NAMES = [
    name
    for name in skvarimp.__all__
    if isinstance(getattr(skvarimp, name), type)
    and issubclass(getattr(skvarimp, name), BaseImportance)
]


def test_every_class_is_here():
    """A new importance class gets an instance above."""
    assert set(NAMES) == set(INSTANCES)


@pytest.fixture(params=NAMES)
def case(request):
    """(unfitted importance, fitted model)."""
    parameters, model = INSTANCES[request.param]
    if model is NETWORK and not hasattr(NETWORK, "coefs_"):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            NETWORK.fit(X, Y)
    return getattr(skvarimp, request.param)(**parameters), model


def test_parameters_are_stored_as_given(case):
    """clone, get_params, repr; positional parameters are refused."""
    importance, _ = case
    again = clone(importance)
    assert repr(again) == repr(importance)
    assert again.get_params().keys() == importance.get_params().keys()
    assert importance._repr_html_()
    if "score_func" not in importance.get_params():
        with pytest.raises(TypeError):
            type(importance)("pairs")


def test_fit_attributes_and_refit(case):
    """Keyword fit, common attributes, same numbers the second time, pickling."""
    importance, model = case
    assert importance.fit(estimator=model, X=X, y=Y) is importance
    n = len(importance.importances_)
    assert importance.n_features_in_ == 4
    assert importance.feature_names_in_.tolist() == list(X.columns)
    assert sorted(importance.ranking_) == list(range(1, n + 1))
    assert np.all(importance.importances_ >= 0)
    first = importance.importances_.copy()
    again = pickle.loads(pickle.dumps(importance))
    assert np.array_equal(again.importances_, first)
    importance.fit(model, X, Y)
    assert np.array_equal(importance.importances_, first)
    if hasattr(importance, "pairs_"):
        return
    assert importance.features_ == list(X.columns)
    assert importance.importances_per_output_.shape == (4, 1)
    assert len(importance.output_names_) == 1
    frame = importance.to_frame()
    expected = ["feature", "importance", "standard_error", "rank"]
    assert list(frame.columns)[:4] == expected
    assert isinstance(frame, pd.DataFrame)
    assert frame["importance"].is_monotonic_decreasing


def test_containers_give_the_same_numbers(case):
    """Arrays of both orders, read-only, pandas and polars."""
    importance, model = case
    reference = clone(importance).fit(model, X, Y).importances_
    values = X.to_numpy()
    read_only = np.asfortranarray(values)
    read_only.setflags(write=False)
    unnamed = _without_names(model)
    for other in (values, read_only, pl.from_pandas(X)):
        fitted = model if isinstance(other, pl.DataFrame) else unnamed
        got = clone(importance).fit(fitted, other, Y).importances_
        np.testing.assert_allclose(got, reference, rtol=1e-10)
    frame = clone(importance).fit(model, pl.from_pandas(X), Y).to_frame()
    assert isinstance(frame, pl.DataFrame)


def _without_names(model):
    """The model, silent about feature names."""
    if model is None:
        return None
    model = pickle.loads(pickle.dumps(model))
    del model.feature_names_in_
    return model


def test_nothing_is_modified(case):
    """Model, X and y are as before; the importance takes no parameter away."""
    importance, model = case
    before = pickle.dumps((model, X, Y))
    parameters = repr(importance.get_params())
    importance.fit(model, X, Y)
    assert pickle.dumps((model, X, Y)) == before
    assert repr(importance.get_params()) == parameters


def test_the_repr_says_how_it_was_computed(case):
    """Estimation and response path stand beside the parameters once fitted."""
    importance, model = case
    unfitted = repr(importance)
    importance.fit(model, X, Y)
    told = [
        vars(importance)[name]
        for name in ("estimation_", "response_path_")
        if name in vars(importance)
    ]
    expected = f"<{unfitted}: {', '.join(told)}>" if told else unfitted
    assert repr(importance) == expected
    assert repr(clone(importance)) == unfitted


def test_a_long_repr_is_shortened_as_scikit_learn_does():
    """Twenty names of fifty letters are more than it shows."""
    measure = skvarimp.SensitivityImportance(
        features=[50 * c for c in string.ascii_letters[:20]]
    )
    expected = BaseEstimator.__repr__(measure)
    assert "..." in expected
    assert repr(measure) == expected


def test_a_number_asked_for_before_fit_is_named(case):
    """And not the result that holds it."""
    importance = clone(case[0])
    with pytest.raises(AttributeError, match="no 'importances_' before `fit`"):
        _ = importance.importances_
    assert not hasattr(importance, "standard_errors_")


def test_unfitted_models_are_refused(case):
    """NotFittedError that says to fit first."""
    importance, model = case
    if model is None:
        return
    with pytest.raises(NotFittedError, match="fit"):
        importance.fit(clone(model), X, Y)


def test_data_in_the_models_place_are_refused(case):
    """fit(X, y), as estimators are fitted."""
    importance, _ = case
    for first in (X, X.to_numpy(), pl.DataFrame({"a": [1.0]})):
        with pytest.raises(TypeError, match=r"fit\(estimator, X, y\)"):
            importance.fit(first, Y)


def test_bad_width_and_length_are_refused(case):
    """Before any work."""
    importance, model = case
    if model is not None:
        with pytest.raises(ValueError, match="X has 3 columns"):
            importance.fit(model, X.iloc[:, :3], Y)
    if type(importance).__name__ != "ConnectionWeightImportance":  # reads no data
        with pytest.raises(ValueError, match="79 rows"):
            importance.fit(model, X, Y[:-1])


def _short(model):
    """Parameters that let a network stop early without a warning."""
    return {"tol": 1.0, "max_iter": 500} if isinstance(model, MLPRegressor) else {}


def test_sparse_input(case):
    """Sparse X gives the dense numbers, or the model's or measure's own refusal."""
    importance, model = case
    if model is None:
        pytest.skip("filters of dense columns")
    dense = X.to_numpy()
    dense = np.where(np.abs(dense) > 0.05, dense, 0.0)
    model = clone(model).set_params(**_short(model)).fit(dense, Y)
    reference = clone(importance).fit(model, dense, Y).importances_
    got = clone(importance).fit(model, sparse.csr_array(dense), Y).importances_
    np.testing.assert_allclose(got, reference, rtol=1e-9, atol=1e-12)


def test_standard_errors_do_not_depend_on_the_scale_of_weights(case):
    """Nor do importances, but for those that take off chance variation."""
    importance, model = case
    if type(importance).__name__ == "FIRMImportance":
        importance = clone(importance).set_params(n_bins=5)  # "auto" counts weights
    plain = clone(importance).fit(model, X, Y)
    if plain.standard_errors_ is None:
        return
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    once = clone(importance).fit(model, X, Y, sample_weight=weights)
    more = clone(importance).fit(model, X, Y, sample_weight=1e6 * weights)
    if type(importance).__name__ != "FIRMImportance":
        np.testing.assert_allclose(more.importances_, once.importances_, rtol=1e-9)
    errors = more.standard_errors_, once.standard_errors_
    np.testing.assert_allclose(*errors, rtol=1e-7, atol=1e-12)
    assert not np.allclose(errors[0], plain.standard_errors_, rtol=1e-2)
    said = " ".join(type(importance).fit.__doc__.split())
    assert "Importances treat integer weights as repeated rows." in said
    assert "Standard errors do not depend on the scale of the weights" in said
