"""Permutation importance of a forest, tree by tree over its out-of-bag rows."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data import labels
from skvarimp._data.table import ArrayTable, SparseTable
from skvarimp._measures.impurity.registry import READERS, read_trees
from skvarimp._measures.impurity.tables import check_training
from skvarimp._measures.permutation_plan import Lost
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models.readers.sklearn_trees import n_training_rows
from skvarimp._response.engine import merged_states
from skvarimp._response.reductions.losses import LossDraw, make_loss, unmoved_loss
from skvarimp._response.sampling import sample_repeats
from skvarimp._running.progress import steps_of
from skvarimp._running.warn import warn


@dataclass
class OutOfBag:
    """The trees of a forest with their out-of-bag rows.

    Attributes
    ----------
    trees : list
        Fitted trees with at least two out-of-bag rows.
    rows : list of ndarray
        Each tree's out-of-bag rows of the table.
    table : Table
        The training rows as numbers.
    y : ndarray of shape (n_samples, ...)
        Labels as the trees know them.
    weights : ndarray of shape (n_samples,)
    loss : str or callable
    response_method : str
    """

    trees: list
    rows: list
    table: object
    y: np.ndarray
    weights: np.ndarray
    loss: object
    response_method: str

    def problem(self, t):
        """The problem of one tree, and its loss."""
        rows = self.rows[t]
        problem = make_problem(
            self.trees[t],
            self.table.take(rows),
            self.y[rows],
            self.weights[rows],
            self.response_method,
        )
        loss = make_loss(self.loss, problem.model, problem.y, len(problem.base))
        return problem, loss

    def evaluations(self, entries):
        """(exact, sampled in one repeat): about the cost of all trees, from the first.

        In calls of a tree for one row.
        """
        problem, _ = self.problem(0)
        response = problem.response(entries)
        n = [len(rows) for rows in self.rows]
        groups = sum(len(entry.columns) > 1 for entry in entries)
        exact = sum(
            (len(entries) - groups) * response.evaluations(m, m)
            + groups * response.evaluations_of_group(m, m)
            for m in n
        )
        return exact, sum(n) * len(entries)


def out_of_bag(problem, loss, response_method):
    """The out-of-bag rows of a problem's forest; raises where there are none.

    Parameters
    ----------
    problem : Problem
    loss : str or callable
    response_method : str

    Returns
    -------
    OutOfBag
    """
    forest = problem.model.estimator
    _check_is_bagged(forest)
    numeric = problem.table.numeric()
    if numeric is None:
        raise TypeError("subset='oob' needs numeric columns, as the trees do.")
    table = (
        ArrayTable(numeric)
        if isinstance(numeric, np.ndarray)
        else SparseTable(numeric.tocsr())
    )
    position = np.full(len(problem.kept), -1)
    position[problem.kept] = np.arange(table.n_samples)
    in_bag = _in_bag(forest, position)
    if type(forest) in READERS and problem.kept.all():
        _check_training(forest, table, problem.y)
    else:
        for tree, rows in zip(forest.estimators_, in_bag):
            _check_same_rows(tree, table, rows)
    everything = np.arange(table.n_samples)
    outside = [np.setdiff1d(everything, rows) for rows in in_bag]
    usable = [t for t, rows in enumerate(outside) if len(rows) > 1]
    if not usable:
        raise ValueError(
            "subset='oob' needs trees with at least two out-of-bag rows; no tree has. "
            "Grow the forest with a smaller max_samples."
        )
    y, loss = problem.y, "zero_one" if _votes(problem.model, loss) else loss
    if problem.model.classifier:
        make_loss(loss, problem.model, y, len(problem.base))  # refuses unknown labels
        codes = labels.positions(y, problem.model.class_lists).astype(np.float64)
        y = codes.reshape(y.shape)
    return OutOfBag(
        [forest.estimators_[t] for t in usable],
        [outside[t] for t in usable],
        table,
        y,
        problem.weights * problem.total_weight,
        loss,
        response_method,
    )


def _votes(model, loss):
    """Breiman's measure for classification: wrong votes of single trees."""
    return model.classifier and isinstance(loss, str) and loss == "auto"


def _check_is_bagged(forest):
    name = type(forest).__name__
    grown = hasattr(forest, "estimators_") and hasattr(forest, "estimators_samples_")
    trees = grown and all(hasattr(tree, "tree_") for tree in forest.estimators_)
    if not trees or hasattr(forest, "estimators_features_"):
        raise TypeError(
            f"subset='oob' needs a random forest or extra trees, got {name}. Use "
            "subset=None with rows that were held out."
        )
    if not forest.bootstrap:
        raise ValueError(
            f"subset='oob' needs a forest grown with bootstrap=True, but this {name} "
            "saw every row in every tree. Use subset=None with rows that were held "
            "out."
        )


