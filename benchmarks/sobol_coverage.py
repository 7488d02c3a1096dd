"""Coverage of 95% intervals of Sobol' indices, whose true values are known.

    python benchmarks/sobol_coverage.py --samples 1000 --rows 500

Three functions of independent inputs: Ishigami's, Sobol's g, and a linear one of normal
inputs. An interval is an index plus and minus 1.96 standard errors. A first-order index
of 0 is a squared estimate of 0, whose error is no normal one: it is shown apart.
"""

import argparse

import numpy as np

from skvarimp import SobolImportance

G = np.array([0.0, 1.0, 4.5, 9.0, 99.0])
SLOPES = np.array([1.0, 2.0, 3.0])


def ishigami(X):
    """sin x0 + 7 sin^2 x1 + 0.1 x2^4 sin x0, inputs uniform between -pi and pi."""
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


def g_function(X):
    """Product of (|4 x - 2| + a) / (1 + a), inputs uniform between 0 and 1."""
    return np.prod((np.abs(4 * X - 2) + G) / (1 + G), axis=1)


def linear(X):
    """Sum of slopes times standard normal inputs."""
    return X @ SLOPES


def of_ishigami():
    """First-order and total indices (Ishigami and Homma 1990)."""
    first = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
    second = 49 / 8
    both = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
    total = first + second + both
    return (
        np.array([first, second, 0.0]) / total,
        np.array([first + both, second, both]) / total,
    )


def of_g():
    """First-order and total indices (Sobol' 1993)."""
    parts = 1 / (3 * (1 + G) ** 2)
    product = np.prod(1 + parts)
    return parts / (product - 1), parts / (1 + parts) * product / (product - 1)


def of_linear():
    """Both are the share of the squared slopes."""
    shares = SLOPES**2 / np.sum(SLOPES**2)
    return shares, shares


CASES = {
    "Ishigami": (
        ishigami,
        lambda rng, n: rng.uniform(-np.pi, np.pi, (n, 3)),
        of_ishigami(),
    ),
    "Sobol' g": (g_function, lambda rng, n: rng.random((n, len(G))), of_g()),
    "linear": (linear, lambda rng, n: rng.normal(size=(n, 3)), of_linear()),
}


def main():
    """Print, for each index, truth, mean estimate, error over spread and coverage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=500)
    arguments = parser.parse_args()
    head = f"{'function':10} {'order':6} input   true   mean  error/spread  coverage"
    print(head, "-" * len(head), sep="\n")
    for name, (f, draw, indices) in CASES.items():
        found = {"first": [], "total": []}
        for seed in range(arguments.samples):
            X = draw(np.random.default_rng(seed), arguments.rows)
            imp = SobolImportance().fit(f, X)
            found["first"].append((imp.first_order_, imp.first_order_standard_errors_))
            found["total"].append((imp.total_, imp.total_standard_errors_))
        for (order, of_order), truth in zip(found.items(), indices):
            values, errors = np.moveaxis(np.array(of_order), 1, 0)
            inside = np.mean(np.abs(values - truth) <= 1.96 * errors, axis=0)
            ratio = np.sqrt(np.mean(errors**2, axis=0)) / values.std(axis=0)
            for j, index in enumerate(truth):
                note = "  index 0: no normal error" if index == 0 else ""
                print(
                    f"{name:10} {order:6} x{j}    {index:6.4f} "
                    f"{values[:, j].mean():6.4f}  {ratio[j]:12.3f}  "
                    f"{inside[j]:8.3f}{note}"
                )


if __name__ == "__main__":
    main()
