"""What results of several fits conclude in words, of numbers made by hand."""

import numpy as np
import pytest

from skvarimp import (
    CandidateImportances,
    CohortImportances,
    Comparison,
    FoldImportances,
    ImportanceDifferences,
    Importances,
    NullImportances,
)

NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([5.0, 3.0, 0.0], "a and b stand out (P), while c does not."),
        ([5.0, 0.0, 0.0], "a stands out (P), while b and c do not."),
        ([5.0, 4.0, 3.0], "a, b and c stand out (P)."),
        (
            [0.0, 0.0, 0.0],
            "none stands out (no family-wise p-value is below 0.05).",
        ),
    ],
)
def test_what_stands_out_of_nulls(own, expected):
    """39 nulls below an importance of 3 or more: its p-value is 1 / 40, or 0.025."""
    null = np.random.default_rng(0).normal(size=(39, 3)) / 10
    said = NullImportances(NAMES, np.array(own), null=null).summary()
    expected = expected.replace("P", "family-wise p-values of at most 0.025")
    assert said.endswith(f" Beside the importances for 39 shuffled targets {expected}")


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # Holm's: 0.0166 * 3 is below 0.05, 0.0167 * 3 is not; then times 2
        ([0.0166, 0.024, 0.5], "The importances of a and b differ (P). None: c."),
        ([0.0166, 0.026, 0.5], "The importance of a differs (P). None: b and c."),
        ([0.0167, 0.024, 0.5], "None: a, b and c."),
        ([0.001, 0.01, 0.05], "The importances of a, b and c differ (P)."),
    ],
)
def test_which_importances_differ(p_values, expected):
    """Those whose p-value is at most 0.05 after Holm's adjustment."""
    found = ImportanceDifferences(
        NAMES,
        np.array([3.0, -2.0, 1.0]),
        p_values=np.array(p_values),
        joint_ends=np.zeros((2, 3)),
        compared=("one", "the other"),
    )
    expected = expected.replace(
        "P", "p-values of at most 0.05 after Holm's adjustment"
    ).replace("None: ", "No difference was found for ")
    largest = "The largest difference is that of a with 3.00"
    first = f"Compared are one and the other. {largest}"
    assert found.summary(1) == f"{first}. {expected}"
    others = ", followed by b with -2.00 and c with 1.00"
    assert found.summary() == f"{first}{others}. {expected}"


def candidates(can_go, together, **given):
    """A result of two models."""
    by_model = np.array([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0]])
    return CandidateImportances(
        NAMES,
        by_model[0],
        by_model=by_model,
        models=["one", "other"],
        scores=np.array([0.9, 0.8]),
        score_needed=0.7,
        params=[{}, {}],
        dispensable=np.array(can_go, dtype=bool),
        dispensable_together=np.array(together, dtype=bool),
        **{"n_good": 2} | given,
    )


@pytest.mark.parametrize(
    ("can_go", "together", "expected"),
    [
        ([1, 1, 1], [1, 1, 1], "Each feature can go by itself. ALL"),
        (
            [1, 1, 1],
            [0, 1, 1],
            "Each feature can go by itself. Not all of them can go: without b and c, "
            "a is needed.",
        ),
        (
            [1, 1, 1],
            [0, 0, 1],
            "Each feature can go by itself. Not all of them can go: without c, "
            "a and b are needed.",
        ),
        (
            [0, 0, 0],
            [0, 0, 0],
            "No feature was found that a good model can do without.",
        ),
        ([0, 0, 1], [0, 0, 1], "NOT a and b. c can go by itself."),
        ([0, 1, 1], [0, 1, 1], "NOT a. Each of b and c can go by itself. ALL"),
    ],
)
def test_which_features_good_models_can_do_without(can_go, together, expected):
    """By themselves, and several at once."""
    expected = expected.replace("ALL", "They can all go at once.")
    expected = expected.replace("NOT", "No good model was found without")
    said = candidates(can_go, together).summary()
    assert said.endswith(f" This is the best of 2 good models. {expected}")
    some = candidates(can_go, together, n_good=3).summary()
    assert some.endswith(
        f" This is the best of the best 2 of 3 good models. {expected}"
    )


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # of six: 0.0083 * 6 is below 0.05, 0.0099 * 5 too
        (
            [[0.0083, 0.5], [0.9, 0.9], [0.9, 0.9]],
            "From all other rows a in k0 differs P",
        ),
        (
            [[0.0083, 0.5], [0.9, 0.0099], [0.9, 0.9]],
            "From all other rows a in k0 and b in k1 differ P",
        ),
        (
            [[0.0084, 0.5], [0.9, 0.9], [0.9, 0.9]],
            "No cohort was found to differ from …",
        ),
        (np.full((3, 2), np.nan), ""),
    ],
)
def test_which_cohorts_differ(p_values, expected):
    """And the largest importance of each."""
    found = CohortImportances(
        NAMES[:2],
        np.array([1.0, 2.0]),
        by_cohort={
            f"k{c}": Importances(NAMES[:2], np.array([1.0 + c, 1.5])) for c in range(3)
        },
        differences=np.zeros((3, 2)),
        p_values=np.array(p_values),
    )
    bound = "(p-values of at most 0.05 after Holm's adjustment)."
    expected = expected.replace(" P", f" {bound}").replace("…", "all other rows.")
    largest = "b in k0 with 1.50, a in k1 with 2.00 and a in k2 with 3.00."
    sentences = f"By cohort, the largest importance is that of {largest} {expected}"
    assert found.summary().endswith(sentences.rstrip())


@pytest.mark.parametrize(
    ("by_fold", "expected"),
    [
        ([[3, 2, 1], [9, 5, 4]], "The order is the same in all 2 folds."),
        ([[3, 2, 1], [3, 1, 2]], "The rank is the same in all 2 folds for a."),
        (
            [[3, 2, 1, 0.5], [3, 2, 0.5, 1], [3, 2, 1, 0.5]],
            "The rank is the same in all 3 folds for a and b.",
        ),
        ([[3, 2, 1], [1, 3, 2]], "No feature has the same rank in all 2 folds."),
        ([[3, 2, 1]], ""),  # nothing to compare
    ],
)
def test_which_ranks_folds_have_in_common(by_fold, expected):
    """All, some or none."""
    by_fold = np.array(by_fold, dtype=float)
    names = ["a", "b", "c", "d"][: by_fold.shape[1]]
    found = FoldImportances(names, by_fold.mean(axis=0), by_fold=by_fold)
    assert found.summary().endswith(expected)
    assert ("folds" in found.summary()) == (expected != "")


@pytest.mark.parametrize("n_measures", [1, 2])
def test_what_models_have_in_common(n_measures):
    """The order, under each measure; which one is said where there are several."""
    numbers = {
        ("m", "P"): [3.0, 1.0],
        ("n", "P"): [2.0, 1.5],
        ("m", "Q"): [3.0, 1.0],
        ("n", "Q"): [1.0, 3.0],
    }
    titles = {"P": "p", "Q": "q"} if n_measures == 2 else {"P": "p"}
    results = {
        key: Importances(["a", "b"], np.array(of))
        for key, of in numbers.items()
        if key[1] in titles
    }
    said = Comparison(results, {}, titles).summary(1)
    under_p, under_q = (" under P", " under Q") if n_measures == 2 else ("", "")
    assert f"To m{under_p}, what matters most is a with 3.00." in said
    assert f"To n{under_p}, what matters most is a with 2.00." in said
    assert ("To n under Q, what matters most is b with 3.00." in said) == bool(under_q)
    assert said.endswith(f" The order is the same in all models{under_p}.")
