"""The smallest and largest numbers that each parameter takes, written out."""

import inspect

import numpy as np
import pytest
from public_classes import VALIDATED
from sklearn.linear_model import LinearRegression
from sklearn.utils._param_validation import Interval

import skvarimp
from skvarimp import correlated_groups, importance_across_candidates
from skvarimp._data.validation import validate_params
from skvarimp.filters import lowess_r2

FROM_ONE = [1, 2], [0, -1, 1.5]
BELOW_ONE = np.nextafter(1.0, 0.0)
ABOVE_ONE = np.nextafter(1.0, 2.0)
ABOVE_ZERO = np.nextafter(0.0, 1.0)
EVEN = [4, 6, 2**16], [0, 2, 3, 5, -4, 2**16 + 2]

# parameter -> what it takes, and what it does not
BOUNDS = {
    "alpha": ([ABOVE_ZERO, BELOW_ONE], [0.0, 1.0]),
    "grid": FROM_ONE,
    "importance_threshold": ([0.0, BELOW_ONE], [-ABOVE_ZERO, 1.0]),
    "markov_order": ([0, 1], [-1, 0.5]),
    "max_evaluations": FROM_ONE,
    "max_iter": FROM_ONE,
    "max_order": FROM_ONE,
    "min_features_to_select": FROM_ONE,
    "n_bins": FROM_ONE,
    "n_draws": EVEN,
    "n_iter_no_change": FROM_ONE,
    "n_jobs": ([1, 2**16, -1, -7], [0, 2**16 + 1]),
    "n_repeats": ([1, 2**31], [0, 2**31 + 1]),
    "order": FROM_ONE,
    "pairs": FROM_ONE,
    "performance_threshold": ([0.0, 1.0], [-ABOVE_ZERO, ABOVE_ONE]),
    "step": ([1, 2, ABOVE_ZERO, BELOW_ONE], [0, 0.0, 1.0, -1]),
    "surrogates": FROM_ONE,
    "tol": ([ABOVE_ZERO, 2.0], [0.0, -ABOVE_ZERO]),
}
OF_ONE_CLASS = {("FIRMImportance", "n_bins"): ([2, 3], [1, 0])}


def constraints_of(kind):
    """Of the parameters that a class takes."""
    shared = getattr(kind, "_shared_constraints", {})
    takes = inspect.signature(kind).parameters
    return {
        name: constraints
        for name, constraints in (shared | kind._parameter_constraints).items()
        if name in takes
    }


@pytest.mark.parametrize("kind", VALIDATED, ids=lambda kind: kind.__name__)
def test_numbers_at_the_bounds(kind):
    """The last one inside is taken, the first one outside is not."""
    required = {
        name: 1 if name.endswith("order") else "sensitivity"
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is inspect.Parameter.empty
    }
    for name, constraints in constraints_of(kind).items():
        if not any(isinstance(one, Interval) for one in constraints):
            continue
        inside, outside = OF_ONE_CLASS.get((kind.__name__, name)) or BOUNDS[name]
        for value in inside:
            validate_params(kind(**required | {name: value}))
        for value in outside:
            with pytest.raises(ValueError, match=f"The '{name}' parameter"):
                validate_params(kind(**required | {name: value}))


X = np.arange(12.0).reshape(6, 2) ** 2
FUNCTIONS = {
    "frac": (lowess_r2, {"X": X, "y": X[:, 0]}, [1.0], [0.0, ABOVE_ONE]),
    "n_iter": (lowess_r2, {"X": X, "y": X[:, 0]}, [0, 1000], [-1, 1001]),
    "n_fits": (lowess_r2, {"X": X, "y": X[:, 0]}, [2, 3], [1, 0]),
    "threshold": (correlated_groups, {"X": X}, [ABOVE_ZERO, 1.0], [0.0, ABOVE_ONE]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_at_the_bounds_of_functions(name):
    """The same of a parameter of a function."""
    function, given, inside, outside = FUNCTIONS[name]
    for value in inside:
        function(**given, **{name: value})
    for value in outside:
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            function(**given, **{name: value})


OF_REFITS = {
    "within": ([0.0, ABOVE_ZERO], [-ABOVE_ZERO]),
    "max_models": FROM_ONE,
    "n_jobs": ([1], [0]),
}


@pytest.mark.parametrize("name", OF_REFITS)
def test_numbers_at_the_bounds_of_refits(name):
    """The same where models are compared."""
    found = {"one": (LinearRegression().fit(X, X[:, 0]), [1.0, 0.9])}
    inside, outside = OF_REFITS[name]
    for value in inside:
        importance_across_candidates(found, X, X[:, 0], **{name: value})
    for value in outside:
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            importance_across_candidates(found, X, X[:, 0], **{name: value})


@pytest.mark.parametrize("top", [0, -1])
def test_a_report_shows_at_least_one_feature(top):
    """One is the least."""
    with pytest.raises(ValueError, match="The 'top' parameter"):
        skvarimp.report(lambda X: X[:, 0], X, top=top)
