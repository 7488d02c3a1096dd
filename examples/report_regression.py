"""
A report on a regression
========================

One call asks what a reader asks of a fitted model: which features matter, how each of
them acts, which act together, which are correlated, and which cannot be told from
noise. Here a gradient boosting model predicts the progression of diabetes. The rows of
the report are held out.
"""

# sphinx_gallery_thumbnail_path = 'images/quickstart_bars.png'

# sphinx_gallery_capture_repr = ("_repr_html_",)

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from skvarimp import report

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = HistGradientBoostingRegressor(max_iter=50, max_depth=3, random_state=0)
model.fit(X_train, y_train)

page = report(model, X_test, y_test, title="Progression of diabetes", random_state=0)
print(page.summary())

# %%
# In a notebook the object shows its page. ``page.save("report.html")`` writes the same
# page to a file of its own, which needs no network.

page
