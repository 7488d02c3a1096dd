"""Permutation importance of a forest, tree by tree over its out-of-bag rows."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._measures.impurity.readers import READERS, read_trees
from skvarimp._measures.losses import make_loss
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import positions
from skvarimp._models.readers.sklearn_trees import n_training_rows
from skvarimp._models.registry import read
from skvarimp._models.trees import Trees
from skvarimp._response.drawing import StrataDraws
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import Effort, feature_seeds
from skvarimp._response.rows import RowOrder
from skvarimp._response.walk import run_walk
from skvarimp._running.guards import warn
from skvarimp._running.tasks import Progress, tasks_done


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
    baseline : float
        Mean unmoved loss over the trees, once there is an `outcome`.
    """

    trees: list
    rows: list
    table: object
    y: np.ndarray
    weights: np.ndarray
    loss: object
    response_method: str
    baseline: float = np.nan

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

    def exact_is_cheap(self, features, n_draws):
        """Whether the exact answer of all trees is cheap, judged by the first."""
        problem, loss = self.problem(0)
        features = [features[e] for e in _split_on(problem, features)]
        kind, n = loss.reduction(relative=False), [len(rows) for rows in self.rows]
        every = np.ones(len(features), dtype=np.intp)
        exact = sum(problem.exact_cost(features, kind, m, m * every) for m in n)
        return exact <= problem.response(features).affordable(
            n_draws * len(features) * sum(n)
        )

    @property
    def name(self):
        """Name of the loss."""
        return self.problem(0)[1].name

    def outcome(self, plan, measure):
        """Mean loss gained over the trees, exact over their donors or from draws.

        Where the fit is stopped, a warning says over how many trees it is the
        mean.
        """
        features, n_trees = plan.features, len(self.trees)
        n_features, seeds = len(features), None
        if plan.estimation == "sampled":
            seeds = feature_seeds(measure.random_state, n_trees * n_features)
            seeds = seeds.reshape(n_trees, n_features)
        gains, noise = np.zeros((2, n_features))
        base_sum, done = 0.0, 0
        influence = np.zeros((n_features, self.table.n_samples))
        of_base = np.zeros(self.table.n_samples)
        given = self, features, seeds, Effort.of(measure).n_draws
        progress = Progress([measure], n_trees)
        results = tasks_done(progress, _gained, range(n_trees), given, measure.n_jobs)
        for t, (used, gain, more, base, path) in results:
            rows, done = self.rows[t], done + 1
            measure.response_path_ = f"out-of-bag, each tree: {path}"
            gains[used] += gain
            share = self.weights[rows] / self.weights[rows].sum()
            mean = base @ share
            base_sum += mean
            # d mean / d weight of a row, times its weight, summed over the trees
            of_base[rows] += share * (base - mean)
            if seeds is None:
                influence[np.ix_(used, rows)] += share * more
            else:
                noise[used] += more**2
        if done < n_trees:
            warn(
                "PermutationImportance was stopped: its importances are means "
                f"over {done} of {n_trees} trees."
            )
        importances, self.baseline = gains / done, base_sum / done
        measure._check_ratio(self.baseline)
        if measure.relative:
            ratio = importances / self.baseline
            importances = 1.0 + ratio
            influence = (influence - ratio[:, np.newaxis] * of_base) / self.baseline
            noise = noise / self.baseline**2
        outcome = Outcome(importances[:, np.newaxis])
        if seeds is None:
            units = plan.problem.units
            errors = units.error_of_sums(units.sums(influence))
            outcome.standard_errors = errors / done
        else:
            outcome.monte_carlo_errors = np.sqrt(noise) / done
        return outcome


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
        raise TypeError("rows='oob' needs numeric columns, as the trees do.")
    table = as_table(numeric)
    position = np.full(len(problem.kept), -1)
    position[problem.kept] = np.arange(table.n_samples)
    in_bag = _in_bag(forest, position)
    if type(forest) in READERS and problem.kept.all():
        ones = np.ones(table.n_samples)
        for _ in read_trees(forest).trainings(table, problem.y, ones):
            pass  # each is checked
    else:
        for tree, rows in zip(forest.estimators_, in_bag):
            _check_same_rows(tree, table, rows)
    everything = np.arange(table.n_samples)
    outside = [np.setdiff1d(everything, rows) for rows in in_bag]
    usable = [t for t, rows in enumerate(outside) if len(rows) > 1]
    if not usable:
        raise ValueError(
            "rows='oob' needs trees with at least two out-of-bag rows; no tree has. "
            "Grow the forest with a smaller max_samples."
        )
    y = problem.y
    if problem.model.classifier:
        if isinstance(loss, str) and loss == "auto":
            loss = "zero_one"  # Breiman's: wrong votes of single trees
        codes = positions(y, problem.model.class_lists).astype(np.float64)
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


