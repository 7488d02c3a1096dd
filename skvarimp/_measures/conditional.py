"""`conditional=`: entries move among rows of their own part only."""

from collections.abc import Mapping

import numpy as np
from sklearn.tree import BaseDecisionTree

from skvarimp._data.entries import check_known
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
        tree, predictors, labels = self.conditional, None, None
        if isinstance(tree, str | BaseDecisionTree):
            predictors = Predictors.of(problem.table, problem.weights)
        else:
            labels = self._labels(problem, entries)
        categorical = self._categorical(problem)
        seeds = np.zeros(len(entries), dtype=np.int64)
        if self.random_state is not None:
            seeds = entry_seeds(self.random_state, len(entries)) % 2**31
        arguments = problem, tree, predictors, labels, categorical
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


def _fitted(task, problem, tree, predictors, labels, categorical):
    """(part of each row, share of the variance between the parts) of an entry."""
    (entry, seed), table, weights = task, problem.table, problem.weights
    target = target_of(table, entry, weights, categorical)
    if labels is not None:  # all rows are one part for an entry without labels
        every = np.zeros(table.n_samples, dtype=np.intp)
        parts = labels.get(entry.name, every)
    elif isinstance(tree, str):
        of_entry = predictors, entry, target, weights
        parts = parts_by_tree(*of_entry, problem.total_weight, seed)
    else:
        codes = None
        if is_categorical(table, entry, categorical):
            codes = table.factorize(entry.columns)[0]
        of_entry = predictors, entry, target, codes, weights
        parts = parts_by_given_tree(tree, *of_entry, seed)
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
