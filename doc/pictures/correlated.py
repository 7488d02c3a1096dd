import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from skvarimp import (
    ALEImportance,
    FIRMImportance,
    PermutationImportance,
    compare_importances,
)

random = np.random.default_rng(0)
x1 = random.normal(size=2000)
x2, x3 = x1 + random.uniform(-0.6, 0.6, size=2000), random.normal(size=2000)
X = pd.DataFrame({"x1": x1, "x2": x2, "x3": x3})
y = x1 + 0.5 * random.normal(size=2000)
forest = RandomForestRegressor(100, max_features=1, min_samples_leaf=5, random_state=0)
forest.fit(X[:1000], y[:1000])
measures = {
    "marginal": PermutationImportance(),
    "conditional": PermutationImportance(conditional="subgroups"),
    "FIRM": FIRMImportance(),
    "ALE": ALEImportance(),
}
table = compare_importances({"forest": forest}, X[1000:], y[1000:], measures)
table.plot(figsize=(8.6, 2.6))
