"""Selectors against the procedure written down literally, over random settings."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import (
    BackwardEliminationSelector,
    CoefficientImportance,
    ForwardSelector,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

ROWS = 60
FORMS = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "bsr_array")
TRAINING_ROWS = (ImpurityImportance, CoefficientImportance)


def part(X, rows, columns):
    """Some rows and columns in X's own container (CSR where it cannot be sliced)."""
    rows, columns = [int(i) for i in rows], [int(j) for j in columns]
    if sparse.issparse(X):
        form = "csc" if X.format == "csc" else "csr"
        return X.tocsr()[rows][:, columns].asformat(form)
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows, columns]
    if isinstance(X, pl.DataFrame):
        return X[rows].select([X.columns[j] for j in columns])
    return X[rows][:, columns]


def evaluated(selector, importance, columns, X, y, splits, weights, measure=True):
    """Mean score over folds, and mean absolute importances."""
    scores, found = [], []
    scorer = check_scoring(selector.estimator, scoring=selector.scoring)
    for train, test in splits:
        at = {
            id(rows): {} if weights is None else {"sample_weight": weights[rows]}
            for rows in (train, test)
        }
        model = clone(selector.estimator)
        model.fit(part(X, train, columns), y[train], **at[id(train)])
        held = part(X, test, columns)
        scores.append(scorer(model, held, y[test], **at[id(test)]))
        if measure:
            rows = train if isinstance(importance, TRAINING_ROWS) else test
            shown = part(X, rows, columns)
            fitted = clone(importance).fit(model, shown, y[rows], **at[id(rows)])
            found.append(fitted.importances_)
    return np.mean(scores), np.mean(found, axis=0) if measure else None


def literal_path(selector, importance, *data):
    """[(columns, score)] of the steps, and the columns kept."""
    n, least = data[0].shape[1], selector.min_features_to_select
    step, threshold = selector.step, selector.importance_threshold

    def at_least(left):
        return step if isinstance(step, int) else max(1, int(step * left))

    path = []
    if isinstance(selector, BackwardEliminationSelector):
        columns = list(range(n))
        while True:
            last = len(columns) == least
            score, found = evaluated(
                selector, importance, columns, *data, measure=not last
            )
            path.append((columns, score))
            if last:
                break
            low = sum(value < threshold * max(found) for value in found)
            n_drop = min(max(low, at_least(len(columns))), len(columns) - least)
            weakest = sorted(zip(found, [-j for j in columns]))[:n_drop]
            dropped = {-j for _, j in weakest}
            columns = [j for j in columns if j not in dropped]
    else:
        _, found = evaluated(selector, importance, range(n), *data)
        order = [j for _, j in sorted((-value, j) for j, value in enumerate(found))]
        high = sum(value >= threshold * max(found) for value in found)
        n_used, last = least, max(high, least)
        while True:
            columns = sorted(order[:n_used])
            score, _ = evaluated(selector, importance, columns, *data, measure=False)
            path.append((columns, score))
            if n_used >= last:
                break
            n_used = min(last, n_used + at_least(n - n_used))
    best = max(score for _, score in path)
    enough = best - (1 - selector.performance_threshold) * abs(best)
    good = [(len(c), -score, c) for c, score in path if score >= enough]
    return path, min(good)[2]


def splits_of(random, selector, y):
    """Sets the selector's `cv`; the splits it must make and the groups for `fit`."""
    classifier, rows = is_classifier(selector.estimator), np.zeros((ROWS, 1))
    groups = random.integers(0, 7, ROWS)
    seed = selector.random_state
    kind = random.integers(4)
    if kind == 0:
        once = StratifiedShuffleSplit if classifier else ShuffleSplit
        return list(once(1, test_size=0.3, random_state=seed).split(rows, y)), {}
    if kind == 1:
        once = GroupShuffleSplit(1, test_size=0.3, random_state=seed)
        return list(once.split(rows, y, groups)), {"groups": groups}
    if kind == 2:
        selector.cv = GroupKFold(3)
        return list(selector.cv.split(rows, y, groups)), {"groups": groups}
    selector.cv = 3
    return list((StratifiedKFold if classifier else KFold)(3).split(rows, y)), {}


def frame(random):
    """Strings and numbers."""
    columns = {
        f"c{j}": random.choice(["a", "b", "c"], ROWS)
        if random.random() < 0.4
        else random.standard_normal(ROWS)
        for j in range(random.integers(3, 6))
    }
    columns |= {"t": random.choice(["u", "v"], ROWS), "z": random.standard_normal(ROWS)}
    X = pd.DataFrame(columns)
    return X, X["z"].to_numpy() + 2.0 * (X["t"] == "u").to_numpy()


