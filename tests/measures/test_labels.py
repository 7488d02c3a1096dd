"""Labels of classes and clusters: one encoding, whatever they are called."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from messages import says
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import Birch, KMeans, MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    FIRMImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
)

RANDOM = np.random.RandomState(0)
X = np.vstack([RANDOM.randn(25, 3) + c for c in ([0, 0, 0], [4, 1, 0], [0, 5, 0])])


class Renumbered(KMeans):
    """The same clusters with other numbers."""

    order = (2, 0, 1)

    def predict(self, X):
        """The numbers permuted."""
        return np.asarray(self.order)[super().predict(X)]


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(estimation="exact"),
        SensitivityImportance(scale=None, contrast="observed", estimation="exact"),
        FIRMImportance(),
    ],
    ids=["sensitivity", "observed", "firm"],
)
def test_numbers_of_clusters_carry_no_meaning(measure):
    """Renumbered clusters have the same importances, one indicator per cluster."""
    options = {"n_clusters": 3, "n_init": 1, "random_state": 0}
    imp = measure.fit(KMeans(**options).fit(X), X)
    found = imp.importances_per_output_
    assert imp.output_names_ == ["0", "1", "2"]
    renumbered = measure.fit(Renumbered(**options).fit(X), X)
    np.testing.assert_allclose(
        renumbered.importances_per_output_[:, list(Renumbered.order)], found
    )


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)),
        GaussianMixture(3, random_state=0),
        make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0)),
        Birch(n_clusters=3),
    ],
    ids=["pipeline", "mixture", "pipeline of a mixture", "birch"],
)
def test_every_clusterer(model):
    """By hand: the mean over clusters of the indicators' Gini mean differences."""
    model.fit(X)
    imp = SensitivityImportance(scale=None, estimation="exact").fit(model, X)
    for j in range(3):
        moved = X.repeat(len(X), axis=0)
        moved[:, j] = np.tile(X[:, j], len(X))
        clusters = model.predict(moved).reshape(len(X), len(X))
        share = np.mean(clusters[:, :, None] == np.arange(3), axis=1)
        expected = np.mean(2 * share * (1 - share))
        assert imp.importances_[j] == pytest.approx(expected, rel=1e-9)


class Nearest(ClusterMixin, BaseEstimator):
    """Numbers of the nearest of some points, which nobody else is told."""

    def __init__(self, model):
        self.model = model

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        """Nothing to learn."""
        return self

    def predict(self, X):
        """The number of each row's cluster."""
        return self.model.predict(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda **how: MiniBatchKMeans(3, n_init=1, random_state=0, **how),
        lambda **how: Nearest(MiniBatchKMeans(3, n_init=1, random_state=0, **how)),
        lambda **how: Birch(threshold=2.0, n_clusters=3, **how),
    ],
    ids=["k-means", "unlisted", "birch"],
)
def test_clusters_of_sorted_rows(make):
    """More rows than one call predicts, of which the first are of one cluster.

    The right values are those of the model that keeps the labels of all rows.
    """
    few = np.repeat([0.0, 10.0, 20.0], [36_000, 1000, 1000])
    table = np.column_stack([few, np.tile([0.0, 1.0], 19_000)])
    mixed = table[::-50]
    model, known = make(compute_labels=False), make(compute_labels=True)
    for one in (getattr(model, "model", model), getattr(known, "model", known)):
        one.fit(mixed)
    known = getattr(known, "model", known)
    known.fit(mixed)
    assert not hasattr(getattr(model, "model", model), "labels_")
    measure = SensitivityImportance(scale=None, n_draws=4, random_state=0)
    expected = measure.fit(known, table)
    names, values = expected.output_names_, expected.importances_per_output_
    found = measure.fit(model, table)
    assert found.output_names_ == names == ["0", "1", "2"]
    np.testing.assert_array_equal(found.importances_per_output_, values)


def test_a_response_that_is_tiny_in_the_first_rows_is_none():
    """Whether its squares are 0 is a matter of all rows."""
    table = np.repeat([0.0, 1e-200, 1.0], [20_000, 16_000, 4000])[:, np.newaxis]
    found = SensitivityImportance(scale=None, n_draws=4).fit(lambda Z: Z[:, 0], table)
    # the chance that of two rows one is among the tenth at 1
    rounding = len(table) * np.finfo(float).eps
    assert found.importances_[0] == pytest.approx(2 * 0.1 * 0.9, rel=rounding)


def test_losses_of_clusters_count_wrong_labels():
    """y with the model's own numbers: the share of rows that change their cluster."""
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    y = model.labels_
    imp = PermutationImportance(estimation="exact").fit(model, X, y)
    assert imp.loss_ == "zero_one" if hasattr(imp, "loss_") else True
    moved = X.repeat(len(X), axis=0)
    moved[:, 0] = np.tile(X[:, 0], len(X))
    wrong = np.mean(model.predict(moved) != y.repeat(len(X)))
    assert imp.importances_[0] == pytest.approx(wrong, rel=1e-9)


