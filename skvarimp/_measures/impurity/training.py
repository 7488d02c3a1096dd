"""`ImpurityImportance` on the rows that the trees were grown on."""

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.entries import column_names
from skvarimp._data.table import as_table
from skvarimp._measures.impurity.checks import (
    check_criterion,
    check_training_data,
    check_tree_weights,
    known_criterion,
)
from skvarimp._measures.impurity.credit import Tally
from skvarimp._measures.impurity.registry import read_trees
from skvarimp._measures.impurity.search import Findings, Plan, batches, search_batch
from skvarimp._measures.impurity.surrogates.levels import SortedColumns
from skvarimp._measures.impurity.surrogates.splits import Rules
from skvarimp._response.engine import in_order
from skvarimp._running.progress import Progress, within_callbacks
from skvarimp._running.warn import warn


def fit_training_rows(measure, estimator, X, y, sample_weight, tree_weights):
    """Fit a measure on the rows that the trees were grown on."""
    if measure.keep_rows:
        raise ValueError(
            "keep_rows=True needs rows='oob' or rows='unseen': on the training "
            "rows the trees' own numbers are read, not rows."
        )
    trees = read_trees(estimator)
    table = _set_columns(measure, estimator, X)
    weights = check_tree_weights(tree_weights, trees)
    plan = _plan(measure, trees)
    tally = Tally(
        measure.convention,
        trees,
        weights,
        measure.n_features_in_,
        record=plan is not None and plan.rules is not None,
    )
    if plan is None:
        for tree in trees.tables:
            tally.add(Findings(tree.decrease))
    else:
        training = check_training_data(trees, table, y, sample_weight)
        within_callbacks(
            [measure], lambda: _search(measure, plan, trees, tally, training)
        )
    names = getattr(measure, "feature_names_in_", None)
    measure._store(
        tally.credit.importances()[:, np.newaxis],
        column_names(names, measure.n_features_in_),
        ["y"],
    )
    if tally.records is not None:
        measure.association_ = tally.association.finish()
        measure.surrogate_splits_ = tally.records.records


def _set_columns(measure, estimator, X):
    """Set what is known about the columns; X as a table, or None."""
    names = getattr(estimator, "feature_names_in_", None)
    if X is None:
        measure._set_input(estimator.n_features_in_, names)
        return None
    table = as_table(X)
    measure._set_entries(table, None, estimator)
    if table.names is None:
        measure._set_input(estimator.n_features_in_, names)
    return table


def _plan(measure, trees):
    """What to compute from the training data; None where nothing is needed."""
    own = measure.criterion in ("auto", trees.criterion)
    if not own:
        check_criterion(measure.criterion, trees)
    if own and not measure.surrogates:
        return None
    criterion = rules = None
    own_credit = measure.convention != "rpart"  # surrogates earn by their own split
    if not own or own_credit:
        name = trees.criterion if measure.criterion == "auto" else measure.criterion
        criterion = known_criterion(name, trees)
    if measure.surrogates:
        boundary = measure.surrogate_cuts == "class_boundary"
        if boundary and (trees.n_classes is None or not trees.knows_target):
            raise ValueError(
                "surrogate_cuts='class_boundary' needs classification trees; those "
                f"of {type(trees.estimator).__name__} are grown on numbers. Use "
                "surrogate_cuts='all'."
            )
        every = isinstance(measure.surrogates, bool | np.bool_)
        rules = Rules(
            n_kept=None if every else min(measure.surrogates, measure.n_features_in_),
            min_rows=1 if own_credit else 2,
            class_boundary=boundary,
            criterion=criterion if own_credit else None,
        )
    return Plan(criterion, own, rules, compiled=use_compiled())


def _search(measure, plan, trees, tally, training):
    """Add every tree to the tally, in batches through joblib."""
    rows, y, sample_weight = training
    columns = SortedColumns(rows.matrix, rows.nominal)
    with_target = plan.with_target or (y is not None and trees.knows_target)
    trainings = trees.trainings(rows, y, sample_weight, with_target)
    tasks = batches(trees.tables, trainings, len(columns))
    with Progress([measure], len(trees.tables)) as progress:
        results = in_order(
            search_batch,
            tasks,
            (columns, plan),
            measure.n_jobs,
            prefer="threads" if plan.compiled else None,
        )
        for _, of_batch in results:
            for findings in of_batch:
                tally.add(findings)
            stop = progress.step(len(of_batch))
            if stop and tally.n_trees < len(trees.tables):
                warn(
                    f"A callback stopped ImpurityImportance after {tally.n_trees} "
                    f"of {len(trees.tables)} trees; the average is over those."
                )
                break
