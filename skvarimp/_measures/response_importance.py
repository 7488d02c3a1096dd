"""Importances that watch the response as entries move: any values, or some of them.

`ConditionalImportance` may restrict the values of a row to those of its own part.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from sklearn.tree import BaseDecisionTree

from skvarimp._data.base_table import Table
from skvarimp._data.entries import check_known, resolve_columns
from skvarimp._data.rows_apart import as_rows
from skvarimp._data.validation import CONSTRAINTS, StrOptions, is_dask
from skvarimp._data.values import factorized, numbers_if_possible
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.problem import Request, make_problem
from skvarimp._measures.rows import Rows, store_rows
from skvarimp._measures.subgroup_trees import (
    Predictors,
    explained,
    parts_by_given_tree,
    parts_by_tree,
    target_of,
)
from skvarimp._response.grid import is_categorical
from skvarimp._response.sampling import entry_seeds
from skvarimp._response.subgroups import Subgroups
from skvarimp._running.guards import warn
from skvarimp._running.tasks import Progress, in_order, within_callbacks


class ResponseImportance(BaseImportance):
    """An importance that watches the response as one entry moves.

    A subclass says in `_plan` which reductions it needs, and turns their outcomes
    into its attributes in `_conclude`. Several measures share one walk, see
    `fit_together`.
    """

    def _fit(self, estimator, X, y, sample_weight):
        fit_together([self], estimator, X, y, sample_weight)

    def _plan(self, problem, entries):
        """The `Plan` of a fit; raises on bad input, before any work."""
        raise NotImplementedError

    def _cheapest(self, plan):
        """The estimation of a plan that leaves it open, by what exact numbers cost."""
        raise NotImplementedError

    def _conclude(self, plan, outcomes):
        """Set the fitted attributes from the outcomes of the plan's reductions.

        They are None for a plan that did not share the walk.
        """
        raise NotImplementedError

    def _categorical(self, problem):
        given, table = getattr(self, "categorical_features", None), problem.table
        return resolve_columns(given, table.names, table.n_columns)

    def _store_outcome(self, plan, outcome, output_names=None):
        """Set what all measures share, and numbers of single rows with `keep_rows`."""
        errors = [
            None if of_kind is None or np.all(np.isnan(of_kind)) else of_kind
            for of_kind in (outcome.standard_errors, outcome.errors_per_output)
        ]
        names = [entry.name for entry in plan.entries]
        output_names = output_names or plan.problem.model.output_names
        units = plan.problem.units
        self._store(
            outcome.importances, names, output_names, *errors, units, outcome.skewness
        )
        if not getattr(self, "keep_rows", False):
            return
        problem, influences = plan.problem, outcome.influences
        if influences is None:  # stopped before the first entry
            influences = np.full((len(problem.weights), len(plan.entries)), np.nan)
        store_rows(self, Rows.of(problem, influences, outcome.contributions))


class ConditionalImportance(ResponseImportance):
    """An importance whose donors may be restricted by `conditional`.

    Attributes
    ----------
    subgroups_ : dict or None
        Entry name -> the part of each row, (n_samples,); -1 for rows with zero weight.
    explained_ : ndarray of shape (n_entries,) or None
        Share of each entry's variance that lies between the parts.
    """

    _shared_constraints = CONSTRAINTS | {
        "conditional": [
            StrOptions({"subgroups"}),
            BaseDecisionTree,
            dict,
            "array-like",
            None,
        ]
    }

    def _grid_in_parts(self, problem, entries, grid):
        """The grid within the parts that `conditional` asks for; sets the attributes.

        Parameters
        ----------
        problem : Problem
        entries : list of Entry
        grid : str, int, array-like or dict
            A string or a number where `conditional` is not None.
        """
        self.subgroups_ = self.explained_ = None
        if self.conditional is None:
            return grid
        problem.in_one_place("`conditional`")
        if not isinstance(grid, str | int):
            raise ValueError(
                "`conditional` takes values from the rows of a part, but `grid` gives "
                "values of its own. Use grid='all' or another named grid."
            )
        if isinstance(self.conditional, str | BaseDecisionTree):
            given = Predictors.of(problem.table, problem.weights)
        else:
            given = self._labels(problem, entries)
        seeds = np.zeros(len(entries), dtype=np.int64)
        if self.random_state is not None:
            seeds = entry_seeds(self.random_state, len(entries)) % 2**31
        arguments = problem, self.conditional, given, self._categorical(problem)
        tasks = list(zip(entries, seeds.tolist()))
        fitted = in_order(_fitted, tasks, arguments, self.n_jobs, prefer="threads")
        parts, self.subgroups_, shares = {}, {}, []
        for (entry, _), (of_entry, share) in fitted:
            parts[entry] = of_entry
            every = np.full(len(problem.kept), -1)
            every[problem.kept] = of_entry
            self.subgroups_[entry.name] = every
            shares.append(share)
        self.explained_ = np.array(shares)
        return Subgroups(grid, parts)

    def _draw_donors(self, plan, draw, scale):
        """The `Outcome` of drawn donors, for which the model itself is asked."""
        problem = plan.problem
        self.response_path_ = problem.drawing().path
        return problem.drawn(plan.entries, plan.request, draw, scale, self)

    def _labels(self, problem, entries):
        """Entry name -> the part of each row, as the user's labels say."""
        given, names = self.conditional, [entry.name for entry in entries]
        if not isinstance(given, Mapping):
            return dict.fromkeys(names, _codes(given, problem.kept, "`conditional`"))
        for name in given:
            check_known(name, names, "conditional")
        return {
            name: _codes(labels, problem.kept, f"`conditional` of {name!r}")
            for name, labels in given.items()
        }

    def _further_columns(self):
        shares = getattr(self, "explained_", None)
        return {} if shares is None else {"explained": shares}


