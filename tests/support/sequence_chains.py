"""Random chains of letters, and importances by enumeration."""

import numpy as np

LETTERS = "ACGT"


def random_chain(rng, n_letters, length, d, kind):
    """Start and transitions of a chain of order d."""
    contexts = n_letters**d
    if kind == "uniform":
        return np.full(contexts, 1 / contexts), np.full(
            (length - d, contexts, n_letters), 1 / n_letters
        )
    start = rng.dirichlet(np.ones(contexts))
    if kind == "per position":
        return start, rng.dirichlet(np.ones(n_letters), size=(length - d, contexts))
    same = rng.dirichlet(np.ones(n_letters), size=contexts)
    return start, np.broadcast_to(same, (length - d, contexts, n_letters))