def numbers(random):
    """Half of the numbers zero, dense in both orders or in a sparse form."""
    X = random.standard_normal((ROWS, random.integers(3, 8)))
    X *= random.random(X.shape) < 0.5
    signal = 2.0 * X[:, 0] + X[:, 1] * X[:, 2]
    form = random.choice(["C", "F", *FORMS])
    if form == "F":
        return np.asfortranarray(X), signal
    return (X if form == "C" else getattr(sparse, form)(X)), signal


OTHERS = [0, 2, *range(7, 16)]  # the first two take long


def settings(seed):
    """A selector, X, y, splits, weights and what `fit` gets, all drawn."""
    random = np.random.default_rng(seed)
    classifier, framed = random.random() < 0.5, random.random() < 0.3
    X, y = frame(random) if framed else numbers(random)
    y = y + 0.2 * random.standard_normal(ROWS)
    if classifier:
        y = np.digitize(y, np.quantile(y, [0.35, 0.7]))
        y = (y > 0) if random.random() < 0.3 else np.array(["no", "yes", "may"])[y]
    elif not framed and random.random() < 0.3:
        y = np.column_stack([y, random.standard_normal(ROWS)])
    linear = LogisticRegression() if classifier else Ridge()
    weights = random.integers(0, 3, ROWS) * 1.0 if random.random() < 0.4 else None
    measures = [
        SensitivityImportance(contrast="observed", scale=None),
        SensitivityImportance(contrast="range", scale=None),
        PartialDependenceImportance(statistic="std"),
    ]
    if y.ndim == 1:
        measures.append(PermutationImportance(n_draws=4, random_state=0))
    if framed:
        weights = None
        encoded = make_column_transformer(
            (
                OneHotEncoder(handle_unknown="ignore"),
                make_column_selector(dtype_exclude="number"),
            ),
            (StandardScaler(), make_column_selector(dtype_include="number")),
        )
        estimator = make_pipeline(encoded, linear)
        if random.random() < 0.4:
            X = pl.from_pandas(X)
            estimator = make_pipeline(OneHotEncoder(handle_unknown="ignore"), linear)
    elif random.random() < 0.5:
        estimator = linear
        measures.append(CoefficientImportance(statistic="absolute"))
    else:
        estimator = DecisionTreeRegressor(random_state=0)
        if classifier:
            forest = RandomForestClassifier(3, random_state=0)
            estimator = random.choice([forest, DecisionTreeClassifier(random_state=0)])
        measures.append(ImpurityImportance(convention="sklearn"))
    scorings = ["balanced_accuracy"] if classifier else ["neg_mean_squared_error", "r2"]
    kind = random.choice([BackwardEliminationSelector, ForwardSelector])
    step = int(random.integers(1, 4)), float(random.choice([0.1, 0.3, 0.9]))
    selector = kind(
        estimator,
        random.choice(measures),
        performance_threshold=float(random.choice([0.0, 0.5, 0.95, 1.0])),
        importance_threshold=float(random.choice([0.0, 1e-6, 0.1, 0.5])),
        step=step[random.integers(2)],
        min_features_to_select=int(random.integers(1, X.shape[1] + 1)),
        scoring=random.choice([None, *scorings]),
        random_state=int(random.integers(100)),
    )
    splits, given = splits_of(random, selector, y)
    if weights is not None:
        given["sample_weight"] = weights
    return selector, X, y, splits, weights, given


@pytest.mark.filterwarnings("ignore:.*groups parameter is ignored:UserWarning")
@pytest.mark.filterwarnings("ignore:y_pred contains classes:UserWarning")
@pytest.mark.filterwarnings("ignore:The .* rows count for no more than")
@pytest.mark.parametrize(
    "seed",
    [1, 3, 4, 5, 6, *(pytest.param(s, marks=pytest.mark.thorough) for s in OTHERS)],
)
def test_selectors_follow_the_procedure(seed):
    """The same subsets, scores and choice as the steps written down."""
    selector, X, y, splits, weights, given = settings(seed)
    selector.fit(X, y, **given)
    measure = clone(selector.measure)
    path, kept = literal_path(selector, measure, X, y, splits, weights)
    assert selector.path_["n_features"] == [len(columns) for columns, _ in path]
    np.testing.assert_allclose(selector.path_["score"], [s for _, s in path], 1e-7)
    assert selector.get_support(indices=True).tolist() == kept
    assert selector.transform(X).shape == (ROWS, len(kept))
    assert len(selector.predict(X)) == ROWS
