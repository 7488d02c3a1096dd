"""
Words in sequences
==================

Which words matter at which position?
"""

import numpy as np
from sklearn.svm import SVC

from skvarimp.sequence import (
    OligomerWeights,
    PositionalOligomerImportance,
    weighted_degree_kernel,
)

letters = np.random.default_rng(0).choice(list("ACGT"), (200, 16))
letters[:100, 5:9] = list("GATT")  # the motif of the first half
sequences = ["".join(row) for row in letters]
kernel = weighted_degree_kernel(sequences, degree=4)
machine = SVC(kernel="precomputed").fit(kernel, np.arange(200) < 100)
weights = OligomerWeights.from_estimator(machine, sequences, degree=4)
importance = PositionalOligomerImportance(order=4).fit(weights)
importance.plot()

# %%
# One word and its neighbours along the sequence.

importance.plot_motif("GATT")

# %%
# Letters as tall as their importance.

importance.plot_logo()
