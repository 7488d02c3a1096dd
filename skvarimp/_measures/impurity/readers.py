"""Readers: from each scikit-learn tree or ensemble of trees to flat tables.

A reader also says what each tree was trained on: the in-bag weights and the target as
that tree saw them, rebuilt from public attributes. What an ensemble drew at random and
did not record is declined with the reason.
"""

import numbers

import numpy as np
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.utils import (
    check_random_state,
    compute_class_weight,
    compute_sample_weight,
)

from skvarimp._measures.impurity.tree_reader import (
    TREE_TYPES,
    TreeReader,
    declined,
    not_trees,
)
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import as_columns, class_lists, positions
from skvarimp._models.readers import sklearn_trees
from skvarimp._models.registry import unwrapped


class SingleTree(TreeReader):
    """DecisionTree and ExtraTree."""

    averaging = "tree"

    def _in_bag(self, leaf_in, y, weight):
        yield weight * self._class_weight(self.estimator, y)


class Forest(TreeReader):
    """RandomForest and ExtraTrees."""

    def _in_bag(self, leaf_in, y, weight):
        forest = self.estimator
        if not forest.bootstrap:
            weight = weight * self._forest_class_weight(y, weight)
            yield from [weight] * len(self.members)
            return
        for drawn in _samples(forest, len(weight)):
            weight = np.bincount(drawn, minlength=len(weight)).astype(np.float64)
            # Other class weights are in the probabilities of the draw.
            if getattr(forest, "class_weight", None) == "balanced_subsample":
                y = self._needed(y, "class_weight='balanced_subsample'")
                weight *= compute_sample_weight("balanced", y, indices=drawn)
            yield weight

    def _forest_class_weight(self, y, weight):
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight not in ("balanced", "balanced_subsample"):
            return self._class_weight(self.estimator, y)
        y, factor = self._needed(y, f"class_weight={class_weight!r}"), 1.0
        for classes, column in zip(self.classes, as_columns(y).T):
            class_weights = compute_class_weight(
                "balanced", classes=classes, y=column, sample_weight=weight
            )
            factor = factor * class_weights[np.searchsorted(classes, column)]
        return factor


class Embedding(Forest):
    """RandomTreesEmbedding, whose targets were drawn and not kept."""

    knows_target = False


class Bagging(TreeReader):
    """Bagging of trees, on drawn rows and drawn columns."""

    def _in_bag(self, leaf_in, y, weight):
        if y is not None and self.classes is not None:
            y = positions(y, self.classes)[:, 0]  # what the trees were given
        for member, drawn in zip(self.members, _samples(self.estimator, len(weight))):
            weight = np.bincount(drawn, minlength=len(weight)).astype(np.float64)
            yield weight * self._class_weight(member, y)


class AdaBoost(TreeReader):
    """AdaBoost, whose weights are replayed stage by stage (classification only)."""

    averaging = "weighted"

    def _in_bag(self, leaf_in, y, weight):
        booster = self.estimator
        if type(booster) is ensemble.AdaBoostRegressor:
            raise declined(
                booster, "it draws every tree's rows at random and keeps no record"
            )
        y = self._needed(y, "replaying the weights of AdaBoostClassifier")
        weight = weight / weight.sum()
        absent = weight == 0.0
        for stage, member in enumerate(self.members):
            weight = np.clip(weight, np.finfo(np.float64).eps, None)
            weight[absent] = 0.0
            yield weight * self._class_weight(member, y)
            # SAMME (Zhu et al. 2009): exp(alpha) for the rows this tree gets wrong.
            shares = self.tables[stage].values[leaf_in(stage)]
            wrong = member.classes_[shares.argmax(axis=1)] != y
            grown = np.exp(booster.estimator_weights_[stage] * (wrong & ~absent))
            weight = weight * grown
            weight /= weight.sum()


def _samples(estimator, n_samples):
    """Drawn rows of each tree, or a ValueError where they are of other data."""
    drawn = estimator.estimators_samples_
    if len(drawn) != len(estimator.estimators_):
        raise declined(
            estimator, "it kept the draws of its last fit only (warm_start=True)"
        )
    n_trained = sklearn_trees.n_training_rows(estimator) or n_samples
    if n_trained != n_samples:
        raise ValueError(
            f"X is not the training data: it has {n_samples} rows, but "
            f"{type(estimator).__name__} was fitted with {n_trained}. Pass what the "
            "estimator was fitted with."
        )
    return drawn


class GradientBoosting(TreeReader):
    """GradientBoosting: the trees of all stages and classes."""

    averaging = "boosting"
    knows_target = False

    def _in_bag(self, leaf_in, y, weight):
        booster = self.estimator
        if booster.subsample < 1.0:
            raise declined(
                booster, "with subsample < 1 it draws each stage's rows and keeps none"
            )
        if booster.n_iter_no_change is not None:
            seed = booster.random_state
            weight = weight * _training_part(self, y, len(weight), seed)
        yield from [weight] * len(self.members)


