import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from skvarimp import ImpurityImportance

random = np.random.default_rng(0)
columns = {
    "strong, 2 values": random.integers(0, 2, 400),
    "weak, 5 values": random.integers(0, 5, 400),
    "noise, 1000 values": random.integers(0, 1000, 400),
}
X = pd.DataFrame(columns)
y = X["strong, 2 values"] + 0.15 * X["weak, 5 values"] + random.normal(size=400)
forest = RandomForestRegressor(random_state=0).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.4), layout="constrained")
of_training_rows = ImpurityImportance(convention="sklearn").fit(forest)
of_training_rows.plot(ax=left, title="feature_importances_")
out_of_bag = ImpurityImportance(rows="oob").fit(forest, X, y)
out_of_bag.plot(ax=right, title='ImpurityImportance(rows="oob")')
