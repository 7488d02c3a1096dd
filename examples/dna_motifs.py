"""
A motif in DNA
==============

Half of 800 random sequences of 40 letters contain GATTACA near position 17, with one
letter redrawn. A support vector machine with the weighted degree kernel learns to
recognise them. What did it learn, and where?

A weight belongs to one oligomer (a word of letters) at one position. The importance of
the oligomer (FIRM: how the expected score changes if it stands there) adds up
everything that occurs with it: the oligomers inside it and those that overlap it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from skvarimp.sequence import (
    OligomerWeights,
    PositionalOligomerImportance,
    weighted_degree_kernel,
)

LENGTH, MOTIF = 40, "GATTACA"
rng = np.random.default_rng(0)


def simulate(n):
    """Random DNA; the first half with a damaged motif."""
    letters = rng.choice(list("ACGT"), (n, LENGTH))
    for row in letters[: n // 2]:
        start = int(np.clip(round(rng.normal(17, 3)), 0, LENGTH - len(MOTIF)))
        damaged = list(MOTIF)
        damaged[rng.integers(len(MOTIF))] = rng.choice(list("ACGT"))
        row[start : start + len(MOTIF)] = damaged
    return ["".join(row) for row in letters], np.arange(n) < n // 2


X, y = simulate(800)
X_test, y_test = simulate(800)
kernel = {"degree": 7, "shift": 4}
machine = SVC(kernel="precomputed").fit(weighted_degree_kernel(X, **kernel), y)
accuracy = machine.score(weighted_degree_kernel(X_test, X, **kernel), y_test)
print(f"accuracy on new sequences: {accuracy:.2f}")

# %%
# ``OligomerWeights`` has the weights that the machine adds up. From them come the
# importances of all 16 384 oligomers of seven letters at each position. The largest
# are:

weights = OligomerWeights.from_estimator(machine, X, **kernel)
importance = PositionalOligomerImportance(order=7).fit(weights)
print(importance.to_frame().head(8).round(4).to_string(index=False))

# %%
# The picture shows the most important oligomers by position. GATTACA is first. The
# others overlap it or differ from it by few letters. The motif was planted where the
# colours are strongest.

importance.plot()
plt.gca().set_title("The most important oligomers of seven letters")

# %%
# The solid line is the motif. The other lines are its neighbours with one and two
# letters replaced, and the grey band has all oligomers that share no letter with it.
# The weight of the motif (left) has a dip in the middle of the planted area, because
# the shifts of the kernel spread it over neighbouring positions. Its importance (right)
# is largest there.

fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
weights.plot_motif(MOTIF, ax=axes[0])
importance.plot_motif(MOTIF, ax=axes[1])
axes[0].set_title("Weights")
axes[1].set_title("Importances")
plt.show()