class HistGradientBoosting(TreeReader):
    """HistGradientBoosting: gains take the place of decreases."""

    averaging = "boosting"
    knows_target = False

    def __init__(self, estimator):
        self.estimator = estimator
        form = sklearn_trees.read_trees(estimator, "predict")
        self.tables, self.encoding = form.trees, form.encoding
        self.weights = np.ones(len(self.tables))
        self.nominal = estimator.is_categorical_

    def matrix(self, table):
        """X as the trees see it: categories by their positions, float64."""
        columns = range(table.n_columns)
        numbers = [self.encoding.numbers(j, table.column(j)) for j in columns]
        return np.column_stack(numbers)

    def _in_bag(self, leaf_in, y, weight):
        booster, n_samples, code = self.estimator, len(weight), None
        if is_classifier(booster) and y is not None:
            code = positions(y, class_lists(booster.classes_))[:, 0]
        weight = weight * self._class_weight(booster, code)
        self.counted = np.ones(n_samples, dtype=bool)
        if booster.do_early_stopping_ and self.tables[0].count[0] < n_samples:
            seed = booster.random_state
            if isinstance(seed, numbers.Integral):  # fit's first draw seeds the split
                largest = np.iinfo(np.uint32).max
                seed = int(check_random_state(seed).randint(largest, dtype="u8"))
            self.counted = _training_part(self, y, n_samples, seed)
        yield from [weight * self.counted] * len(self.tables)


def _training_part(reader, y, n_samples, seed):
    """Which rows early stopping did not put aside; the split is drawn again."""
    booster, classes = reader.estimator, None
    if is_classifier(booster):
        classes = reader._needed(y, "the stratified split")
    if not isinstance(seed, numbers.Integral):
        raise declined(
            booster,
            "early stopping put rows aside at random; only an integer `random_state` "
            "lets that be drawn again",
        )
    kept, _ = train_test_split(
        np.arange(n_samples),
        random_state=seed,
        test_size=booster.validation_fraction,
        stratify=classes,
    )
    return np.isin(np.arange(n_samples), kept)


READERS = {
    **dict.fromkeys(TREE_TYPES, SingleTree),
    ensemble.RandomForestClassifier: Forest,
    ensemble.RandomForestRegressor: Forest,
    ensemble.ExtraTreesClassifier: Forest,
    ensemble.ExtraTreesRegressor: Forest,
    ensemble.RandomTreesEmbedding: Embedding,
    ensemble.BaggingClassifier: Bagging,
    ensemble.BaggingRegressor: Bagging,
    ensemble.AdaBoostClassifier: AdaBoost,
    ensemble.AdaBoostRegressor: AdaBoost,
    ensemble.GradientBoostingClassifier: GradientBoosting,
    ensemble.GradientBoostingRegressor: GradientBoosting,
    ensemble.HistGradientBoostingClassifier: HistGradientBoosting,
    ensemble.HistGradientBoostingRegressor: HistGradientBoosting,
}


# What a subclass may define anew without another answer to rows of X.
HARMLESS = {"__init__", "__repr__", "fit", "score", "feature_importances_"}
HARMLESS |= {"set_fit_request", "set_score_request"}  # come with `fit` and `score`


def as_known(estimator):
    """An estimator whose exact type has a reader, where there is one.

    A subclass that only grows its trees in its own way answers as the class it comes
    from, so that its trees can be read; whether X and y are what they were grown on
    is checked where that matters.
    """
    passed = set()
    for kind in type(estimator).__mro__:
        if kind in READERS:
            own = {name for name in passed if hasattr(kind, name)} - HARMLESS
            if kind is type(estimator) or own:
                return estimator
            known = kind.__new__(kind)
            known.__dict__ = estimator.__dict__
            return known
        passed |= {
            name
            for name, value in vars(kind).items()
            if callable(value) or hasattr(value, "__get__")
        }
    return estimator


def each_ensemble(estimator, y):
    """The trees or ensembles of a model, each with its output of y.

    Parameters
    ----------
    estimator : estimator
        Fitted; of its own or one for each output.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None

    Returns
    -------
    list of (estimator, ndarray or None)
    """
    if not isinstance(estimator, MultiOutputRegressor | MultiOutputClassifier):
        return [(as_known(unwrapped(estimator)), y)]
    members = [as_known(unwrapped(member)) for member in estimator.estimators_]
    if y is None:
        return [(member, None) for member in members]
    columns = as_columns(y)
    if columns.shape[1] != len(members):
        raise ValueError(
            f"y must have one column for each of the {len(members)} outputs that "
            f"{type(estimator).__name__} was fitted to, got {columns.shape[1]}."
        )
    return list(zip(members, columns.T))


def named_inside(estimator):
    """The (unfitted) model whose trees count, inside those that only hold it."""
    while True:
        if isinstance(estimator, TransformedTargetRegressor):
            estimator = estimator.regressor
        elif isinstance(estimator, MultiOutputRegressor | MultiOutputClassifier):
            estimator = estimator.estimator
        else:
            return as_known(estimator)


def read_trees(estimator):
    """The reader of a fitted tree or ensemble; TypeError for anything else.

    The exact type decides: see `as_known`.
    """
    reader = READERS.get(type(estimator))
    name = type(estimator).__name__
    if reader is None:
        raise not_trees(name)
    try:
        return reader(estimator)
    except NotReadable as reason:
        raise TypeError(
            f"ImpurityImportance cannot read this {name}: {reason}. Use "
            "PermutationImportance, which asks the model itself."
        ) from None
