"""Readers of gradient boosting, whose trees were grown on gradients it did not keep."""

import numbers

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from skvarimp._data.labels import class_lists, positions
from skvarimp._measures.impurity.readers import Rows, TreeReader, declined
from skvarimp._measures.impurity.tables import Training
from skvarimp._models.readers.sklearn_trees import read_trees
from skvarimp._models.trees.table import NodeTable


class GradientBoosting(TreeReader):
    """GradientBoosting: the trees of all stages and classes."""

    averaging = "boosting"
    knows_target = False

    @staticmethod
    def _members(estimator):
        return list(estimator.estimators_.ravel())

    def trainings(self, rows, y, sample_weight):
        """See `TreeReader.trainings`; without targets."""
        booster = self.estimator
        if booster.subsample < 1.0:
            raise declined(
                booster, "with subsample < 1 it draws each stage's rows and keeps none"
            )
        weight = self._weight(rows, sample_weight)
        if booster.n_iter_no_change is not None:
            encoded = _encoded(booster, self._needed(y, "the rows put aside"))
            seed = booster.random_state
            weight = weight * _training_part(booster, encoded, len(rows), seed)
        for t in range(len(self.members)):
            yield Training(self._leaf(rows, t), weight)


class HistGradientBoosting(TreeReader):
    """HistGradientBoosting: gains take the place of decreases."""

    averaging = "boosting"
    knows_target = False

    def __init__(self, estimator):
        self.estimator = estimator
        self.form = read_trees(estimator, "predict", None)
        self.tables = self.form.trees
        self.weights = np.ones(len(self.tables))
        self.criterion = self.classes = self.n_classes = None

    def rows(self, table):
        """As the trees see them: categories by their positions, float64."""
        columns = [
            self.form.encoding.numbers(j, table.column(j))
            for j in range(table.n_columns)
        ]
        nominal = self.estimator.is_categorical_
        return Rows(None, np.column_stack(columns), nominal, table)

    def trainings(self, rows, y, sample_weight):
        """See `TreeReader.trainings`; without targets."""
        booster = self.estimator
        n_samples, weight = len(rows), self._weight(rows, sample_weight)
        encoded = None
        if is_classifier(booster) and y is not None:
            encoded = _encoded(booster, y)
        weight = weight * self._class_weight(booster, encoded)
        kept = np.ones(n_samples, dtype=bool)
        if booster.do_early_stopping_ and self.tables[0].count[0] < n_samples:
            if is_classifier(booster):
                self._needed(y, "the stratified split")
            seed = booster.random_state
            if isinstance(seed, numbers.Integral):  # fit's first draw seeds the split
                largest = np.iinfo(np.uint32).max
                seed = int(check_random_state(seed).randint(largest, dtype="u8"))
            kept = _training_part(booster, encoded, n_samples, seed)
        nodes = NodeTable(self.tables, self.form.encoding)
        codes = nodes.codes_of(rows.table)
        for t, root in enumerate(nodes.roots):
            (leaves,) = nodes.leaves(codes, np.array([t])) - root
            yield Training(leaves, weight * kept, None, kept)


def _encoded(booster, y):
    """y as the loss takes it: class numbers or the target itself, float64."""
    if is_classifier(booster):
        return positions(y, class_lists(booster.classes_))[:, 0].astype(np.float64)
    return np.asarray(y, dtype=np.float64)


def _training_part(booster, y, n_samples, seed):
    """Which rows early stopping did not put aside; the split is drawn again."""
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
        stratify=y if is_classifier(booster) else None,
    )
    return np.isin(np.arange(n_samples), kept)
