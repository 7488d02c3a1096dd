"""Section 3.3 of the FIRM paper: a planted motif, and what the machine says of it.

    python benchmarks/reproductions/gattaca.py [--samples 5]

2500 random DNA sequences with GATTACA planted around position 35 (standard deviation
7), one letter of it redrawn each time, and 2500 without; a support vector machine with
the weighted degree kernel with shifts; the weights of the 7-mers beside their FIRM.
"""

import argparse

import numpy as np
from sklearn.svm import SVC

from skvarimp.sequence import (
    OligomerWeights,
    PositionalOligomerImportance,
    weighted_degree_kernel,
)

MOTIF = "GATTACA"
N_EACH = 2500  # sequences of each class
LENGTH = 70  # not stated in the paper
CENTRE = slice(26, 44)  # positions at which ranks are reported
KERNEL = {"degree": 7, "shift": 6}


def simulate(random, n_each):
    """Sequences and labels: n_each with the motif, n_each without."""
    letters = random.choice(list("ACGT"), size=(2 * n_each, LENGTH))
    starts = np.rint(random.normal(35, 7, size=n_each)).astype(int)
    starts = np.clip(starts, 0, LENGTH - len(MOTIF))
    for row, start in enumerate(starts):
        planted = np.array(list(MOTIF))
        # redrawn from all four letters: unchanged in a quarter of the cases
        planted[random.integers(len(MOTIF))] = random.choice(list("ACGT"))
        letters[row, start : start + len(MOTIF)] = planted
    return ["".join(row) for row in letters], np.repeat([1, -1], n_each)


def ranks(table, column):
    """Rank of one column in each row, 1 for the largest value."""
    return 1 + (table > table[:, [column]]).sum(axis=1)


def above_band(profile):
    """Share of the positions where the mean over one-letter neighbours is above it."""
    high = profile.irrelevant_mean + profile.irrelevant_std
    return np.mean(profile.one_replaced[CENTRE] > high[CENTRE])


def contrast(profile):
    """How many standard deviations of irrelevant oligomers the classes lie above them.

    Medians over the central positions: the motif, one letter and two letters replaced.
    """
    return [
        np.median(
            (values - profile.irrelevant_mean)[CENTRE] / profile.irrelevant_std[CENTRE]
        )
        for values in (profile.exact, profile.one_replaced, profile.two_replaced)
    ]


def analyse(seed, C, normalize, n_each, n_test):
    """Accuracy, and weights and importances of the machine of one sample."""
    random = np.random.default_rng(seed)
    X, y = simulate(random, n_each)
    X_test, y_test = simulate(random, n_test)
    parameters = KERNEL | {"normalize": normalize}
    machine = SVC(kernel="precomputed", C=C)
    machine.fit(weighted_degree_kernel(X, **parameters), y)
    accuracy = machine.score(weighted_degree_kernel(X_test, X, **parameters), y_test)
    weights = OligomerWeights.from_estimator(machine, X, **parameters)
    return accuracy, weights, PositionalOligomerImportance(len(MOTIF)).fit(weights)


def row(label, table, profile, column):
    """Print one row of the table."""
    central = ranks(table, column)[CENTRE]
    exact, one, two = contrast(profile)
    print(
        f"{label:26} {np.median(central):7g} {central.max():7d} {exact:7.1f} {one:7.1f}"
        f" {two:7.1f} {above_band(profile):7.0%}"
    )


def draw():
    """Both panels of figure 3, of the first sample, for two penalties."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    for (left, right), C in zip(axes, (1.0, 100.0)):
        _, weights, importance = analyse(0, C, True, N_EACH, 1000)
        weights.plot_motif(MOTIF, ax=left)
        importance.plot_motif(MOTIF, ax=right)
        left.set_title(f"weights, C = {C:g}")
        right.set_title(f"FIRM, C = {C:g}")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=N_EACH, help="of each class")
    options = parser.parse_args()
    print("GATTACA at positions 26 to 43: rank among 16384 7-mers (median, worst);")
    print("height in SDs above irrelevant 7-mers: exact, 1 and 2 letters replaced;")
    print("positions where the mean over 1 letter replaced is above the band")
    headings = ("median", "worst", "exact", "1", "2", "above")
    print(f"{'':26} " + " ".join(f"{heading:>7}" for heading in headings))
    for normalize, C in ((True, 1.0), (True, 100.0), (False, 1.0)):
        print(f"normalize={normalize}, C={C:g}")
        for seed in range(options.samples):
            accuracy, weights, importance = analyse(
                seed, C, normalize, options.sequences, 1000
            )
            column = importance.oligomers_.tolist().index(MOTIF)
            print(f"  sample {seed}, accuracy {accuracy:.3f}")
            table = weights.tables[len(MOTIF)].toarray()
            row("    weights", table, weights.motif_profile(MOTIF), column)
            row(
                "    FIRM",
                importance.importances_,
                importance.motif_profile(MOTIF),
                column,
            )


if __name__ == "__main__":
    main()
