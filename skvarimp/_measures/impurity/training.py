"""`ImpurityImportance` on the rows that the trees were grown on."""

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._measures.behind_steps import set_columns
from skvarimp._measures.impurity.checks import (
    check_training_data,
    check_tree_weights,
    judging_criterion,
)
from skvarimp._measures.impurity.credit import Tally
from skvarimp._measures.impurity.registry import read_trees
from skvarimp._measures.impurity.search import batches, search_batch
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
    labels, table = set_columns(measure, estimator, X)
    weights = check_tree_weights(tree_weights, trees)
    criterion, rules = _plan(measure, trees)
    given = trees, weights, len(labels), rules is not None
    tally = Tally(measure.convention, *given)
    if criterion is None and rules is None:
        for tree in trees.tables:
            tally.add(tree.decrease)
    else:
        training = check_training_data(trees, table, y, sample_weight)
        if y is None and (criterion or rules.class_boundary):
            raise ValueError(
                "y is needed for the impurity of other splits than the trees' own, got "
                "None. Pass the y the estimator was fitted with."
            )
        within_callbacks(
            [measure], lambda: _search(measure, criterion, rules, tally, training)
        )
    measure._store(tally.importances()[:, np.newaxis], labels, ["y"])
    if tally.records is not None:
        measure.association_ = tally.association.finish()
        measure.surrogate_splits_ = tally.records.records


def _plan(measure, trees):
    """The criterion that judges splits anew, and the rules for surrogates, or None."""
    own = measure.criterion in ("auto", trees.criterion)
    rpart = measure.convention == "rpart"  # where surrogates need no criterion
    criterion = rules = None
    if not own or (measure.surrogates and not rpart):
        criterion = judging_criterion(measure, trees)
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
            min_rows=2 if rpart else 1,
            class_boundary=boundary,
            criterion=None if rpart else criterion,
        )
    return criterion, rules


def _search(measure, criterion, rules, tally, training):
    """Add every tree to the tally, in batches through joblib."""
    rows, y, sample_weight = training
    tables, compiled = tally.trees.tables, use_compiled()
    columns = SortedColumns(rows.matrix, rows.nominal)
    trainings = tally.trees.trainings(rows, y, sample_weight)
    with Progress([measure], len(tables)) as progress:
        results = in_order(
            search_batch,
            batches(tables, trainings, len(columns)),
            (columns, criterion, rules, compiled),
            measure.n_jobs,
            prefer="threads" if compiled else None,
        )
        for _, of_batch in results:
            for of_tree in of_batch:
                tally.add(*of_tree)
            stop = progress.step(len(of_batch))
            if stop and tally.n_trees < len(tables):
                warn(
                    f"A callback stopped ImpurityImportance after {tally.n_trees} "
                    f"of {len(tables)} trees; the average is over those."
                )
                break
