"""All measures on three data sets: where they agree, and what it means where not.

    python benchmarks/compare_measures.py [--full]

For a linear model, a network and a forest on each data set: the importances under every
measure that the model has, and the rank correlations between all of them.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    CoefficientImportance,
    ConnectionWeightImportance,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
)
from skvarimp.filters import auc, group_statistic, lowess_r2

# What any model can be asked.
GENERAL = {
    "pairs": SensitivityImportance(random_state=0),
    "observed": SensitivityImportance(contrast="observed", random_state=0),
    "range": SensitivityImportance(contrast="range", random_state=0),
    "partial dep.": PartialDependenceImportance(),
    "permutation": PermutationImportance(random_state=0),
    "FIRM": FIRMImportance(),
}
# What smooth models can be asked besides, and what a model's own parts say.
OF_MODEL = {
    "linear": {
        "derivative": DerivativeImportance(),
        "|t|": CoefficientImportance(),
        "beta": CoefficientImportance(statistic="standardized"),
    },
    "network": {
        "derivative": DerivativeImportance(),
        "Olden": ConnectionWeightImportance(),
        "Garson": ConnectionWeightImportance(method="garson"),
    },
    "forest": {
        "impurity": ImpurityImportance(convention="sklearn"),
        "surrogates": ImpurityImportance(surrogates=True),
    },
}
NETWORK = {
    "hidden_layer_sizes": (8,),
    "solver": "lbfgs",
    "alpha": 1.0,
    "max_iter": 2000,
    "random_state": 0,
}
FOREST = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": 0}


def diabetes():
    """Ten columns of patients; how far the disease went in a year."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    models = {
        "linear": LinearRegression(),
        "network": MLPRegressor(**{**NETWORK, "alpha": 1000.0}),
        "forest": RandomForestRegressor(**FOREST),
    }
    return X, y, models, {"LOWESS R2": FilterImportance(score_func=lowess_r2)}


def breast_cancer():
    """The ten columns of means; unpenalised, for all thirty separate the classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
    linear = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-8)
    return X, y, {"linear": linear, **classifiers()}, FILTERS_OF_CLASSES


def wine():
    """Three cultivars, separated by the thirteen columns: the model is penalised."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
    return X, y, {"linear": LogisticRegression(), **classifiers()}, FILTERS_OF_CLASSES


FILTERS_OF_CLASSES = {
    "AUC": FilterImportance(score_func=auc),
    "F": FilterImportance(score_func=group_statistic),
}
DATA = {"diabetes": diabetes, "breast cancer": breast_cancer, "wine": wine}


def classifiers():
    """A network and a forest."""
    return {
        "network": MLPClassifier(**NETWORK),
        "forest": RandomForestClassifier(**FOREST),
    }


def table_of(X, y, models, filters):
    """One column of importances per model and measure, filters last."""
    columns = {}
    for name, model in models.items():
        of_model = {**GENERAL, **OF_MODEL[name]}
        if name == "linear" and np.isfinite(getattr(model, "C", np.inf)):
            del of_model["|t|"]  # penalised
        comparison = compare_importances({name: model.fit(X, y)}, X, y, of_model)
        columns |= {
            "/".join(key): m.importances_ for key, m in comparison.fitted.items()
        }
    for name, measure in filters.items():
        columns[f"filter/{name}"] = measure.fit(None, X, y).importances_
    return pd.DataFrame(columns, index=pd.Index(X.columns, name="feature"))


def show(title, table, scores):
    """Print scores, the two most important features by each column, and agreement."""
    print(f"\n{title}: {len(table)} columns of X")
    print(
        "   cross-validated score "
        + ", ".join(f"{k} {v:.2f}" for k, v in scores.items())
    )
    ranks = table.rank(ascending=False, method="first").astype(int)
    agreement = table.corr(method="spearman")
    general = [c for c in table if c.split("/")[1] in GENERAL]
    for column in table:
        first = ranks[column].sort_values().index[:3]
        model = column.split("/")[0]
        others = [c for c in general if c != column and c.startswith(model)] or general
        mean = agreement.loc[column, others].mean()
        print(f"   {column:22} {mean:6.2f}   {', '.join(first)}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="all importances and correlations"
    )
    options = parser.parse_args()
    print("Mean rank correlation with the general measures of the same model (filters:")
    print("of all models), and the three most important columns")
    for title, data in DATA.items():
        X, y, models, filters = data()
        X = pd.DataFrame(StandardScaler().fit_transform(X), columns=X.columns)
        scores = {k: cross_val_score(m, X, y).mean() for k, m in models.items()}
        table = table_of(X, y, models, filters)
        show(title, table, scores)
        if options.full:
            print(table.T.round(3).to_string())
            print(table.corr(method="spearman").round(2).to_string())


if __name__ == "__main__":
    main()