LABELS = np.array(["no", "yes"])[(X[:, 0] > 1).astype(int)]
KINDS = {
    "object": lambda: LABELS.astype(object),
    "list": lambda: LABELS.tolist(),
    "pandas category": lambda: pd.Series(LABELS, dtype="category"),
    "pandas string": lambda: pd.Series(LABELS, dtype="string"),
    "polars": lambda: pl.Series(LABELS.tolist()),
    "polars enum": lambda: pl.Series(LABELS.tolist(), dtype=pl.Enum(["yes", "no"])),
    "column": lambda: LABELS[:, np.newaxis],
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_in_every_container(kind):
    """Scales, losses, labels as scores and folds read them all alike."""
    model = LogisticRegression().fit(X, LABELS)
    for measure in (SensitivityImportance(), PermutationImportance(random_state=0)):
        expected = measure.fit(model, X, LABELS).importances_
        found = measure.fit(model, X, KINDS[kind]()).importances_
        np.testing.assert_array_equal(found, expected)
    firm = FIRMImportance()
    expected = firm.fit(None, X, LABELS)
    names, importances = expected.output_names_, expected.importances_
    found = firm.fit(None, X, KINDS[kind]())
    assert found.output_names_ == names == ["yes"]
    np.testing.assert_array_equal(found.importances_, importances)


def test_numbers_as_labels():
    """Booleans, floats and integers name the same classes; 10 comes after 9."""
    y = np.where(X[:, 0] > 1, 10, np.where(X[:, 1] > 2, 9, 2))
    model = LogisticRegression().fit(X, y)
    imp = SensitivityImportance()
    expected = imp.fit(model, X, y).importances_
    assert imp.output_names_ == ["2", "9", "10"]
    for other in (y.astype(float), y.astype(object), pd.Series(y, dtype="Int64")):
        np.testing.assert_array_equal(imp.fit(model, X, other).importances_, expected)
    two = LogisticRegression().fit(X, y == 10)
    np.testing.assert_array_equal(
        imp.fit(two, X, y == 10).importances_,
        imp.fit(two, X, (y == 10).astype(int)).importances_,
    )


def test_unknown_labels_are_refused_by_name():
    """In the words of every measure alike."""
    model = LogisticRegression().fit(X, LABELS)
    odd = np.where(np.arange(len(X)) == 3, "maybe", LABELS)
    for measure in (SensitivityImportance(), PermutationImportance()):
        with pytest.raises(ValueError, match=says("y … label 'maybe' … ['no', 'yes']")):
            measure.fit(model, X, odd)


class Scores:
    """One score per class between 0 and 1 under the name of probabilities."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        """Rows that sum to anything."""
        return 1 / (1 + np.exp(-np.asarray(X)))


def test_probabilities_that_do_not_sum_to_one():
    """They stay those of the classes; a callable is told that it has none."""
    y = np.array(["a", "b", "c"])[np.arange(75) % 3]
    imp = SensitivityImportance(estimation="exact").fit(Scores(), X, y)
    assert imp.output_names_ == ["a", "b", "c"]
    # one score per column: its Gini mean difference over that of the indicator
    for j in range(3):
        scores = Scores().predict_proba(X)[:, j]
        expected = np.zeros(3)
        expected[j] = np.mean(np.abs(scores[:, None] - scores)) / (2 * 1 / 3 * 2 / 3)
        np.testing.assert_allclose(imp.importances_per_output_[j], expected)
    several = KNeighborsClassifier().fit(X, np.column_stack([X[:, 0] > 1] * 3))
    imp = SensitivityImportance(scale=None).fit(several, X)
    assert imp.output_names_ == ["y0: True", "y1: True", "y2: True"]
    several = OneVsRestClassifier(LogisticRegression()).fit(X, (X > 1).astype(int))
    imp = SensitivityImportance(scale=None).fit(several, X)
    assert imp.output_names_ == ["y0", "y1", "y2"]
    with pytest.raises(
        ValueError,
        match=says("scale='auto' … got y (75, 1) … `classes_` … the classifier"),
    ):
        SensitivityImportance().fit(Scores().predict_proba, X, np.arange(75) % 3)


class Forgetful:
    """A response with as many outputs as it likes."""

    def __init__(self):
        self.calls = 0

    def predict(self, X):
        """Two outputs first, then three."""
        self.calls += 1
        return np.asarray(X)[:, : 2 if self.calls == 1 else 3]


def test_the_number_of_outputs_may_not_change():
    """Not even where the model is only asked again for moved rows."""
    with pytest.raises(
        ValueError, match=says("3 outputs … 2 in the first … ['y0', 'y1']")
    ):
        SensitivityImportance(scale=None).fit(Forgetful(), X)


def test_a_fold_without_weight_is_named():
    """The error tells which rows have no weight, not only that there are none."""
    weight = np.r_[np.zeros(25), np.ones(50)]
    folds = [(np.arange(25, 75), np.arange(25))]
    with pytest.raises(ValueError, match=r"fold 0.*weight"):
        importance_across_folds(
            LogisticRegression(),
            X,
            LABELS,
            SensitivityImportance(),
            cv=folds,
            sample_weight=weight,
        )
