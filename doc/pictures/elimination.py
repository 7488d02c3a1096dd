import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from skvarimp import BackwardEliminationSelector, PermutationImportance

random = np.random.default_rng(0)
signal = random.integers(0, 2, (400, 3))
y = (signal.sum(axis=1) + random.normal(size=400) > 1.5).astype(int)
X = pd.DataFrame(signal, columns=["a", "b", "c"])
for k in range(5):
    X[f"noise {k}"] = random.normal(size=400)
forest = RandomForestClassifier(50, random_state=0)
selector = BackwardEliminationSelector(forest, PermutationImportance(), cv=5)
selector.fit(X, y).plot_path()
