"""Refits refuse bad input before the first fit; errors of others come through."""

import numpy as np
import pytest
from refit_cases import BOTH, LINEAR, OBSERVED, X, Y, few
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from skvarimp import (
    FilterImportance,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)


class NeverFitted(LinearRegression):
    """Bad input must be refused before this is fitted."""

    def fit(self, X, y, sample_weight=None):
        """Fail."""
        raise AssertionError("fitted")


BAD = {
    "measure is unknown": (dict(measure="pairs"), ValueError, "'measure'"),
    "importance is a class": (
        dict(measure=SensitivityImportance),
        TypeError,
        r"Use SensitivityImportance\(\)",
    ),
    "parameter of the importance": (
        dict(measure=SensitivityImportance(contrast="pair")),
        ValueError,
        "'contrast'",
    ),
    "unknown feature": (
        dict(measure=SensitivityImportance(features=["age"])),
        ValueError,
        "'age' is not among",
    ),
    "estimator is a class": (dict(estimator=Ridge), TypeError, "`estimator`"),
    "estimator has no fit": (dict(estimator=np.mean), TypeError, "`estimator`"),
    "X is a vector": (dict(X=Y), ValueError, "2-dimensional"),
    "y too short": (dict(y=Y[:-1]), ValueError, "59 rows"),
    "y is NaN": (dict(y=np.full(60, np.nan)), ValueError, "y contains NaN"),
    "cv of one": (dict(cv=1), ValueError, "'cv'"),
    "cv is a word": (dict(cv="five"), ValueError, "'cv'"),
    "cv is empty": (dict(cv=[]), ValueError, "no split"),
    "cv holds nothing out": (
        dict(cv=[(np.arange(60), [])]),
        ValueError,
        "without training or held-out rows",
    ),
    "cv beyond the rows": (dict(cv=[([1, 2], [60])]), ValueError, "does not have"),
    "weights too short": (dict(sample_weight=[1.0]), ValueError, "must have 60 values"),
    "negative weights": (dict(sample_weight=-np.ones(60)), ValueError, "non-negative"),
    "groups too short": (dict(groups=[1, 2]), ValueError, "`groups` must have 60"),
    "params": (dict(params="groups"), ValueError, "'params'"),
    "n_jobs": (dict(n_jobs=0.5), ValueError, "'n_jobs'"),
    "random_state": (dict(random_state="a"), ValueError, "'random_state'"),
    "callbacks": (dict(callbacks=[print]), TypeError, "callback"),
}
BAD_FOLDS = {"rows": (dict(rows="all"), ValueError, "'rows'")}
BAD_NULL = {
    "no y": (dict(y=None), ValueError, "y is required"),
    "no permutation": (dict(n_permutations=0), ValueError, "'n_permutations'"),
    "no repeat": (dict(n_repeats=0), ValueError, "'n_repeats'"),
    "strata too short": (dict(strata=[1]), ValueError, "`strata` must have shape"),
    "strata of one row": (dict(strata=np.arange(60)), ValueError, "nothing can be"),
    "no rows": (dict(X=X[:0], y=Y[:0], cv=None), ValueError, "no rows"),
    "no weight": (dict(sample_weight=np.zeros(60)), ValueError, "0 everywhere"),
}


def check_refused(function, case):
    """The error comes, and before the first fit."""
    changed, error, message = case
    arguments = dict(estimator=NeverFitted(), X=X, y=Y, measure=OBSERVED)
    with pytest.raises(error, match=message):
        function(**(arguments | changed))


@BOTH
def test_labels_beyond_all_integers_are_refused(function):
    """Without a warning of the conversion that tells integers from numbers."""
    huge = np.where(np.arange(60) % 2, 1.0, -1.0) * np.finfo(float).max
    with pytest.raises(ValueError, match="Unknown label type"):
        function(estimator=LogisticRegression(), X=X, y=huge, measure=OBSERVED)


@BOTH
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_the_first_fit(function, case):
    """Wherever it is in the arguments."""
    check_refused(function, BAD[case])


@pytest.mark.parametrize("case", BAD_FOLDS)
def test_bad_input_across_folds(case):
    """Arguments of its own."""
    check_refused(importance_across_folds, BAD_FOLDS[case])


@pytest.mark.parametrize("case", BAD_NULL)
def test_bad_input_of_null_importances(case):
    """Arguments of its own."""
    check_refused(null_importances, BAD_NULL[case])


@BOTH
def test_errors_of_others_come_through(function):
    """The model's own error; importances that are no numbers."""

    def offline(estimator, X, y):
        raise RuntimeError("sensor offline")

    with pytest.raises(RuntimeError, match="sensor offline"):
        function(LINEAR, X, Y, offline)
    with pytest.raises(ValueError, match="'x0' is NaN"):
        function(LINEAR, X, Y, lambda e, X, y: X[0] * np.nan)
    with pytest.raises(ValueError, match=r"each of the 6 columns, got shape \(2,\)"):
        function(LINEAR, X, Y, lambda e, X, y: [1.0, 2.0])


@BOTH
def test_models_keep_the_callers_numpy_settings(function):
    """An overflow that the caller ignores is the model's own business."""

    class Overflows(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            assert np.exp(1e4) == np.inf
            return super().fit(X, y)

    with np.errstate(over="ignore"):
        function(Overflows(), X, Y, OBSERVED, **few(function))


@pytest.mark.parametrize("function", [importance_across_folds, null_importances])
def test_no_mean_is_taken_over_infinite_importances(function):
    """An error that names the feature, not a mean or a p-value."""
    X = np.random.default_rng(0).normal(size=(40, 4))
    unbounded = FilterImportance(
        score_func=lambda X, y: np.array([1.0, 2.0, np.inf, 0.5])
    )
    with pytest.raises(ValueError, match="'x2' is NaN or infinite"):
        function(None, X, X[:, 0], unbounded, random_state=0)
