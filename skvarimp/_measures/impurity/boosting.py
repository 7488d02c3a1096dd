"""Readers of gradient boosting: the stages replayed, and histogram trees."""

import copy
import numbers

import numpy as np
from sklearn import ensemble
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_sample_weight

from skvarimp._data.labels import as_columns, class_lists, positions
from skvarimp._measures.impurity.readers import (
    Rows,
    TreeReader,
    declined,
)
from skvarimp._measures.impurity.tables import LEAF, Training, table_of_histogram_tree
from skvarimp._running.private_sklearn import private


class GradientBoosting(TreeReader):
    """GradientBoosting: all stages and classes, on the stage's negative gradients."""

    averaging = "boosting"

    def _members(self):
        return list(self.estimator.estimators_.ravel())

    def _classes(self):
        return None  # regression trees on gradients, for classes too

    def trainings(self, rows, y, sample_weight, with_target=True):
        """See `TreeReader.trainings`."""
        booster = self.estimator
        if booster.subsample < 1.0:
            raise declined(
                booster, "with subsample < 1 it draws each stage's rows and keeps none"
            )
        encoded = None
        if with_target or booster.n_iter_no_change is not None:
            encoded = _encoded(booster, self._needed(y, "replaying the stages"))
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight
        kept = np.arange(len(rows))
        if booster.n_iter_no_change is not None:
            kept = _training_part(booster, encoded, len(rows), booster.random_state)
        weight = _only(kept, weight)
        replay = _Replay(booster, rows, encoded, weight, kept) if with_target else None
        n_stages, n_per_stage = booster.estimators_.shape
        for stage in range(n_stages):
            gradients = None if replay is None else replay.negative_gradients()
            for k in range(n_per_stage):
                t = stage * n_per_stage + k
                leaf = self._leaf(rows, t)
                if replay is None:
                    yield Training(leaf, weight)
                    continue
                yield Training(leaf, weight, gradients[:, [k]])
                replay.add(k, self.members[t].tree_.value[:, 0, 0], leaf)


class _Replay:
    """Raw predictions of the training rows, stage after stage, as fit saw them."""

    def __init__(self, booster, rows, y, weight, kept):
        self.booster, self.kept = booster, kept
        self.y, self.weight = y[kept], weight[kept]
        self.n_samples = len(rows)
        # a copy, as Huber's corner is set in place
        self.loss = copy.deepcopy(private(booster, "_loss"))
        self.raw = np.array(private(booster, "_raw_predict_init")(rows.single[kept]))

    def negative_gradients(self):
        """Of the stage to come; shape (n_samples, n_trees_per_stage)."""
        if getattr(self.booster, "loss", None) == "huber":
            error = np.abs(self.y - self.raw.squeeze(axis=1))
            corner = np.quantile(
                error, self.loss.quantile, weights=self.weight, method="inverted_cdf"
            )
            self.loss.closs.delta = float(corner)
        gradient = self.loss.gradient(
            y_true=self.y, raw_prediction=self.raw, sample_weight=None
        )
        whole = np.zeros((self.n_samples, self.raw.shape[1]))
        whole[self.kept] = -as_columns(gradient)
        return whole

    def add(self, k, values, leaf):
        """Take the step of one tree."""
        self.raw[:, k] += self.booster.learning_rate * values.take(leaf[self.kept])


