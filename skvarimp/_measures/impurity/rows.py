"""What splits earn: on the rows that trees were grown on, or on other rows."""

import numpy as np
from sklearn.utils.validation import validate_data

from skvarimp._data.statistics import divided
from skvarimp._data.validation import check_target, check_weights, numeric_target
from skvarimp._measures.behind_transformers import set_columns
from skvarimp._measures.impurity.criteria import (
    CLASS_CRITERIA,
    TreeLoss,
    make_criterion,
)
from skvarimp._measures.impurity.loss_decrease import RowsInTrees
from skvarimp._measures.impurity.readers import (
    READERS,
    AdaBoost,
    Bagging,
    Forest,
    SingleTree,
    each_ensemble,
    read_trees,
)
from skvarimp._measures.impurity.search import (
    Rules,
    SplitRecords,
    batches,
    search_batch,
)
from skvarimp._measures.impurity.tree_batch import SortedColumns
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import as_columns, class_lists, positions, where_codes
from skvarimp._models.model import Model, is_classifier, names_in, target_names
from skvarimp._models.readers import sklearn_trees
from skvarimp._models.registry import read, reader_of
from skvarimp._running.guards import warn
from skvarimp._running.tasks import Progress, in_order


def fit_training_rows(measure, estimator, X, y, sample_weight, tree_weights):
    """Fit a measure on the rows that the trees were grown on."""
    if measure.keep_rows:
        raise ValueError(
            "keep_rows=True needs rows='oob' or rows='unseen': on the training "
            "rows the trees' own numbers are read, not rows."
        )
    outputs = each_ensemble(estimator, y)
    if len(outputs) > 1 and measure.surrogates:
        raise ValueError(
            f"{type(estimator).__name__} has trees of its own for each output, and so "
            "have their surrogates: pass one of its `estimators_` at a time."
        )
    labels, table = set_columns(measure, estimator, X)
    more = sample_weight, tree_weights, len(labels)
    tallies = [_tallied(measure, *output, table, *more) for output in outputs]
    importances = np.column_stack([tally.importances() for tally in tallies])
    names = target_names(len(outputs), names_in(y))
    measure._store(importances, labels, ["y"] if len(outputs) == 1 else names)
    tally = tallies[0]
    if tally.records is not None:
        measure.association_ = tally.associations()
        measure.surrogate_splits_ = tally.records.records


def _tallied(measure, estimator, y, table, sample_weight, tree_weights, n_features):
    """What the splits of a tree or ensemble took away."""
    trees = read_trees(estimator)
    weights = check_tree_weights(tree_weights, trees)
    criterion, rules = _plan(measure, trees)
    tally = Tally(measure.convention, trees, weights, n_features, rules is not None)
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
        _search(measure, criterion, rules, tally, training)
    return tally


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
    tables = tally.trees.tables
    columns = SortedColumns(tally.trees.matrix(training[0]), tally.trees.nominal)
    trainings = tally.trees.trainings(*training)
    with Progress([measure], len(tables)) as progress, progress.until_interrupted():
        results = in_order(
            search_batch,
            batches(tables, trainings, len(columns)),
            (columns, criterion, rules),
            measure.n_jobs,
        )
        for _, batch in results:
            for one_tree in batch:
                tally.add(*one_tree)
            if progress.step(len(batch)):
                break
    if tally.n_trees < len(tables):
        warn(
            f"ImpurityImportance was stopped after {tally.n_trees} of {len(tables)} "
            "trees; the average is over those."
        )


