"""Sequences and machines for the tests of their weights."""

import numpy as np
from literal_sequence import random_sequences
from sklearn.base import clone

from skvarimp.sequence import weighted_degree_kernel

LENGTH = 12


def data(n=90, seed=0, length=LENGTH):
    """Sequences and labels "b" (GAT at 4, mostly) or "a"."""
    rng = np.random.default_rng(seed)
    X = random_sequences(rng, n, length)
    y = np.where(rng.random(n) < 0.5, "b", "a")
    X = [x[:4] + "GAT" + x[7:] if label == "b" else x for x, label in zip(X, y)]
    flip = rng.random(n) < 0.1
    return X, np.where(flip, np.where(y == "a", "b", "a"), y)


def fresh(n=20):
    """Sequences not trained on."""
    return random_sequences(np.random.default_rng(99), n, LENGTH)


def fitted(machine, degree=3, shift=0, normalize=True, seed=0, **fit_parameters):
    """Machine on a precomputed kernel, its training sequences."""
    X, y = data(seed=seed)
    gram = weighted_degree_kernel(X, degree=degree, shift=shift, normalize=normalize)
    return clone(machine).set_params(kernel="precomputed").fit(
        gram, y, **fit_parameters
    ), X
