"""Every registered model as read: its form against the model, and how reading fails."""

import numpy as np
import pytest
from registry_models import OURS, X, fitted
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import DerivativeImportance, SensitivityImportance
from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import NoGradient
from skvarimp._models.model import RESPONSE_METHODS, Model
from skvarimp._models.readers import kernel_machines
from skvarimp._models.registry import read, reader_of, unwrapped
from skvarimp.exceptions import ResponseWarning

Y = X[:, 0] - X[:, 1] * X[:, 3]
every_feature = pytest.mark.parametrize(
    "feature", OURS, ids=lambda feature: feature.name
)


def forms(estimator):
    """Method, model and form of every response method that is read."""
    for method in RESPONSE_METHODS:
        if hasattr(estimator, method):
            model = Model(estimator, method)
            try:
                yield method, model, read(model, as_table(X))
            except NotReadable:
                continue


@every_feature
def test_a_form_gives_the_models_own_output(feature):
    """Of every response method, at every row."""
    found = {}
    for method, model, form in forms(fitted(feature)):
        own, found[method] = model(X).T, form.outputs(X)
        clear = np.ones(len(X), dtype=bool)
        if getattr(getattr(form, "link", None), "discrete", False):
            clear = form.link.lead(form.scores(X)) > 1e-12  # ties hang on a last digit
        np.testing.assert_allclose(
            found[method][:, clear],
            own[:, clear],
            rtol=1e-9,
            atol=1e-12 * np.abs(own).max(),
        )
    assert found


@every_feature
def test_a_forms_gradient_is_the_slope_of_its_outputs(feature):
    """Wherever it has one."""
    for _, _, form in forms(fitted(feature)):
        try:
            value, slopes = form.gradient(X)
        except NoGradient:
            continue
        np.testing.assert_allclose(value, form.outputs(X), rtol=1e-12, atol=1e-12)
        size = max(np.abs(slopes).max(), np.abs(value).max())
        for j, step in enumerate(1e-6 * np.eye(X.shape[1])):
            change = (form.outputs(X + step) - form.outputs(X - step)) / 2e-6
            off = np.abs(change - slopes[..., j]) > 1e-6 * size
            assert off.mean() <= 0.05  # votes jump, rectifiers bend


@pytest.mark.parametrize(
    "estimator",
    [
        SVR(),
        make_pipeline(StandardScaler(), SVR()),
        GridSearchCV(make_pipeline(SVR()), {}, cv=2),
    ],
    ids=["itself", "in a pipeline", "in a search"],
)
def test_an_attribute_that_was_renamed_ends_in_the_black_box(estimator, monkeypatch):
    """One warning names it, and the numbers stay."""
    estimator.fit(X, Y)
    measures = SensitivityImportance(scale=None, grid=3), DerivativeImportance()
    right = [measure.fit(estimator, X).importances_ for measure in measures]
    monkeypatch.setattr(kernel_machines, "private", lambda model, _: model._renamed)
    for measure, expected in zip(measures, right):
        with pytest.warns(ResponseWarning, match="no attribute '_renamed'") as caught:
            measure.fit(estimator, X)
        assert len(caught) == 1
        np.testing.assert_allclose(measure.importances_, expected, rtol=1e-6)
    assert "_renamed" in measures[0].response_path_
    assert measures[1].method_.startswith("central differences")


def test_unwrapped_is_the_model_inside():
    """Through searches and pipelines of one step, and no further."""
    ridge = Ridge().fit(X, Y)
    search = GridSearchCV(make_pipeline(Ridge()), {}, cv=2).fit(X, Y)
    scaled = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    assert unwrapped(ridge) is ridge
    assert unwrapped(search) is search.best_estimator_[-1]
    assert unwrapped(scaled) is scaled
    alone = VotingRegressor([("only", Ridge())])
    assert unwrapped(alone) is alone  # not fitted
    assert type(unwrapped(alone.fit(X, Y))) is Ridge


def test_a_subclass_is_not_its_base():
    """It may predict otherwise; only the exact type has a reader."""
    assert reader_of(Ridge()) == "linear.read_linear"
    assert reader_of(type("Ridge", (Ridge,), {})()) is None
