"""
A report on classes, categories and missing values
==================================================

A pipeline takes a frame with a column of categories and a column with missing values.
The report speaks of the frame's columns, not of what the pipeline makes of them:
categories move between their levels, and missing values are a value like any other.
"""

# sphinx_gallery_thumbnail_path = 'images/quickstart_curves.png'

# sphinx_gallery_capture_repr = ("_repr_html_",)

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp import report

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
ages = pd.cut(
    X.pop("age"), [0, 35, 50, 65, 100], labels=["<35", "35-50", "50-65", ">65"]
)
X = X.assign(age=ages.astype(str))[["age", "bmi", "bp", "s1", "s5", "s6"]]
X.loc[np.random.default_rng(0).random(len(X)) < 0.2, "bp"] = np.nan
severe = np.where(y > 150, "severe", "mild")

numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
columns = make_column_transformer((OneHotEncoder(), ["age"]), remainder=numbers)
model = make_pipeline(columns, LogisticRegression())
X_train, X_test, y_train, y_test = train_test_split(X, severe, random_state=0)
model.fit(X_train, y_train)

page = report(model, X_test, y_test, title="Severe progression", random_state=0)
print(page.summary())

# %%
# The page itself:

page
