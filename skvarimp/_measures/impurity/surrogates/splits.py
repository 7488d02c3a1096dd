"""What a search for surrogate splits is asked for."""

from dataclasses import dataclass

TOLERANCE = 1e-10  # associations this close are tied; not above it is no association


@dataclass(frozen=True)
class Rules:
    """Which surrogate splits count, and what is wanted of them.

    Attributes
    ----------
    n_kept : int or None
        The largest number per node; None for all of positive association.
    min_rows : int
        Rows that a surrogate must leave on each side.
    class_boundary : bool
        No cut between two values that hold only one and the same class.
    criterion : object or None
        Where given, the decrease that each surrogate's own split makes.
    """

    n_kept: int | None = None
    min_rows: int = 1
    class_boundary: bool = False
    criterion: object = None