class Tally:
    """Importances as weighted averages over trees, by one of the conventions.

    Parameters
    ----------
    convention : {"matlab", "rpart", "sklearn"}
    trees : TreeReader
    weights : ndarray of shape (n_trees,)
        The trees' weights in the average.
    n_features : int
    record : bool
        Whether to average associations, and to keep surrogates.
    """

    def __init__(self, convention, trees, weights, n_features, record):
        self.convention, self.trees, self.weights = convention, trees, weights
        self.skips_stumpless = trees.averaging in ("forest", "boosting")
        self.n_trees, self.weight, self.sum = 0, 0.0, np.zeros(n_features)
        self.association = self.records = None
        if record:
            self.n_splits = np.zeros(n_features, dtype=np.intp)
            self.association = np.zeros((n_features, n_features))
            self.records = SplitRecords(trees.tables, n_features)

    def add(self, decrease, found=None):
        """Add the next tree.

        Parameters
        ----------
        decrease : ndarray of shape (n_nodes,)
            Of weight times impurity, by each primary split.
        found : dict of ndarray, default=None
            The kept surrogates, see `find_surrogates`.
        """
        t, n_features = self.n_trees, len(self.sum)
        table, weight = self.trees.tables[t], self.weights[t]
        self.n_trees += 1
        branch = ~table.is_leaf
        # No split adds impurity; a decrease of 0 may come out below it by rounding.
        decrease = np.maximum(decrease[branch], 0)
        # bincount of nothing makes integers
        total = np.bincount(table.column[branch], decrease, n_features).astype(float)
        if found is not None:
            decrease = np.maximum(found["decrease"], 0)
            total += np.bincount(found["feature"], decrease, n_features)
            self._associate(table, weight, found)
            self.records.add(found)
        n_branches = np.count_nonzero(branch)
        if self.convention == "sklearn":
            if not n_branches and self.skips_stumpless:
                return
            total /= table.weight[0]
            if self.trees.averaging != "boosting":
                total = divided(total, total.sum())
        elif self.convention == "matlab":
            total /= table.weight[0] * max(n_branches, 1)
        self.sum += weight * total
        self.weight += weight

    def _associate(self, table, weight, found):
        """Add the associations of one tree with its kept surrogates."""
        n_splits = np.bincount(table.column[~table.is_leaf], minlength=len(self.sum))
        self.n_splits += n_splits
        primary = table.column[found["node"]]
        share = weight * found["association"] / n_splits[primary]
        place = primary.astype(np.intp) * len(self.sum) + found["feature"]
        np.add.at(self.association.reshape(-1), place, share)

    def importances(self):
        """The average over the trees added, (n_features,)."""
        mean = divided(self.sum, self.weight)
        if self.convention == "sklearn" and self.skips_stumpless:
            return divided(mean, mean.sum())
        return mean

    def associations(self):
        """The predictive measure averaged over trees, (n_features, n_features).

        Feature (i, j) of a tree: the sum of the positive associations of the best
        surrogate splits on j at optimal splits on i, divided by the number of optimal
        splits on i; the identity's row where the tree has none.

        Rows of columns without splits are not touched: of very many columns, they stay
        memory that was asked for but never filled.
        """
        split, weight = np.flatnonzero(self.n_splits), self.weights[: self.n_trees]
        self.association[split] = divided(self.association[split], weight.sum())
        np.fill_diagonal(self.association, 1.0)
        return self.association


def check_tree_weights(tree_weights, trees):
    """The ensemble's own weights of its trees, or those given."""
    n_trees = len(trees.tables)
    if tree_weights is None:
        return trees.weights
    weights = check_weights(tree_weights, n_trees, "tree_weights", "tree")
    if not weights.any():
        raise ValueError("`tree_weights` must be non-negative and not all 0.")
    return weights


def judging_criterion(measure, trees):
    """The criterion that judges splits; ValueError where it cannot judge the trees'."""
    name = trees.criterion if measure.criterion == "auto" else measure.criterion
    owner = type(trees.estimator).__name__
    if name and (name in CLASS_CRITERIA) != (trees.n_classes is not None):
        kind, use = ("classes", "gini") if trees.n_classes else ("numbers", "mse")
        raise ValueError(
            f"criterion={name!r} does not apply to {owner}, whose trees are grown "
            f"on {kind}. Use criterion='auto' or {use!r}."
        )
    if not trees.knows_target:
        raise ValueError(
            f"{owner} did not keep the gradients or random targets that its trees were "
            "grown on, by which splits are judged. Use criterion='auto', and for "
            "surrogates convention='rpart', where they earn a share of the primary "
            "split's decrease."
        )
    if name is None:
        raise ValueError(
            f"{owner} was grown by a criterion of its own, which cannot judge "
            "surrogate splits. Name one with `criterion`, or use convention='rpart'."
        )
    return make_criterion(name, trees.n_classes)


def check_training_data(trees, table, y, sample_weight):
    """Rows, y and weights for the search; raises where they cannot be right."""
    if table is None:
        raise ValueError(
            "X is needed for surrogates, and for another criterion than the trees' "
            "own, got None. Pass the X and y the estimator was fitted with."
        )
    validate_data(trees.estimator, table.native, reset=False, skip_check_array=True)
    y = check_target(y, table.n_samples)
    return table, y, check_weights(sample_weight, table.n_samples)


def check_training_only(measure, tree_weights):
    """Raise where a parameter is set that means something on training rows only."""
    names = ("criterion", "surrogates", "convention", "surrogate_cuts")
    usual = type(measure)  # whose attributes are the defaults
    changed = [n for n in names if getattr(measure, n) != getattr(usual, n)]
    if tree_weights is not None:
        changed.append("tree_weights")
    if changed:
        raise ValueError(
            f"`{changed[0]}` is for rows='training'; with rows={measure.rows!r} splits "
            "earn in the units of the model's own loss. Leave it out."
        )


