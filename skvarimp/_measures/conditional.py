"""`conditional=`: entries move among rows of their own part only."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from sklearn.tree import BaseDecisionTree

from skvarimp._data.subgroup_trees import (
    Predictors,
    explained,
    parts_by_given_tree,
    parts_by_tree,
    target_of,
)
from skvarimp._data.validation import StrOptions
from skvarimp._data.values import factorized, numbers_if_possible
from skvarimp._measures.response_importance import ResponseImportance
from skvarimp._response.engine import Outcome
from skvarimp._response.grid import is_categorical
from skvarimp._response.sampling import entry_seeds
from skvarimp._response.subgroups import Subgroups
from skvarimp._running.parallel import in_order


class ConditionalImportance(ResponseImportance):
    """An importance whose donors may be restricted by `conditional`.

    Attributes
    ----------
    subgroups_ : dict or None
        Entry name -> the part of each row, (n_samples,); -1 for rows with zero weight.
    explained_ : ndarray of shape (n_entries,) or None
        Share of each entry's variance that lies between the parts.
    """

    _shared_constraints = ResponseImportance._shared_constraints | {
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
        parts_of = self._parts_of(problem, entries)
        categorical = self._categorical(problem)
        seeds = np.zeros(len(entries), dtype=np.int64)
        if self.random_state is not None:
            seeds = entry_seeds(self.random_state, len(entries)) % 2**31
        arguments = (problem, parts_of, categorical)
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
        (request,), problem, n = plan.requests, plan.problem, len(plan.entries)
        self.response_path_ = problem.drawing().path
        outcome = Outcome.empty(n, len(scale))
        outcome.monte_carlo_errors = np.full(n, np.nan)
        outcome.n_draws = np.zeros(n, dtype=np.intp)
        drawn = problem.drawn(plan.entries, request, draw, scale, self)
        for e, finished in drawn:
            outcome.store([e], finished)
        return outcome

    def _parts_of(self, problem, entries):
        """A function that gives the parts for an entry, its target and a seed."""
        given = self.conditional
        if isinstance(given, str | BaseDecisionTree):
            predictors = Predictors.of(problem.table, problem.weights)
            tree = None if isinstance(given, str) else given
            return partial(_parts_of_leaves, tree, predictors)
        if not isinstance(given, Mapping):
            codes = _codes(given, problem.kept, "`conditional`")
            return partial(_given_parts, {entry: codes for entry in entries})
        by_name = {entry.name: entry for entry in entries}
        unknown = [name for name in given if name not in by_name]
        if unknown:
            shown = (
                list(by_name) if len(by_name) <= 20 else [*list(by_name)[:20], "..."]
            )
            raise ValueError(
                f"`conditional` names {unknown[0]!r}, which is not among the entries: "
                f"{shown}."
            )
        kept = problem.kept
        codes = {
            by_name[name]: _codes(labels, kept, f"`conditional` of {name!r}")
            for name, labels in given.items()
        }
        return partial(_given_parts, codes)

    def _further_columns(self):
        shares = getattr(self, "explained_", None)
        return {} if shares is None else {"explained": shares}


def _fitted(task, problem, parts_of, categorical):
    """(part of each row, share of the variance between the parts) of an entry."""
    entry, seed = task
    target = target_of(problem.table, entry, problem.weights, categorical)
    parts = parts_of(problem, entry, target, categorical, seed)
    return parts, explained(target, parts, problem.weights)


def _parts_of_leaves(tree, predictors, problem, entry, target, categorical, seed):
    weights, total = problem.weights, problem.total_weight
    if tree is None:
        return parts_by_tree(predictors, entry, target, weights, total, seed)
    codes = None
    if is_categorical(problem.table, entry, categorical):
        codes = problem.table.factorize(entry.columns)[0]
    return parts_by_given_tree(tree, predictors, entry, target, codes, weights, seed)


def _given_parts(codes, problem, entry, target, categorical, seed):
    """Those of the user's labels; all rows for an entry that got none."""
    every = np.zeros(problem.table.n_samples, dtype=np.intp)
    return codes.get(entry, every)


def _codes(labels, kept, name):
    """Numbers of the labels of the rows of positive weight."""
    labels = np.asarray(labels)
    if labels.shape != kept.shape:
        raise ValueError(
            f"{name} must hold one label per row of X, shape {kept.shape}, got shape "
            f"{labels.shape}."
        )
    return factorized(numbers_if_possible(labels[kept]))[0]
