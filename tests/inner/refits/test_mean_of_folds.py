"""Means over folds that do not know all outputs, by hand."""

import numpy as np
import pytest

from skvarimp import Importances
from skvarimp._refits.folds_result import mean_of_folds
from skvarimp._refits.refits import check_comparable

NAN = np.nan
# (n_folds, n_features, n_outputs): the second fold lacks the first class, and no fold
# has the third one
FOLDS = np.array(
    [[[1.0, 2.0, NAN], [5.0, 0.0, NAN]], [[NAN, 6.0, NAN], [NAN, 4.0, NAN]]]
)


def test_a_fold_counts_for_the_outputs_it_knows():
    """An output that no fold knows has no mean."""
    expected = [[1.0, 4.0, NAN], [5.0, 2.0, NAN]]
    np.testing.assert_array_equal(mean_of_folds(FOLDS), expected)


def test_folds_count_by_their_rows():
    """The second fold has three quarters of them."""
    expected = [[1.0, 5.0, NAN], [5.0, 3.0, NAN]]
    np.testing.assert_array_equal(mean_of_folds(FOLDS, np.array([1.0, 3.0])), expected)


@pytest.mark.parametrize("position", [1, 2])
def test_refits_with_other_features_are_not_comparable(position):
    """The first that differs from the first of all is named by its number."""
    results = [Importances(["a", "b"], np.zeros(2)) for _ in range(3)]
    check_comparable(results[:2])
    results[position] = Importances(["a", "c"], np.zeros(2))
    with pytest.raises(ValueError, match=rf"refit {position + 1} has \['a', 'c'\]"):
        check_comparable(results[: position + 1])
