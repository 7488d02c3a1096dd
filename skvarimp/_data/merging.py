"""Merging what several sets of rows gave."""

from dataclasses import dataclass, is_dataclass

import numpy as np


def merged(first, second):
    """Merge two results: by a method of their own, by members, or by addition.

    Dictionaries are joined, and None stays None.
    """
    if hasattr(first, "merged"):
        return first.merged(second)
    if is_dataclass(first):
        return type(first)(**merged(vars(first), vars(second)))
    if isinstance(first, dict):
        both = first.keys() & second.keys()
        return first | second | {key: merged(first[key], second[key]) for key in both}
    if isinstance(first, tuple | list):
        return type(first)(map(merged, first, second))
    return None if first is None else first + second


@dataclass
class Largest:
    """Numbers of which a merge keeps the larger ones.

    Attributes
    ----------
    values : ndarray
    """

    values: np.ndarray

    def merged(self, other):
        """Those of two results."""
        return Largest(np.maximum(self.values, other.values))
