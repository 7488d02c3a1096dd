"""In the manner of Table 1 of Huh & Lee: numeric and categorical inputs, three models.

The paper's grant data are not public. Two data sets that scikit-learn ships take their
place: the petal width of irises by the other measurements and the species, and the
progression of diabetes by ten inputs of which one, sex, is categorical. As in the
paper: a linear model with indicator variables, a network with five logistic hidden
nodes, and a regression tree of depth 5.

    python benchmarks/reproductions/huh_lee_table1.py
"""

import numpy as np
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skvarimp import SensitivityImportance, compare_importances


def irises():
    """Petal width (cm) by sepal length and width, petal length, and species."""
    bunch = load_iris(as_frame=True)
    X = bunch.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    y = X.pop("petal width")
    species = bunch.target_names[bunch.target].astype(object)
    return X.assign(species=species), y


def diabetes():
    """Progression after a year by ten inputs in their own units, sex as text."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X.assign(sex=X["sex"].map({1.0: "sex 1", 2.0: "sex 2"})), y


def models(X, y):
    """Fitted: inputs on [0, 1], one indicator per level; the network's y on [0, 1]."""
    encode = make_column_transformer(
        (MinMaxScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
    )
    network = MLPRegressor(
        hidden_layer_sizes=(5,),
        activation="logistic",
        solver="lbfgs",
        alpha=1e-3,
        max_iter=10_000,
        random_state=0,
    )
    pipelines = {
        "linear model": LinearRegression(),
        "network": TransformedTargetRegressor(network, transformer=MinMaxScaler()),
        "tree of depth 5": DecisionTreeRegressor(max_depth=5, random_state=0),
    }
    return {
        name: make_pipeline(encode, model).fit(X, y)
        for name, model in pipelines.items()
    }


def table(X, y, groups):
    """The comparison, exact over all pairs of rows."""
    measure = SensitivityImportance(estimation="exact", features=[*X.columns, *groups])
    return compare_importances(models(X, y), X, y, {"pairs": measure})


def main():
    """Print a table for each data set, the most important input first."""
    for data, groups in ((irises, []), (diabetes, [["s1", "s2"]])):
        X, y = data()
        compared = table(X, y, groups)
        fitted = list(compared.fitted.values())
        shown = compared.to_frame()
        shown = shown.pivot(index="feature", columns="model", values="importance")
        shown = shown[[model for model, _ in compared.fitted]]
        order = np.argsort(-shown.mean(axis=1).to_numpy(), kind="stable")
        print(f"\n{data.__doc__}\n")
        print(f"{'':16}" + "".join(f"{name:>18}" for name in shown.columns))
        for feature, row in shown.iloc[order].iterrows():
            print(f"{feature:16}" + "".join(f"{value:18.3f}" for value in row))
        print(f"{'D_y':16}" + "".join(f"{imp.scale_:18.3f}" for imp in fitted))
        fits = "".join(f"{imp.goodness_of_fit_:18.3f}" for imp in fitted)
        print(f"{'GoFit':16}{fits}")


if __name__ == "__main__":
    main()
