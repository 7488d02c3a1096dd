"""Greenwell et al., section 3.1: flatness in a linear model.

1000 rows of Y = 1 + 3 X1 - 5 X2 + e, inputs uniform on [0, 1], e normal with standard
deviation 0.01. Printed beside the published figures and the theory: mean and spread of
the importances over simulated samples; drawn: the estimated and the true partial
dependence of one sample (figure 4).

    python benchmarks/reproductions/greenwell_linear.py --samples 200
"""

import argparse

import numpy as np
from sklearn.linear_model import LinearRegression

from skvarimp import PartialDependenceImportance

SLOPES = np.array([3.0, -5.0])
THEORY = np.abs(SLOPES) / np.sqrt(12)
# printed as imp(X1) and imp(X2); the labels are swapped, as the slopes show
PUBLISHED = np.array([0.8961719, 1.4828203])


def simulate(seed, n=1000):
    """One sample."""
    random = np.random.default_rng(seed)
    X = random.random((n, 2))
    return X, 1 + X @ SLOPES + 0.01 * random.standard_normal(n)


def importance(seed):
    """The measure fitted to a linear regression of one sample."""
    X, y = simulate(seed)
    return PartialDependenceImportance().fit(LinearRegression().fit(X, y), X)


def draw():
    """Curves of one sample over the true ones, -3/2 + 3 x and 5/2 - 5 x."""
    fitted = importance(0)
    display = fitted.plot_curves()
    shown = [name for name, *_ in display.curves]
    for name, slope, level in zip(["x0", "x1"], SLOPES, [-1.5, 2.5]):
        ax = display.axes_[shown.index(name)]
        ax.plot([0, 1], [level, level + slope], "--", color="#D55E00", lw=2)
        ax.set_xlabel(f"X{int(name[1]) + 1}")
    lines = [*display.axes_[0].get_lines()[:1], display.axes_[0].get_lines()[-1]]
    display.axes_[0].legend(lines, ["estimated", "true"], frameon=False)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    values = np.array([importance(s).importances_ for s in range(options.samples)])
    ratios = values[:, 1] / values[:, 0]
    spread = values.std(axis=0)
    print(f"{'':28}{'imp(X1)':>15}{'imp(X2)':>15}{'ratio':>15}")
    row = "".join(f"{v:15.4f}" for v in (*PUBLISHED, PUBLISHED[1] / PUBLISHED[0]))
    print(f"{'published, labels put right':28}{row}")
    row = "".join(f"{v:15.4f}" for v in (*THEORY, 5 / 3))
    print(f"{'theory':28}{row}")
    columns = [*zip(values.mean(axis=0), spread), (ratios.mean(), ratios.std())]
    row = "".join(f"{f'{m:.4f} ±{s:.4f}':>15}" for m, s in columns)
    print(f"{f'{options.samples} samples':28}{row}")


if __name__ == "__main__":
    main()
