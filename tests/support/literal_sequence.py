"""Sequence scores, kernels and importances by their definitions, in plain loops."""

import itertools
import math

import numpy as np


def all_sequences(alphabet, length):
    """Every string of that length."""
    return ["".join(letters) for letters in itertools.product(alphabet, repeat=length)]


def random_sequences(rng, n, length, alphabet="ACGT"):
    """Uniform random strings."""
    return ["".join(row) for row in rng.choice(list(alphabet), size=(n, length))]


def random_tables(rng, length, n_letters, orders):
    """Weights of every oligomer of the given orders."""
    return {k: rng.normal(size=(length - k + 1, n_letters**k)) for k in orders}


def score(x, tables, alphabet):
    """Eq. (4) of the FIRM paper without the constant."""
    total = 0.0
    for k, table in tables.items():
        names = all_sequences(alphabet, k)
        for i in range(len(x) - k + 1):
            total += table[i][names.index(x[i : i + k])]
    return total


def chain_probability(x, alphabet, start, transitions):
    """Pr(x): start[u] for the first d letters, transitions[i][u][b] afterwards."""
    d = round(math.log(len(start), len(alphabet)))
    contexts = all_sequences(alphabet, d)
    probability = start[contexts.index(x[:d])]
    for i in range(d, len(x)):
        context = contexts.index(x[i - d : i])
        probability *= transitions[i - d][context][alphabet.index(x[i])]
    return probability


def joint_probabilities(sequences, probabilities, alphabet, order):
    """Pr(X[i : i + order] = z) at every position, by adding up sequences."""
    names = {z: c for c, z in enumerate(all_sequences(alphabet, order))}
    joint = np.zeros((len(sequences[0]) - order + 1, len(names)))
    for x, p in zip(sequences, probabilities):
        for i in range(len(joint)):
            joint[i, names[x[i : i + order]]] += p
    return joint


def importance(sequences, probabilities, scores, alphabet, order):
    """Q' (eq. 5), Q = (q_a - q_b) sqrt(p_a p_b) (eq. 10) and p, by enumeration."""
    p = joint_probabilities(sequences, probabilities, alphabet, order)
    weighted = [s * pr for s, pr in zip(scores, probabilities)]
    sums = joint_probabilities(sequences, weighted, alphabet, order)
    expected = sum(weighted)
    poim, firm = np.full_like(p, np.nan), np.zeros_like(p)
    for i, c in np.ndindex(*p.shape):
        if p[i, c] > 0:
            poim[i, c] = sums[i, c] / p[i, c] - expected
        if 0 < p[i, c] < 1:
            present = sums[i, c] / p[i, c]
            absent = (expected - sums[i, c]) / (1 - p[i, c])
            firm[i, c] = (present - absent) * math.sqrt(p[i, c] * (1 - p[i, c]))
    return poim, firm, p


def kernel(x, y, degree, shift, normalize, unknown=""):
    """Weighted degree kernel with shifts of two strings."""
    if normalize:
        own = kernel(x, x, degree, shift, False, unknown)
        other = kernel(y, y, degree, shift, False, unknown)
        if own == 0 or other == 0:
            return 0.0
        return kernel(x, y, degree, shift, False, unknown) / math.sqrt(own * other)
    total = 0.0
    for k in range(1, degree + 1):
        beta = 2 * (degree - k + 1) / (degree * (degree + 1))
        for s in range(shift + 1):
            for i in range(len(x) - k - s + 1):
                early, late = slice(i, i + k), slice(i + s, i + s + k)
                for a, b in ((x[late], y[early]), (x[early], y[late])):
                    if a == b and not set(a) & set(unknown):
                        total += beta / (2 * (s + 1))
    return total
