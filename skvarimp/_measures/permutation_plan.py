"""What the three ways of permutation importance have in common."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skvarimp._measures.problem import Plan
from skvarimp._response.engine import Outcome


@dataclass
class Lost:
    """The loss gained, or score lost, of all entries.

    Attributes
    ----------
    importances : ndarray of shape (n_entries,)
    standard_errors : ndarray of shape (n_entries,) or None
    baseline : float
        Of the unmoved rows.
    name : str
        Of the loss or scorer.
    path : str or None
        How the response was computed; None: as the shared walk did.
    monte_carlo_errors : ndarray of shape (n_entries,) or None
    outcome : Outcome or None
        With the numbers of single rows.
    """

    importances: np.ndarray
    standard_errors: np.ndarray | None
    baseline: float
    name: str
    path: str | None = None
    monte_carlo_errors: np.ndarray | None = None
    outcome: Outcome | None = None


@dataclass
class PermutationPlan(Plan):
    """The plan of one of the three ways: a loss, a scorer, out-of-bag trees.

    Attributes
    ----------
    estimation : {"exact", "sampled"}
    conclude : callable
        conclude(plan, outcomes) -> Lost.
    """

    estimation: str
    conclude: Callable
