"""`compare_importances`: several models and measures side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from skvarimp._comparing.comparison import Comparison
from skvarimp._data.table import check_fitted
from skvarimp._data.validation import check_no_data, validate_params
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.response_importance import ResponseImportance, fit_together
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._refits.measures import named
from skvarimp._running.guards import no_overflow, undivided
from skvarimp._running.tasks import set_callbacks
from skvarimp._types import AnyEstimator, Matrix


def compare_importances(
    estimators: AnyEstimator | Sequence[AnyEstimator] | Mapping[str, AnyEstimator],
    X: Matrix,
    y: ArrayLike | None = None,
    measures: BaseImportance
    | str
    | Sequence[BaseImportance | str]
    | Mapping[str, BaseImportance | str]
    | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    callbacks: Any = None,
) -> Comparison:
    """Importances of several fitted models under several measures, in one table.

    All measures that watch the same response of the same features of a model share
    one walk through its response.

    Parameters
    ----------
    estimators : dict, list or estimator
        Fitted models; a dict gives their labels, a list takes their class names.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows to evaluate the models on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Observed target, where a measure needs it.
    measures : dict, list, measure or str, default=None
        Measures, which are cloned, or their names, such as "permutation", for default
        parameters; None: `SensitivityImportance()`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Importances treat integer weights as repeated rows.
        Standard errors do not depend on the scale of the weights, so give counts as
        repeated rows where errors matter.
    groups : array-like of shape (n_samples,), default=None
        Labels of rows that may depend on each other, for the standard errors of the
        measures that have them.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each feature of each
        measure's fit. One that stops leaves the other features of that fit NaN.

    Returns
    -------
    Comparison
        Its ``results`` are the `Importances` by (model, measure), ``fitted`` the fitted
        measures; `to_frame()` and `plot()`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> from skvarimp import compare_importances
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X = X[["bmi", "bp", "s5"]]
    >>> models = {"ridge": Ridge(0.01).fit(X, y), "lasso": Lasso(1.0).fit(X, y)}
    >>> table = compare_importances(models, X, y).to_frame()
    >>> table[["model", "feature", "rank"]].values.tolist()[3:]
    [['lasso', 'bmi', 1], ['lasso', 's5', 2], ['lasso', 'bp', 3]]
    """
    estimators = _labelled(estimators, "estimators")
    for estimator in estimators.values():
        check_no_data(estimator, "compare_importances(estimators, X, y)")
        if estimator is not None:  # filters have no model
            check_fitted(estimator, X)
    given = measures
    measures = SensitivityImportance() if measures is None else measures
    measures = _labelled(measures, "measures")
    measures = {name: named(m, "measures") for name, m in measures.items()}
    for name, measure in measures.items():
        if not isinstance(measure, BaseImportance):
            raise TypeError(
                f"`measures` takes instances of measures, got {measure!r} for "
                f"{name!r}. Use for example SensitivityImportance()."
            )
        if measure.get_params(deep=False).get("statistic") == "h_total":
            raise ValueError(
                "`measures` takes measures of features, got statistic='h_total' for "
                f"{name!r}, one number for all features together. Use 'h_overall'."
            )
    fitted = {}
    for label, estimator in estimators.items():
        of_model = {name: clone(measure) for name, measure in measures.items()}
        for measure in of_model.values():
            validate_params(measure)
            set_callbacks(measure, callbacks)
        fit_measures(list(of_model.values()), estimator, X, y, sample_weight, groups)
        fitted |= {(label, name): measure for name, measure in of_model.items()}
    results = {labels: measure.result_ for labels, measure in fitted.items()}
    titles = {name: name for name in measures}
    if not isinstance(given, Mapping):
        titles = _quantities(results)
    return Comparison(results, fitted, titles)


@no_overflow()
@undivided
def fit_measures(measures, estimator, X, y, sample_weight, groups):
    """Fit measures on one model; those on the response engine share its walks.

    A subclass that overrides `fit` is fitted by its own. Groups are for measures with
    standard errors.
    """
    walks = ResponseImportance.fit, ResponseImportance._fit
    sharing = [m for m in measures if (type(m).fit, type(m)._fit) == walks]
    if sharing:
        fit_together(sharing, estimator, X, y, sample_weight, groups)
    for measure in measures:
        if measure not in sharing:
            of_rows = {"sample_weight": sample_weight}
            if groups is not None and measure._takes_groups:
                of_rows["groups"] = groups
            measure.fit(estimator, X, y, **of_rows)


def _quantities(results):
    """Measures by what their numbers are, where these differ: name -> title."""
    found = {}
    for (_, name), of in results.items():
        found.setdefault(name, of.quantity.label)
    distinct = len(set(found.values())) == len(found)
    return found if distinct else {name: name for name in found}


def _labelled(given, parameter):
    """A dict label -> object; a list's members are called by their class."""
    if isinstance(given, Mapping):
        result = {str(label): member for label, member in given.items()}
    else:
        members = given if isinstance(given, list | tuple) else [given]
        names = [_name(member) for member in members]
        labels = [
            f"{name}_{names[:k].count(name)}" if names.count(name) > 1 else name
            for k, name in enumerate(names, start=1)
        ]
        result = dict(zip(labels, members))
    if not result:
        raise ValueError(f"`{parameter}` is empty.")
    return result


def _name(member):
    """The class of an object, the name of a function or of a measure."""
    if isinstance(member, str):
        return member
    return getattr(member, "__name__", type(member).__name__)