def _in_bag(forest, position):
    """Distinct rows of the table that each tree was grown on."""
    n_trained = n_training_rows(forest)
    if n_trained not in (None, len(position)):
        raise ValueError(
            f"X is not the training data: it has {len(position)} rows, the forest was "
            f"grown on {n_trained}. subset='oob' needs the training rows in order."
        )
    in_bag = [position[np.unique(drawn)] for drawn in forest.estimators_samples_]
    if any(np.any(rows < 0) for rows in in_bag):
        raise ValueError(
            "Rows of weight 0 in `sample_weight` were used to grow the forest. "
            "subset='oob' takes the weights the forest was fitted with, or none."
        )
    return in_bag


def _check_training(forest, table, y):
    """Raise unless rows and target are those that the trees were grown with."""
    trees = read_trees(forest)
    trainings = trees.trainings(trees.rows(table), y, None)
    for t, (tree, training) in enumerate(zip(trees.tables, trainings)):
        check_training(tree, training, t)


def _check_same_rows(tree, table, rows):
    """Each leaf must hold as many of the in-bag rows as when the tree was grown."""
    leaves = tree.apply(table.take(rows).native)
    held = np.bincount(leaves, minlength=tree.tree_.node_count)
    is_leaf = tree.tree_.children_left < 0
    if not np.array_equal(held[is_leaf], tree.tree_.n_node_samples[is_leaf]):
        raise ValueError(
            "X is not the training data: its rows fall into other leaves than those "
            "the trees were grown with. subset='oob' needs the training rows in order."
        )


def average_over_trees(of, entries, seeds, measure):
    """Mean loss gained over the trees, exact over their donors or from draws.

    Where a callback stops the fit, a warning says over how many trees it is the mean.

    Parameters
    ----------
    of : OutOfBag
    entries : list of Entry
    seeds : ndarray of shape (n_trees, n_entries) or None
        None: exact.
    measure : PermutationImportance

    Returns
    -------
    Lost
    """
    n_entries, n_samples = len(entries), of.table.n_samples
    gains, noise, baseline, done, path = np.zeros(n_entries), 0.0, 0.0, 0, ""
    influence = np.zeros((n_entries, n_samples))
    of_base = np.zeros(n_samples)
    function, extra = _exact, (of, entries)
    if seeds is not None:
        function, extra = _sampled, (of, entries, seeds, measure.n_repeats)
    n_trees = len(of.trees)
    results = steps_of([measure], function, range(n_trees), extra, measure.n_jobs)
    for t, (gain, more, base, how) in results:
        rows, done, path = of.rows[t], done + 1, f"out-of-bag, each tree: {how}"
        gains += gain
        share = of.weights[rows] / of.weights[rows].sum()
        mean = base @ share
        baseline += mean
        # d mean / d weight of a row, times its weight, summed over the trees
        of_base[rows] += share * (base - mean)
        if seeds is None:
            influence[:, rows] += share * more
        else:
            noise = noise + more**2
    if done < n_trees:
        warn(
            "A callback stopped PermutationImportance: its importances are means over "
            f"{done} of {n_trees} trees."
        )
    gains, baseline = gains / done, baseline / done
    importances = gains
    if measure.relative:
        importances = 1.0 + gains / baseline
        influence = (influence - (importances[:, np.newaxis] - 1) * of_base) / baseline
        noise = noise / baseline**2
    errors = drawn = None
    if seeds is None:
        # a row of integer weight m is m rows, each with 1/m of the influence
        errors = np.sqrt(np.sum(influence**2 / of.weights, axis=1)) / done
    else:
        drawn = np.sqrt(noise) / done
    name = of.problem(0)[1].name
    return Lost(importances, errors, baseline, name, path, drawn)


def _exact(t, of, entries):
    """(gains, influence (n_entries, n_rows), unmoved loss of the rows, path)."""
    problem, loss = of.problem(t)
    reduction, one = loss.reduction(relative=False), np.ones(1)
    # one entry per tree is probed, each in its turn: trees are many and alike
    response = problem.response([entries[t % len(entries)]])
    walk = problem.walk(response, entries, [Request("all", [reduction], [one])])
    gains = np.empty(len(entries))
    influence = np.empty((len(entries), problem.table.n_samples))
    for positions, (state,) in merged_states(walk):
        at = list(positions)
        sample = walk.sample([walk.moves[p] for p in at], one)
        gains[at], influence[at] = reduction.influence(state, sample)
    return gains, influence, unmoved_loss(loss, problem), response.path


def _sampled(t, of, entries, seeds, n_repeats):
    """(gains, Monte Carlo errors, unmoved loss of the rows, path)."""
    problem, loss = of.problem(t)
    draw = LossDraw(loss)
    black_box = problem.drawing()
    request = Request("all", [], [])
    walk = problem.walk(black_box, entries, [request])
    sampled = [
        sample_repeats(e, walk, draw, np.ones(1), n_repeats, seeds[t])
        for e in range(len(entries))
    ]
    gains = np.array([s.importances[0] for s in sampled])
    errors = np.array([s.monte_carlo_error for s in sampled])
    return gains, errors, unmoved_loss(loss, problem), black_box.path
