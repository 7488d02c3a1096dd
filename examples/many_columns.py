"""
100 000 columns
===============

A sparse matrix says which of a hundred thousand words each of eight hundred documents
contains. Fifty words decide the class. The importances of all words are computed
exactly in seconds, because the responses of a linear model, and the means for FIRM, are
computed for all columns together.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from skvarimp import FIRMImportance, SensitivityImportance

n_rows, n_words, n_useful = 800, 100_000, 50
rng = np.random.default_rng(0)
X = sp.random_array((n_rows, n_words), density=0.05, format="csr", rng=rng)
X.data[:] = 1.0
X = X.tolil()
y = rng.integers(2, size=n_rows)
for word in range(n_useful):  # six times as frequent in one class as in the other
    chance = np.where(y == word % 2, 0.12, 0.02)
    X[:, word] = (rng.random((n_rows, 1)) < chance[:, np.newaxis]).astype(float)
X = X.tocsr()
model = LogisticRegression().fit(X, y)
print(X.shape, f"{X.nnz} ones, training accuracy {model.score(X, y):.3f}")

# %%
# Two questions about the same model: how far does its score move when a word's value is
# that of another document, and how much does a word tell about the score?

measures = {
    "marginal": SensitivityImportance(response_method="decision_function", scale=None),
    "conditional": FIRMImportance(standardize=True),
}
for name, measure in measures.items():
    start = time.perf_counter()
    measure.fit(model, X)
    seconds = time.perf_counter() - start
    found = np.sum(np.argsort(-measure.importances_)[:n_useful] < n_useful)
    print(f"{name}: {seconds:.1f} s, {found} of {n_useful} useful words in the top 50")

# %%
# The pictures show importance against rank on logarithmic axes. The fifty useful words
# have the highest ranks, with few exceptions. The other words follow without a large
# gap, because some of 100 000 words are related to the class by chance. So a word of
# rank 60 may be useless.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, layout="constrained")
for ax, (name, measure) in zip(axes, measures.items()):
    rank, size = measure.ranking_, measure.importances_
    order = np.argsort(rank)
    ax.loglog(rank[order], size[order], color="0.6", lw=2, label="all words")
    useful = slice(0, n_useful)
    ax.loglog(rank[useful], size[useful], "o", color="#D55E00", label="useful words")
    ax.set_ylim(size.max() / 1000, size.max() * 2)
    ax.set(xlabel="rank", ylabel="importance", title=name)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend()
plt.show()
