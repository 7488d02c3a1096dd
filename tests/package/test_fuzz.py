"""Every public class and function, called with anything.

Each call works or refuses in words of ours (see `fuzz_verdict`). The suite makes two
hundred calls, and five hundred where all tests run; ten thousand others are made by
``HYPOTHESIS_PROFILE=nightly pytest -n 2 tests/package/test_fuzz.py``.
"""

import inspect
import os

import fuzz_calls
import pytest
from combinations import examples
from fuzz_options import CONDITIONAL, OPTIONS, SELECTOR_OPTIONS
from fuzz_refits import FUNCTIONS as REFITTING
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skvarimp
import skvarimp.sequence

EVERYTHING = list(HealthCheck)
N_CALLS = 10_000 if os.environ["HYPOTHESIS_PROFILE"] == "nightly" else examples(500)

# What is called, and its share of the calls.
SHARES = {
    "importance": 0.4,
    "compare": 0.06,
    "selector": 0.1,
    "importance_estimator": 0.05,
    "refits": 0.05,
    "rows": 0.05,
    "filter": 0.1,
    "feature_function": 0.05,
    "sequence": 0.09,
    "display": 0.05,
}


def fuzzed(share):
    """Settings and data for a share of the calls."""

    def decorate(test):
        chosen = settings(
            max_examples=max(1, round(share * N_CALLS)),
            suppress_health_check=EVERYTHING,
        )
        return chosen(given(st.data())(test))

    return decorate


# The importances' share in parts, one per class, so that workers divide it.
PARTS = dict.fromkeys(SHARES, 1) | {"importance": len(fuzz_calls.NAMES)}


def _make(kind, part):
    @fuzzed(SHARES[kind] / PARTS[kind])
    def test(data):
        fuzz_calls.CALLS[kind](data.draw, part)

    test.__name__ = f"test_{kind}_{part}"
    test.__doc__ = f"Calls of the kind {kind!r}."
    return test


for _kind, _parts in PARTS.items():
    for _part in range(_parts):
        globals()[f"test_{_kind}_{_part}"] = _make(_kind, _part)


# Called with wrong things by tests of their own: test_all_relevant, test_display,
# test_correlated_groups.
OWN_TESTS = {
    "AllRelevantDisplay",
    "AssociationDisplay",
    "DendrogramDisplay",
    "RowsDisplay",
    "SelectionPathDisplay",
    "correlated_groups",
    "report",
    "Report",
}


def test_everything_public_is_called():
    """A new public name gets its calls."""
    assert set(SHARES) == set(fuzz_calls.CALLS)
    assert sum(SHARES.values()) == pytest.approx(1.0)
    public = {*skvarimp.__all__, *skvarimp.sequence.__all__}
    assert public == fuzz_calls.CALLED | OWN_TESTS


# Drawn from the data, or handed over by each call; `AllRelevantSelector` and the
# others have their estimator and importance from there, too.
BY_DATA = {"conditional", "conditional_fit_rows"}
FROM_DATA = {"estimator", "search", "X", "y", "measure", "importance"}
FROM_DATA |= {"sample_weight", "features"}


def test_every_parameter_is_drawn():
    """Of every class and function that has options, and each class has a part."""
    classes = OPTIONS | SELECTOR_OPTIONS
    options = {getattr(skvarimp, name): drawn for name, drawn in classes.items()}
    for called, drawn in (options | REFITTING).items():
        named = set(inspect.signature(called).parameters) - {"callbacks"}
        by_data = BY_DATA if called.__name__ in CONDITIONAL else set()
        assert named - FROM_DATA == drawn.keys() | by_data, called
    assert PARTS["importance"] == len(OPTIONS)