def fit_together(measures, estimator, X, y=None, sample_weight=None):
    """Fit engine measures on one model and data, in as few walks as they allow.

    Measures that watch the same response of the same entries share one walk.
    """
    for measure in measures:
        if is_dask(X) and not measure._passes_over_partitions:
            raise TypeError(
                f"{type(measure).__name__} needs all rows in one place, got X in the "
                "partitions of a Dask collection. Pass X.compute()."
            )
    rows = as_rows(X, y, sample_weight)
    in_memory = isinstance(rows, Table)
    table = rows if in_memory else rows.head.table
    entries = [m._set_entries(table, m.features, estimator) for m in measures]
    if in_memory:
        make = partial(make_problem, estimator, table, y, sample_weight)
    else:
        make = partial(rows.problem, estimator, entries[0])
    methods = dict.fromkeys(m.response_method for m in measures)
    problems = {method: make(method) for method in methods}
    shared = {}
    for measure, of_measure in zip(measures, entries):
        problem = problems[measure.response_method]
        if getattr(measure, "keep_rows", False):
            problem.in_one_place("keep_rows=True")
        plan = measure._plan(problem, of_measure)
        if plan.request is not None:  # read and probe the model, once
            problem.response(of_measure)
        if plan.estimation == "auto":
            plan.estimation = measure._cheapest(plan)
        key = measure.response_method, tuple(of_measure)
        shared.setdefault(key, []).append((measure, plan))
    within_callbacks(measures, lambda: [_carry_out(pairs) for pairs in shared.values()])


def _carry_out(pairs):
    """Walk once for measures of the same response and entries, and conclude."""
    walking = [pair for pair in pairs if pair[1].walks]
    found = _walked(*zip(*walking)) if walking else []
    outcomes = {id(plan): outcome for (_, plan), outcome in zip(walking, found)}
    for measure, plan in pairs:
        if plan.estimation:
            measure.estimation_ = plan.estimation
        if plan.request:
            measure.response_path_ = plan.problem.response(plan.entries).path
        measure._watched = plan.problem.model.method
        measure._conclude(plan, outcomes.get(id(plan)))
        warn_stopped(measure)


def _walked(measures, plans):
    """The outcomes of each plan; curves of requests over one grid are formed once."""
    merged, places = {}, []
    for request in (plan.request for plan in plans):
        plain = isinstance(request.grid, str | int)
        grid = request.grid if plain else id(request.grid)
        key = plain, grid, request.categorical
        empty = Request(request.grid, [], [], request.categorical)
        to = merged.setdefault(key, empty)
        first = len(to.reductions)
        to.reductions.extend(request.reductions)
        to.scales.extend(request.scales)
        places.append((key, slice(first, len(to.reductions))))
    problem, entries = plans[0].problem, plans[0].entries
    keep_rows = any(getattr(m, "keep_rows", False) for m in measures)
    how = keep_rows, max((m.n_jobs for m in measures), key=effective_n_jobs)
    with Progress(measures, len(entries) * len(merged)) as progress:
        found = problem.run(entries, list(merged.values()), *how, progress)
    found = dict(zip(merged, found))
    return [found[key][reductions] for key, reductions in places]


def warn_stopped(measure, missing=None):
    """Say so where a stop left entries, those that are NaN, without importance."""
    missing = int(np.isnan(measure.importances_).sum()) if missing is None else missing
    if missing:
        warn(
            f"{type(measure).__name__} was stopped: {missing} of "
            f"{len(measure.importances_)} entries have no importance (NaN)."
        )


def _fitted(task, problem, tree, given, categorical):
    """(part of each row, share of the variance between the parts) of an entry.

    From the `Predictors` of a tree, or from labels.
    """
    (entry, seed), table, weights = task, problem.table, problem.weights
    target = target_of(table, entry, weights, categorical)
    how = weights, problem.total_weight, seed
    if isinstance(tree, str):
        parts = parts_by_tree(given, entry, target, *how)
    elif isinstance(tree, BaseDecisionTree):
        codes = None
        if is_categorical(table, entry, categorical):
            codes = table.factorize(entry.columns)[0]
        parts = parts_by_given_tree(tree, given, entry, target, codes, *how)
    else:  # all rows are one part for an entry without labels
        parts = given.get(entry.name, np.zeros(table.n_samples, dtype=np.intp))
    return parts, explained(target, parts, weights)


def _codes(labels, kept, name):
    """Numbers of the labels of the rows of positive weight."""
    labels = np.asarray(labels)
    if labels.shape != kept.shape:
        raise ValueError(
            f"{name} must hold one label per row of X, shape {kept.shape}, got shape "
            f"{labels.shape}."
        )
    return factorized(numbers_if_possible(labels[kept]))[0]