def _check_is_bagged(forest):
    name = type(forest).__name__
    grown = hasattr(forest, "estimators_") and hasattr(forest, "estimators_samples_")
    trees = grown and all(hasattr(tree, "tree_") for tree in forest.estimators_)
    if not trees or hasattr(forest, "estimators_features_"):
        raise TypeError(
            f"rows='oob' needs a random forest or extra trees, got {name}. Use "
            "rows='all' with rows that were held out."
        )
    if not forest.bootstrap:
        raise ValueError(
            f"rows='oob' needs a forest grown with bootstrap=True, but this {name} "
            "saw every row in every tree. Use rows='all' with rows that were held "
            "out."
        )


def _in_bag(forest, position):
    """Distinct rows of the table that each tree was grown on."""
    n_trained = n_training_rows(forest)
    if n_trained not in (None, len(position)):
        raise ValueError(
            f"X is not the training data: it has {len(position)} rows, the forest was "
            f"grown on {n_trained}. rows='oob' needs the training rows in order."
        )
    in_bag = [position[np.unique(drawn)] for drawn in forest.estimators_samples_]
    if any(np.any(rows < 0) for rows in in_bag):
        raise ValueError(
            "Rows of weight 0 in `sample_weight` were used to grow the forest. "
            "rows='oob' takes the weights the forest was fitted with, or none."
        )
    return in_bag


def _check_same_rows(tree, table, rows):
    """Each leaf must hold as many of the in-bag rows as when the tree was grown."""
    leaves = tree.apply(table.take(rows).native)
    held = np.bincount(leaves, minlength=tree.tree_.node_count)
    is_leaf = tree.tree_.children_left < 0
    if not np.array_equal(held[is_leaf], tree.tree_.n_node_samples[is_leaf]):
        raise ValueError(
            "X is not the training data: its rows fall into other leaves than those "
            "the trees were grown with. rows='oob' needs the training rows in order."
        )


def _split_on(problem, features):
    """Positions of the features that a tree splits on: no other moves its predictions.

    All of them where the splits are not known, and one where there are none.
    """
    every = list(range(len(features)))
    try:
        form = read(problem.model, problem.table)
    except NotReadable:
        return every
    if not isinstance(form, Trees):
        return every
    columns = set().union(*(tree.column.tolist() for tree in form.trees))
    return [e for e in every if not columns.isdisjoint(features[e].columns)] or [0]


def _gained(t, of, features, seeds, n_draws):
    """What the donors among the out-of-bag rows of a tree say.

    Returns
    -------
    used : list of int
        Positions of the features that were moved; the others gain nothing.
    gains : ndarray of shape (n_used,)
    more : ndarray of shape (n_used, n_rows) or (n_used,)
        Influences of the rows, or of drawn donors the Monte Carlo errors.
    base : ndarray of shape (n_rows,)
        Unmoved loss.
    path : str
    """
    problem, loss = of.problem(t)
    base, one = loss_of_rows(loss, problem.y, problem.base), np.ones(1)
    request = Request("all", [loss.reduction(relative=False)], [one])
    used = _split_on(problem, features)
    features = [features[e] for e in used]
    if seeds is None:
        # one feature per tree is probed, each in its turn: trees are many and alike
        response = problem.response([features[t % len(features)]])
        walk = problem.walk(response, features, [request], keep_rows=True)
        ((outcome,),) = run_walk(walk)
        gains = outcome.importances[:, 0]
        return used, gains, outcome.influences, base, response.path
    response = problem.drawing()
    walk = problem.walk(response, features, [request])
    (reduction,), n_rows = request.reductions, problem.n_rows
    # a seed for each tree and feature, so that no draw depends on the splits
    order = RowOrder.drawn(problem.weights, t, n_rows)
    draws = StrataDraws(walk, reduction, one, seeds[t, used], order)
    every = list(range(len(features)))
    found = draws.draw((every, slice(0, n_rows), 0, n_draws))
    sampled = [draws.finished(e, of_feature) for e, of_feature in zip(every, found)]
    gains = np.array([s.importances[0] for s in sampled])
    errors = np.array([s.monte_carlo_errors for s in sampled])
    return used, gains, errors, base, response.path
