from functools import partial

import pandas as pd
from compare_measures import DATA, table_of
from matplotlib.colors import Normalize
from sklearn.preprocessing import StandardScaler

from skvarimp import MatrixDisplay


def draw(title):
    X, y, models, filters = DATA[title]()
    X = pd.DataFrame(StandardScaler().fit_transform(X), columns=X.columns)
    table = table_of(X, y, models, filters)
    correlations = table.corr(method="spearman").to_numpy()
    display = MatrixDisplay(correlations, list(table), "rank correlation")
    display.plot(max_features=len(correlations), title=title, figsize=(8.2, 7.4))
    # the colours of all three pictures mean the same
    display.ax_.collections[-1].set(cmap="RdBu_r", norm=Normalize(-1, 1))


diabetes = partial(draw, "diabetes")
breast_cancer = partial(draw, "breast cancer")
wine = partial(draw, "wine")
