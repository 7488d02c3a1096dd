"""Time and memory of the weighted degree kernel and of oligomer importances.

    python benchmarks/sequence_speed.py [--sequences 5000] [--length 70]

Each case runs in a process of its own (peak memory is the process's, interpreter and
libraries included) and is first compared with the definition written as plain loops on
a few features, whose time, scaled up to all features, is the rival. Run with
OMP_NUM_THREADS=1.
"""

import argparse
import itertools
import multiprocessing
import platform
import resource

import numpy as np
import scipy
import sklearn
from timer import once

from skvarimp.sequence import (
    OligomerWeights,
    PositionalOligomerImportance,
    weighted_degree_kernel,
)


def random_sequences(n, length):
    """Uniform DNA."""
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(n, length))
    return ["".join(row) for row in letters]


def peak_memory():
    """Largest resident size of this process so far, in GB (Linux counts in kB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def loop_kernel(x, y, degree, shift):
    """Definition of the kernel, not normalised."""
    total = 0.0
    for k in range(1, degree + 1):
        beta = 2 * (degree - k + 1) / (degree * (degree + 1))
        for s in range(shift + 1):
            for i in range(len(x) - k - s + 1):
                matches = x[i : i + k] == y[i + s : i + s + k]
                matches += x[i + s : i + s + k] == y[i : i + k]
                total += beta * matches / (2 * (s + 1))
    return total


def kernel_case(n, length, degree, shift):
    """Kernel matrix of n sequences with themselves, against 10 pairs by loops."""
    X = random_sequences(n, length)
    kernel, spent = once(
        lambda: weighted_degree_kernel(X, degree=degree, shift=shift, normalize=False)
    )
    memory = peak_memory()
    pairs = np.random.default_rng(1).integers(n, size=(10, 2))
    loops, looped = once(
        lambda: [loop_kernel(X[i], X[j], degree, shift) for i, j in pairs]
    )
    error = np.abs(loops / kernel[pairs[:, 0], pairs[:, 1]] - 1).max()
    return spent, memory, error, looped.wall / len(pairs) * n * (n + 1) / 2


def loop_importance(tables, z, j):
    """Q'(z, j), letters uniform: each weight's probability given z, less without."""
    total = 0.0
    for k, table in tables.items():
        for i in range(max(0, j - k + 1), min(len(table), j + len(z))):
            free = [range(4)] * k
            for place in range(k):
                if 0 <= i + place - j < len(z):
                    free[place] = [z[i + place - j]]
            codes = np.array(list(itertools.product(*free))) @ 4 ** np.arange(k)[::-1]
            total += table[i, codes].mean() - table[i].mean()
    return total


def importance_case(length, order, max_order, markov_order):
    """All oligomers of one order at all positions; loops for Markov order 0."""
    rng = np.random.default_rng(0)
    tables = {
        k: rng.normal(size=(length - k + 1, 4**k)) for k in range(1, max_order + 1)
    }
    weights = OligomerWeights(tables)
    importance = PositionalOligomerImportance(order, markov_order=markov_order)
    importance, spent = once(importance.fit, weights)
    memory = peak_memory()
    # A uniform chain of any order is the same distribution.
    picks = [
        (rng.integers(4, size=order), rng.integers(length - order + 1))
        for _ in range(4)
    ]
    loops, looped = once(lambda: [loop_importance(tables, *p) for p in picks])
    codes = [int(z @ 4 ** np.arange(order)[::-1]) for z, _ in picks]
    found = [importance.poim_[j, code] for code, (_, j) in zip(codes, picks)]
    error = np.abs(np.subtract(found, loops)).max() / np.abs(importance.poim_).max()
    return spent, memory, error, looped.wall / len(picks) * importance.poim_.size


def by_order_case(length, max_order):
    """`max_by_order` for all orders up to that of the weights."""
    rng = np.random.default_rng(0)
    weights = OligomerWeights(
        {k: rng.normal(size=(length - k + 1, 4**k)) for k in range(1, max_order + 1)}
    )
    importance = PositionalOligomerImportance(max_order).fit(weights)
    largest, spent = once(importance.max_by_order, max_order)
    memory = peak_memory()
    alone = PositionalOligomerImportance(2).fit(weights).importances_
    error = np.abs(largest[1, : length - 1] - np.abs(alone).max(axis=1)).max()
    return spent, memory, error, np.nan


def in_own_process(case, *arguments):
    """Run a case in a fresh interpreter."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(case, arguments)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=5000)
    parser.add_argument("--length", type=int, default=70)
    options = parser.parse_args()
    n, length = options.sequences, options.length
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy "
        f"{np.__version__}, scipy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}; {n} sequences of {length} letters"
    )
    cases = [
        (f"kernel, degree {d}, shift {s}", kernel_case, n, length, d, s)
        for d, s in ((7, 6), (7, 0), (20, 20))
    ]
    cases += [
        (f"all {k}-mers, weights to 7, Markov {d}", importance_case, length, k, 7, d)
        for k, d in ((7, 0), (7, 1), (7, 3), (3, 0), (9, 0))
    ]
    cases.append(("largest by order, 1 to 7", by_order_case, length, 7))
    print(
        f"{'case':38} {'wall s':>7} {'CPU s':>7} {'GB':>5} {'error':>8} {'loops s':>9}"
    )
    for name, case, *arguments in cases:
        spent, memory, error, loops = in_own_process(case, *arguments)
        print(
            f"{name:38} {spent.wall:7.2f} {spent.cpu:7.2f} {memory:5.2f} "
            f"{error:8.1e} {loops:9.2g}"
        )


if __name__ == "__main__":
    main()
