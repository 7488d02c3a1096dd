"""A reduction of one's own: no more is needed to add one."""

from dataclasses import dataclass

import numpy as np

from skvarimp.extending import Observed, State


@dataclass(frozen=True)
class SquaredPairs(Observed):
    """A reduction of one's own: mean squared difference of two draws of a curve."""

    needs = "moments"
    donor_factor = 0

    def reduce(self, shape):
        """2 (E d^2 - (E d)^2) of each row."""

        def powers(chunk):
            return np.concatenate([chunk.moved, chunk.moved**2], axis=1)

        rows, _ = shape.means(powers, np.square(shape.rows.base).max())
        first, second = np.split(rows, 2, axis=1)
        return State(2.0 * (second - first**2))
