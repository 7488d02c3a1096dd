"""Levels of a categorical column come in the order that its type declares."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skvarimp import FIRMImportance, PartialDependenceImportance, SensitivityImportance

SIZES = ["small", "middle", "large"]
WORDS = ["large", "small", "middle", "small", "large", None]


def frame_of(kind):
    """Six rows, the last one missing."""
    if kind == "ordered":
        return pd.DataFrame({"size": pd.Categorical(WORDS, SIZES, ordered=True)})
    if kind == "categorical":
        return pd.DataFrame({"size": pd.Categorical(WORDS, SIZES)})
    if kind == "enum":
        return pl.DataFrame({"size": pl.Series(WORDS, dtype=pl.Enum(SIZES))})
    if kind == "text":
        return pd.DataFrame({"size": WORDS})
    return pl.DataFrame({"size": pl.Series(WORDS, dtype=pl.Categorical)})


def score(X):
    """0, 1 and 2 for the sizes, 3 for what is missing."""
    place = {word: k for k, word in enumerate([*SIZES, None])}
    words = [None if v != v else v for v in X["size"].to_list()]
    return np.array([place[word] for word in words], dtype=np.float64)


@pytest.mark.parametrize("kind", ["ordered", "categorical", "enum"])
def test_declared_order(kind):
    """Small, middle, large is no matter of the alphabet; missing comes last."""
    X = frame_of(kind)
    grid, averages = PartialDependenceImportance().fit(score, X).curves_["size"]
    assert list(grid[:3]) == SIZES
    np.testing.assert_allclose(averages, [0, 1, 2, 3], atol=1e-12)


@pytest.mark.parametrize("kind", ["text", "polars categorical"])
def test_no_order(kind):
    """Strings declare none, and polars counts categories as they come along."""
    grid, _ = PartialDependenceImportance().fit(score, frame_of(kind)).curves_["size"]
    assert list(grid[:3]) == sorted(SIZES)


def test_numbers_do_not_depend_on_the_order():
    """Only pictures and tables of levels do."""
    measure = SensitivityImportance(scale=None)
    by_order = measure.fit(score, frame_of("ordered")).importances_
    np.testing.assert_allclose(
        by_order, measure.fit(score, frame_of("text")).importances_
    )


def test_signs_follow_the_order():
    """The score at the later of two levels minus that at the earlier one."""
    signs = []
    for order in (["no", "yes"], ["yes", "no"]):
        X = pd.DataFrame({"answer": pd.Categorical(["no", "yes", "yes", "no"], order)})
        firm = FIRMImportance(method="binary").fit(None, X, [0.0, 1.0, 1.0, 0.0])
        signs.append(firm.signed_importances_[0, 0])
    assert signs == [0.5, -0.5]
