"""Data and models for the tests of partial dependence."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

X, Y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
X[:, 3] = np.round(3 * X[:, 3])  # ties


def frame_and_model():
    """Strings, booleans and numbers in a pipeline over a frame."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "color": random.choice(["red", "green", "blue"], 60),
            "flag": random.rand(60) > 0.5,
            "size": random.rand(60),
            "same": ["one"] * 60,
        }
    )
    y = (frame["color"] == "red") * 3 + frame["size"] * (1 + frame["flag"])
    encode = make_column_transformer(
        (OneHotEncoder(), ["color", "flag", "same"]), remainder="passthrough"
    )
    return frame, make_pipeline(encode, KNeighborsRegressor(5)).fit(frame, y)
