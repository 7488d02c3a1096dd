"""The one list of trees and ensembles that impurity importance reads."""

from sklearn import ensemble

from skvarimp._measures.impurity.boosting import GradientBoosting, HistGradientBoosting
from skvarimp._measures.impurity.readers import (
    TREE_TYPES,
    AdaBoost,
    Bagging,
    Forest,
    SingleTree,
    not_trees,
)

READERS = {
    **dict.fromkeys(TREE_TYPES, SingleTree),
    ensemble.RandomForestClassifier: Forest,
    ensemble.RandomForestRegressor: Forest,
    ensemble.ExtraTreesClassifier: Forest,
    ensemble.ExtraTreesRegressor: Forest,
    ensemble.RandomTreesEmbedding: Forest,
    ensemble.BaggingClassifier: Bagging,
    ensemble.BaggingRegressor: Bagging,
    ensemble.AdaBoostClassifier: AdaBoost,
    ensemble.AdaBoostRegressor: AdaBoost,
    ensemble.GradientBoostingClassifier: GradientBoosting,
    ensemble.GradientBoostingRegressor: GradientBoosting,
    ensemble.HistGradientBoostingClassifier: HistGradientBoosting,
    ensemble.HistGradientBoostingRegressor: HistGradientBoosting,
}


def read_trees(estimator):
    """The reader of a fitted tree or ensemble; TypeError for anything else.

    The exact type decides: a subclass may grow its trees on other rows.
    """
    reader = READERS.get(type(estimator))
    if reader is None:
        raise not_trees(type(estimator).__name__)
    return reader(estimator)