class HistGradientBoosting(TreeReader):
    """HistGradientBoosting: gains from the node arrays."""

    averaging = "boosting"
    has_impurity = False

    def __init__(self, estimator):
        self.estimator = estimator
        self.columns = self._original_columns()
        stages = private(estimator, "_predictors")
        self.predictors = [predictor for stage in stages for predictor in stage]
        self.tables = [
            table_of_histogram_tree(p.nodes, self.columns) for p in self.predictors
        ]
        self.weights = np.ones(len(self.predictors))
        self.criterion = None
        self.classes = self.n_classes = None

    def _original_columns(self):
        """Categorical columns come first in the encoded X."""
        categorical = self.estimator.is_categorical_
        if categorical is None:
            return np.arange(self.estimator.n_features_in_)
        return np.append(np.flatnonzero(categorical), np.flatnonzero(~categorical))

    def rows(self, table):
        """Encoded as for the trees, columns in X's order, float64."""
        encoded = private(self.estimator, "_preprocess_X")(table.native, reset=False)
        matrix = np.empty(encoded.shape)
        matrix[:, self.columns] = encoded
        return Rows(None, matrix, self.estimator.is_categorical_)

    def trainings(self, rows, y, sample_weight, with_target=True):
        """See `TreeReader.trainings`; these trees' targets are not rebuilt."""
        booster = self.estimator
        n_samples = len(rows)
        weight = np.ones(n_samples) if sample_weight is None else sample_weight
        if getattr(booster, "class_weight", None) is not None:
            y = self._needed(y, f"class_weight={booster.class_weight!r}")
            weight = weight * compute_sample_weight(
                booster.class_weight, _encoded(booster, y)
            )
        kept = np.arange(n_samples)
        if booster.do_early_stopping_ and self.tables[0].count[0] < n_samples:
            encoded = None
            if _is_classifier(booster):
                encoded = _encoded(booster, self._needed(y, "the stratified split"))
            seed = booster.random_state
            if isinstance(seed, numbers.Integral):  # fit's first draw seeds the split
                largest = np.iinfo(np.uint32).max
                seed = int(check_random_state(seed).randint(largest, dtype="u8"))
            kept = _training_part(booster, encoded, n_samples, seed)
        weight = _only(kept, weight)
        counted = _only(kept, np.ones(n_samples)) > 0
        for predictor, table in zip(self.predictors, self.tables):
            leaf = _leaf_of_histogram_tree(predictor, table, rows.matrix)
            yield Training(leaf, weight, None, counted, weighs_nodes=False)


def _leaf_of_histogram_tree(predictor, table, X):
    """Leaf of each row; comparisons in float64, as the predictor makes them."""
    nodes = predictor.nodes
    words = predictor.raw_left_cat_bitsets  # (n_sets, 8), 32 categories a word
    bits = words[:, :, np.newaxis] >> np.arange(32, dtype=np.uint32) & 1
    left_sets = bits.reshape(len(words), 256).astype(bool)
    leaf = np.zeros(X.shape[0], dtype=np.intp)
    moving = np.arange(X.shape[0])
    while True:
        moving = moving[table.left[leaf[moving]] != LEAF]
        if not len(moving):
            return leaf
        at = leaf[moving]
        node = nodes[at]
        value = X[moving, table.feature[at]]
        left = value <= node["num_threshold"]
        in_set = (node["is_categorical"] == 1) & ~np.isnan(value)
        left[in_set] = left_sets[
            node["bitset_idx"][in_set], value[in_set].astype(np.intp)
        ]
        left = np.where(np.isnan(value), node["missing_go_to_left"] == 1, left)
        leaf[moving] = np.where(left, table.left[at], table.right[at])


def _encoded(booster, y):
    """y as the loss takes it: class numbers or the target itself, float64."""
    if _is_classifier(booster):
        return positions(y, class_lists(booster.classes_))[:, 0].astype(np.float64)
    return np.asarray(y, dtype=np.float64)


def _is_classifier(booster):
    return isinstance(
        booster,
        ensemble.GradientBoostingClassifier | ensemble.HistGradientBoostingClassifier,
    )


def _training_part(booster, y, n_samples, seed):
    """Rows that early stopping did not put aside; the split is drawn again."""
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
        stratify=y if _is_classifier(booster) else None,
    )
    return np.sort(kept)


def _only(kept, weight):
    out = np.zeros(len(weight))
    out[kept] = weight[kept]
    return out