LIBRARIES = ("xgboost", "lightgbm", "catboost")


def earns(estimator):
    """Whether the splits of an (unfitted) estimator can earn on other rows."""
    reader = reader_of(estimator)
    known = type(estimator) in READERS
    return reader is not None and (known or reader.startswith(LIBRARIES))


def rows_in_trees(estimator, table, y, weights):
    """`RowsInTrees` of rows with positive weights, or an error that says what is wrong.

    Parameters
    ----------
    estimator : estimator
    table : Table
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
    """
    try:
        form = _read(estimator, table)
        if any(tree.weight is None for tree in form.trees):
            raise NotReadable("it does not say how many rows its leaves were grown on")
        loss = None if form.stages is None else TreeLoss(*form.loss)
        in_shares = loss is not None and loss.gives_shares
        target, outputs = _target(estimator, form, as_columns(y), in_shares)
        return RowsInTrees(form, loss, table, target, outputs, weights)
    except NotReadable as reason:
        raise ValueError(
            f"The splits of this {type(estimator).__name__} cannot earn: {reason}. Use "
            "PermutationImportance, which asks the model itself."
        ) from None


def _read(estimator, table):
    reader, method = READERS.get(type(estimator)), None
    if reader is Bagging:
        read_trees(estimator)  # refuses other members than trees
    if reader is AdaBoost:
        classifier = is_classifier(estimator)
        method = "decision_function" if classifier else sklearn_trees.MEAN
    elif reader in (SingleTree, Forest, Bagging) and is_classifier(estimator):
        method = sklearn_trees.VOTES
    if method is not None:
        return sklearn_trees.read_trees(estimator, method)
    return read(Model(estimator), table)


def _target(estimator, form, y, in_shares):
    """y as the loss takes it, (n_raw, n_rows), and the raw outputs of each output."""
    n_columns, n_raw = y.shape[1], form.n_raw
    sizes = [1] * n_columns
    if in_shares:
        if y.dtype.kind not in "fiub" or not np.all((y >= 0) & (y <= 1)):
            raise ValueError(
                "y must hold shares between 0 and 1 for a model that was fitted by "
                "cross-entropy. Pass the shares of the rows of X."
            )
    elif is_classifier(estimator):
        classes = class_lists(estimator.classes_)
        if len(classes) == n_columns:
            y, sizes = positions(y, classes), [len(labels) for labels in classes]
    elif n_columns == 1 < n_raw:  # a library's own model of several classes
        y, sizes = y.astype(np.intp), [n_raw]
    if sum(sizes) != n_raw:  # one score of two classes each
        sizes = [1] * n_columns
    elif sum(sizes) > n_columns:
        y = where_codes(y, map(np.arange, sizes))
    if sum(sizes) != n_raw:
        raise ValueError(
            f"y has {n_columns} columns, but {type(estimator).__name__} was fitted "
            f"with another number: it has {n_raw} raw outputs."
        )
    outputs = np.split(np.arange(n_raw), np.cumsum(sizes)[:-1])
    y = numeric_target(y, "Pass the y that the trees predict.")
    return np.ascontiguousarray(y.T), outputs


def out_of_bag_rows(estimator, table, y, sample_weight, kept):
    """Rows that each tree of a forest or bagging was not grown on.

    Parameters
    ----------
    estimator : estimator
    table, y, sample_weight
        As they were given.
    kept : ndarray of shape (n_samples,)
        Which rows have positive weight.

    Returns
    -------
    list of ndarray of shape (n,)
        Positions among the rows of positive weight.
    """
    if reason := not_bagged(estimator):
        raise ValueError(f"{reason}. Use rows='unseen' with rows that were held out.")
    trees = read_trees(estimator)
    trainings = trees.trainings(*check_training_data(trees, table, y, sample_weight))
    position = np.cumsum(kept) - 1
    outside = [position[(training.weight == 0) & kept] for training in trainings]
    if not any(len(out) for out in outside):
        raise ValueError(
            "rows='oob' needs trees with out-of-bag rows; no tree has. Grow the "
            "ensemble with a smaller max_samples."
        )
    return outside


def not_bagged(estimator):
    """Why an (unfitted) estimator has no out-of-bag rows, or None."""
    name, reader = type(estimator).__name__, READERS.get(type(estimator))
    if reader not in (Forest, Bagging):
        return f"rows='oob' needs a forest or bagging of trees, got {name}"
    draws_parts = reader is Bagging and estimator.max_samples not in (None, 1.0)
    if not estimator.bootstrap and not draws_parts:
        return (
            f"rows='oob' needs bootstrap=True, but every tree of this {name} saw all "
            "rows"
        )
    return None
