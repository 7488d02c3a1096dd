import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from skvarimp import AllRelevantSelector

random = np.random.default_rng(0)
a, b = random.standard_normal((2, 300))
X = pd.DataFrame({"a": a, "b": b, "b again": b + 0.05 * random.standard_normal(300)})
X["follows"] = a + b + random.standard_normal(300)
X["noise"] = random.standard_normal(300)
y = 2 * a + 2 * b + random.standard_normal(300)
selector = AllRelevantSelector(RandomForestRegressor(30), random_state=0).fit(X, y)
selector.plot_history()
