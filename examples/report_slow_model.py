"""
A report on a slow model
========================

A model that takes a millisecond a row cannot be asked as often as one likes.
``max_evaluations`` bounds the rows that it predicts. The importances come first; parts
that the limit does not reach say so.
"""

# sphinx_gallery_thumbnail_path = 'images/quickstart_rows.png'

# sphinx_gallery_capture_repr = ("_repr_html_",)

from sklearn.datasets import make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skvarimp import report

X, y = make_friedman1(600, 7, noise=1.0, random_state=0)
kernel = RBF([1.0] * 7) + WhiteKernel()
model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
model.fit(X[:300], y[:300])

page = report(
    model,
    X[300:],
    y[300:],
    title="Friedman's function",
    max_evaluations=20_000,
    random_state=0,
)
print(page.summary())

# %%
# The page itself. The parts on curves and on pairs look at fewer rows than the
# importances, and say at how many.

page
