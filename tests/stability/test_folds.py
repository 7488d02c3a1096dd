"""Importances across folds: the plain loop, its statistics, groups of rows."""

import numpy as np
import pytest
from refit_cases import LABELS, LINEAR, OBSERVED, Slopes, X, Y, slopes
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    CoefficientImportance,
    FoldImportances,
    ImpurityImportance,
    PermutationImportance,
    importance_across_folds,
)


@pytest.mark.parametrize("rows", ["held_out", "training"])
@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True, random_state=0)])
def test_folds_are_the_plain_loop(rows, cv):
    """Clone, fit on the training rows, measure on the held-out rows."""
    measure = PermutationImportance()
    found = importance_across_folds(LINEAR, X, Y, measure, cv, rows=rows)
    splitter = KFold(cv or 5) if isinstance(cv, int | None) else cv
    for fold, (train, held_out) in enumerate(splitter.split(X)):
        model = LinearRegression().fit(X[train], Y[train])
        seen = train if rows == "training" else held_out
        alone = PermutationImportance().fit(model, X[seen], Y[seen])
        np.testing.assert_allclose(found.by_fold[fold], alone.importances_)
        per_output = found.by_fold_per_output[fold]
        np.testing.assert_allclose(per_output, alone.importances_per_output_)
    assert len(found.by_fold) == fold + 1
    assert found.features == alone.features_
    assert found.output_names == alone.output_names_


@pytest.mark.parametrize(
    ("model", "measure"),
    [
        (DecisionTreeRegressor(random_state=0), ImpurityImportance()),
        (LINEAR, CoefficientImportance()),
        (RandomForestRegressor(5, random_state=0), PermutationImportance(rows="oob")),
    ],
)
def test_measures_of_the_fit_get_the_training_rows(model, measure):
    """They would refuse, or misread, held-out rows."""
    found = importance_across_folds(
        model, X, Y, clone(measure).set_params(), 3, random_state=0
    )
    for fold, (train, _) in enumerate(KFold(3).split(X)):
        fitted = clone(model).fit(X[train], Y[train])
        alone = clone(measure).fit(fitted, X[train], Y[train]).importances_
        if "random_state" not in measure.get_params():
            np.testing.assert_allclose(found.by_fold[fold], alone)
        else:
            assert found.by_fold[fold].argmax() == alone.argmax()


def test_statistics_by_hand():
    """Mean, spread with divisor n - 1, and ranks that ties share."""
    table = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 0.0], [2.0, 6.0, -1.0]])
    folds = FoldImportances(["a", "b", "c"], table.mean(axis=0), by_fold=table)
    np.testing.assert_allclose(folds.importances, [2, 3, 0])
    np.testing.assert_allclose(folds.sd, [1, np.sqrt(7), 1])
    assert folds.ranks.tolist() == [[1, 2.5, 2.5], [2, 1, 3], [2, 1, 3]]
    assert folds.ranking.tolist() == [2, 1, 3]
    frame = folds.to_frame()
    assert frame["feature"].tolist() == ["b", "a", "c"]
    assert frame["lowest"].tolist() == [1, 1, -1]
    assert frame["highest"].tolist() == [6, 3, 1]
    assert frame["best_rank"].tolist() == [1, 1, 2.5]
    assert frame["worst_rank"].tolist() == [2.5, 2, 3]
    np.testing.assert_allclose(frame["mean_rank"], [1.5, 5 / 3, 8.5 / 3])
    one = FoldImportances(["a"], np.ones(1), by_fold=np.ones((1, 1)))
    assert np.isnan(one.sd).all()


def test_spread_of_two_folds():
    """By hand; unknown where a fold has no finite importance."""
    values = np.array([[1.0, 2.0, np.inf], [4.0, 2.0, 1.0]])
    folds = FoldImportances(["a", "b", "c"], values.mean(axis=0), by_fold=values)
    np.testing.assert_allclose(folds.sd[:2], [3 / np.sqrt(2), 0.0], rtol=1e-15)
    assert np.isnan(folds.sd[2])


def test_spread_is_no_standard_error():
    """What the docstring warns of: naively the error of the mean is too small."""
    means, naive = [], []
    for seed in range(80):
        random = np.random.default_rng(seed)
        Z = random.standard_normal((60, 2))
        y = Z @ [1.0, 0.5] + random.standard_normal(60)
        folds = importance_across_folds(
            Slopes(), Z, y, slopes, ShuffleSplit(10, test_size=0.2), random_state=0
        )
        means.append(folds.importances)
        naive.append(folds.sd / np.sqrt(10))
    assert np.all(np.mean(naive, axis=0) < 0.6 * np.std(means, axis=0))


def test_permuted_columns_permute_everything():
    """Ranks too: ties do not depend on the order of the columns."""
    order = np.array([3, 0, 5, 1, 4, 2])
    Z = np.column_stack([X[:, :4], np.zeros((60, 2))])  # two features at exactly 0
    one = importance_across_folds(LINEAR, Z, Y, OBSERVED)
    other = importance_across_folds(LINEAR, Z[:, order], Y, OBSERVED)
    np.testing.assert_allclose(other.by_fold, one.by_fold[:, order], atol=1e-12)
    np.testing.assert_allclose(other.ranks, one.ranks[:, order])
    assert np.all(one.ranks[:, 4:] == 5.5)


def test_repeats_and_groups_of_rows():
    """Repeated folds, random splits, and whole groups held out."""
    repeated = RepeatedKFold(n_splits=3, n_repeats=2)
    found = importance_across_folds(LINEAR, X, Y, OBSERVED, repeated, random_state=0)
    assert found.by_fold.shape == (6, 6)
    assert len(np.unique(found.by_fold[:, 0])) == 6
    groups = np.arange(60) % 4
    seen = []

    def record(estimator, X, y):
        seen.append(set(X[:, 0]))
        return X[0]

    Z = np.column_stack([groups, np.arange(60)]).astype(float)
    importance_across_folds(LINEAR, Z, Y, record, GroupKFold(4), groups=groups)
    assert seen == [{3.0}, {2.0}, {1.0}, {0.0}] or sorted(map(min, seen)) == [
        0,
        1,
        2,
        3,
    ]
    assert all(len(labels) == 1 for labels in seen)


def test_a_class_missing_from_a_fold_is_refused():
    """The mean over two outputs does not stand beside the mean over three."""
    order = np.argsort(LABELS, kind="stable")
    with pytest.raises(ValueError, match=r"outputs.*StratifiedKFold"):
        importance_across_folds(
            LogisticRegression(), X[order], LABELS[order], OBSERVED, KFold(3)
        )
    importance_across_folds(LogisticRegression(), X[order], LABELS[order], OBSERVED, 3)
