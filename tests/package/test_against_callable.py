"""What is read of a model gives the numbers of the same model as a plain callable."""

import against_callable
import numpy as np
import pytest
from combinations import examples

from skvarimp import SensitivityImportance


def test_random_fits_are_those_of_the_callable():
    """Of any family, measure, container and options, see `against_callable`."""
    found, refused = against_callable.differing(examples(60), seed=0)
    assert found == []
    assert refused == []


@pytest.mark.parametrize("attribute", ["importances_", "influences_"])
def test_a_difference_is_seen(attribute):
    """Beyond rounding, of one number of one feature."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    read = SensitivityImportance(scale=None, keep_rows=True, estimation="exact")
    read.fit(lambda X: X[:, 0], X)
    asked = SensitivityImportance(scale=None, keep_rows=True, estimation="exact")
    asked.fit(lambda X: X[:, 0], X)
    assert against_callable.difference(read, asked) is None
    changed = getattr(asked, attribute).copy()
    changed[0] += 1e-4
    setattr(asked, attribute, changed)
    assert attribute in against_callable.difference(read, asked)
