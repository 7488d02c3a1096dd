"""Importances that watch the response as features move: any values, or some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from sklearn.tree import BaseDecisionTree

from skvarimp._data.table import are_apart, as_table, taken
from skvarimp._data.validation import CONSTRAINTS, StrOptions
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.evaluations import (
    CountsEvaluations,
    exact_rows,
    mean_walk,
)
from skvarimp._measures.problem import Problem, Request, make_problem
from skvarimp._measures.residuals import residual_grid
from skvarimp._measures.rows import KeptRows, store_rows
from skvarimp._measures.subgroup_trees import subgroup_grid
from skvarimp._response.reductions import Observed
from skvarimp._response.rounds import (
    ENOUGH_ROWS,
    LEAST_ROWS,
    MOST_ROWS,
    Effort,
    rows_of_rounds,
)
from skvarimp._response.walk import run_walk
from skvarimp._running.guards import budget, spending, warn, working
from skvarimp._running.private_sklearn import HasMethods
from skvarimp._running.tasks import within_callbacks


@dataclass
class Plan:
    """What a measure asks of the shared walk.

    Attributes
    ----------
    problem : Problem
    features : list of Feature
    request : Request or None
        None for a measure that watches the response in its own way.
    estimation : {"auto", "exact", "sampled", "rows"} or None
        The shared walk serves requests for exact numbers. "auto" is settled once the
        response is known, which says what they cost.
    own : object
        What else the measure concludes from.
    rows : ndarray of int or None
        The rows that curves are means over, where rows are drawn.
    outcomes : list of Outcome or None
        Of the reductions of the request, once they have walked.
    """

    problem: Problem
    features: list
    request: Request | None = None
    estimation: str | None = "exact"
    own: object = None
    rows: np.ndarray | None = None
    outcomes: list | None = None

    @property
    def walks(self):
        """Whether the request goes into the shared walk."""
        return self.request is not None and self.estimation == "exact"


class ResponseImportance(BaseImportance):
    """An importance that watches the response as one feature moves.

    A subclass says in `_plan` which reductions it needs, and turns their outcomes
    into its attributes in `_conclude`. Several measures share one walk, see
    `fit_together`.
    """

    _takes_groups = True

    # Parameters that only some measures have.
    keep_rows, n_jobs, max_evaluations = False, None, None

    # Whether there are directions, and whether `MeanCurve` is asked for to get them.
    _has_directions = _follows_mean = False

    def _fit(self, estimator, X, y, sample_weight, groups=None):
        _fit_together([self], estimator, X, y, sample_weight, groups)

    # Features that have no importance (NaN) by what they are, not by a stop.
    _undefined = frozenset()

    def _leave_out(self, undefined, features, reason, way_out):
        """Say that some features have no importance; TypeError where none has one.

        Parameters
        ----------
        undefined : list of str
            Names of the features without importance.
        features : list of Feature
        reason, way_out : str
            The ends of sentences: why, and what to do about it.
        """
        self._undefined = frozenset(undefined)
        names = ", ".join(map(repr, undefined))
        if len(undefined) == len(features) > 0:
            raise TypeError(f"{names} can have no importance: {reason}. {way_out}")
        if undefined:
            verb = "has" if len(undefined) == 1 else "have"
            warn(f"{names} {verb} no importance (NaN): {reason}. {way_out}")

    def _plan(self, problem, features):
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

    def _add_directions(self, plan, outcome, with_rows=False):
        """Give an outcome the directions of mean curves, by a walk of their own."""
        walk = mean_walk(self, plan.problem, plan.features, with_rows)
        if walk is not None:
            ((mean,),) = run_walk(walk, self.n_jobs)
            outcome.directions, outcome.effects = mean.directions, mean.effects

    def _store_outcome(self, plan, outcome, output_names=None, samples=None):
        """Set what all measures share, and numbers of single rows with `keep_rows`.

        `samples` are the `KeptRows` of bootstrap samples, where errors come from those.
        """
        errors = [
            None if values is None or np.all(np.isnan(values)) else values
            for values in (outcome.standard_errors, outcome.errors_per_output)
        ]
        names = [feature.name for feature in plan.features]
        defined = np.array([name not in self._undefined for name in names], dtype=bool)
        output_names = output_names or plan.problem.model.output_names
        units = plan.problem.units if samples is None else samples.units
        if self._n_samples is None:  # not known of X
            self._n_samples = plan.problem.n_rows
        self._moves = plan.problem.model.kind
        self._outputs = plan.problem.model.output_names
        directions = outcome.directions if self._has_directions else None
        if self._has_directions and directions is None:  # stopped, or none to be asked
            directions = np.full((len(names), len(plan.problem.base)), np.nan)
        self._store(
            outcome.importances,
            names,
            output_names,
            *errors,
            units,
            outcome.skewness,
            directions,
            outcome.monte_carlo_errors,
        )
        if outcome.complete is not None:
            self.result_.further["complete"] = outcome.complete
        warn_stopped(self, np.isnan(self.importances_) & defined)
        if samples is not None:
            self.result_.rows = samples
        if samples is not None or not self.keep_rows:
            return
        store_rows(self, KeptRows.of(plan.problem, outcome))


def fit_together(measures, estimator, X, y=None, sample_weight=None, groups=None):
    """Fit engine measures on one model and data, in as few walks as they allow.

    Measures that watch the same response of the same features share one walk. Shared
    work keeps to the smallest `max_evaluations` of all.
    """
    limits = [measure.max_evaluations for measure in measures]
    most = min((most for most in limits if most is not None), default=None)
    for measure in measures:
        measure._about(estimator, X, sample_weight)
    X, y, sample_weight, groups = taken(measures, X, y, sample_weight, groups)
    with spending(most), working(_most_jobs(measures)):
        within_callbacks(
            measures,
            lambda: _fit_together(measures, estimator, X, y, sample_weight, groups),
        )


def _most_jobs(measures):
    """The `n_jobs` of work that measures share."""
    return max((m.n_jobs for m in measures), key=effective_n_jobs)


def _fit_together(measures, estimator, X, y, sample_weight, groups):
    table = as_table(X)
    if are_apart(X):
        make = partial(X.problem, estimator)
    else:
        make = partial(make_problem, estimator, table, y, sample_weight, groups=groups)
    features = [m._set_features(table, m.features, estimator) for m in measures]
    for measure, own_features in zip(measures, features):
        if measure.max_evaluations is not None:
            enough = measure._least_evaluations(table.n_samples, own_features)
            budget().enough = max(enough, budget().enough)
    problems = {}
    for method in [m.response_method for m in measures]:
        if method not in problems:
            problems[method] = make(method)
    shared = {}
    for measure, own_features in zip(measures, features):
        problem = problems[measure.response_method]
        plan = measure._plan(problem, own_features)
        if plan.request is not None:  # read and probe the model, once
            problem.response(own_features, plan.request.reductions[0].n_moves)
        settle_estimation(measure, plan)
        key = id(plan.problem), tuple(own_features)
        shared.setdefault(key, []).append((measure, plan))
    for pairs in shared.values():
        _carry_out(pairs)


def _carry_out(pairs):
    """Walk once for measures of the same response and features, and conclude."""
    walking = [pair for pair in pairs if pair[1].walks]
    if walking:
        _walk_once(walking)
    shared = budget().spent
    for measure, plan in pairs:
        if len(pairs) > 1:  # each has a limit of its own
            budget().restart(measure, shared)
        if plan.estimation:
            measure.estimation_ = plan.estimation
        if plan.request:
            measure.response_path_ = plan.problem.response(plan.features).path
        measure._watched = plan.problem.model.method
        measure._conclude(plan, plan.outcomes)


def _walk_once(pairs):
    """Set the outcomes of each plan; requests over one grid share their curves."""
    measures, plans = zip(*pairs)
    problem, features = plans[0].problem, plans[0].features
    keep_rows = any(m.keep_rows for m in measures)
    by_grid = {}
    for measure, plan in pairs:
        by_grid.setdefault(plan.request.over, []).append((measure, plan))
    requests = []
    for alike in by_grid.values():
        requests.append(Request.joined([plan.request for _, plan in alike]))
        if any(measure._follows_mean for measure, _ in alike):
            requests[-1].follow_mean(len(problem.base), keep_rows)
    n_jobs = _most_jobs(measures)
    found = problem.outcomes(features, requests, keep_rows, n_jobs, measures)
    for alike, outcomes in zip(by_grid.values(), found):
        _hand_out(outcomes, alike)


def _hand_out(outcomes, pairs):
    """Give each plan its own of the outcomes of requests that were joined.

    The first outcome of a plan has the directions of its mean curves, which the last
    of all outcomes gives where none of the plan's own does.
    """
    start = 0
    for measure, plan in pairs:
        stop = start + len(plan.request.reductions)
        plan.outcomes = outcomes[start:stop]
        mean = outcomes[-1] if measure._follows_mean else outcomes[stop - 1]
        plan.outcomes[0].directions = mean.directions
        plan.outcomes[0].effects = mean.effects
        start = stop


def warn_stopped(measure, missing):
    """Say so where a stop left features, (n_features,) bool, without importance."""
    if missing.any():
        measure.result_.further["complete"] = ~missing
        warn(
            f"{type(measure).__name__} was stopped: {int(missing.sum())} of "
            f"{len(missing)} features have no importance (NaN)."
        )


def settle_estimation(measure, plan):
    """Choose the estimation of a plan that leaves it open, within `max_evaluations`.

    Parameters
    ----------
    measure : ResponseImportance
    plan : Plan
    """
    free = plan.estimation == "auto"
    if free:
        plan.estimation = measure._cheapest(plan)
    if measure.max_evaluations is None or plan.estimation != "exact":
        return
    needed = measure._exact_rows(plan)
    if needed <= budget().left:
        return
    if not free:
        raise ValueError(
            f"estimation='exact' needs predictions of up to {needed} moved rows, and "
            f"max_evaluations={measure.max_evaluations} leaves {budget().left}. Use "
            f"estimation='{measure._drawn_estimation}'."
        )
    plan.estimation = measure._drawn_estimation


class ConditionalImportance(CountsEvaluations, ResponseImportance):
    """An importance whose donors may be restricted by `conditional`.

    Attributes
    ----------
    subgroups_ : dict or None
        Feature name -> the part of each row, (n_samples,); -1 for rows with zero
        weight.
    explained_ : ndarray of shape (n_features,) or None
        Share of each feature's variance that lies between the parts, or that its model
        explains.
    """

    # What donors are drawn from, and how they are where not all of it is evaluated.
    _grid, _drawn_estimation = "all", "sampled"

    _shared_constraints = CONSTRAINTS | {
        "tol": [StrOptions({"auto"}), *CONSTRAINTS["tol"]],
        "conditional": [
            StrOptions({"subgroups", "residuals"}),
            HasMethods(["fit", "predict"]),
            dict,
            "array-like",
            None,
        ],
        "conditional_fit_rows": ["array-like", None],
    }

    def _grid_in_parts(self, problem, features, grid):
        """The grid within the parts that `conditional` asks for; sets the attributes.

        Parameters
        ----------
        problem : Problem
        features : list of Feature
        grid : str, int, array-like or dict
            A string or a number where `conditional` is not None.
        """
        self.subgroups_ = self.explained_ = None
        residuals = asks_for_residuals(self.conditional)
        if self.conditional_fit_rows is not None and not residuals:
            raise ValueError(
                "`conditional_fit_rows` are rows to fit the models of "
                "conditional='residuals' on, got conditional="
                f"{self.conditional!r:.60}. Leave them out."
            )
        if self.conditional is None:
            return grid
        if not isinstance(grid, str | int):
            raise ValueError(
                "`conditional` takes values from the rows of a part, but `grid` gives "
                "values of its own. Use grid='all' or another named grid."
            )
        if residuals:
            if grid != "all":
                raise ValueError(
                    "conditional='residuals' moves each row to values of its own, got "
                    f"grid={grid!r}. Use grid='all'."
                )
            found, self.explained_ = residual_grid(self, problem, features)
            return found
        found, self.subgroups_, self.explained_ = subgroup_grid(
            self, problem, features, grid
        )
        return found

    def _estimation(self):
        """`estimation`; donors plus residuals are always drawn."""
        if not asks_for_residuals(self.conditional):
            return self.estimation
        if self.estimation not in ("auto", "sampled"):
            raise ValueError(
                "conditional='residuals' draws donors, got estimation="
                f"{self.estimation!r}. Use estimation='sampled', or "
                "conditional='subgroups'."
            )
        return "sampled"

    def _exact_rows(self, plan):
        return exact_rows(plan.problem, plan.features, plan.request)

    def _least_evaluations(self, n_rows, features):
        per_feature = Effort.of(self).least_evaluations(n_rows)
        if "rows" in (self.estimation, self._drawn_estimation):
            per_feature = LEAST_ROWS * n_rows
        return n_rows + len(features) * per_feature

    def _moved_rows(self, problem, features):
        n, effort, grid = problem.n_rows, Effort.of(self), self._grid
        if not asks_for_residuals(self.conditional):  # those are drawn in any case
            grid = self._grid_in_parts(problem, features, grid)
        # which reduction it is makes no difference to a response that asks the model
        request = Request(grid, [Observed()], [np.ones(1)], self._categorical)
        plan = Plan(problem, features, request, self._estimation())
        if plan.estimation == "auto":
            plan.estimation = self._cheapest(plan)
        if plan.estimation == "sampled":
            return effort.evaluations(n) * len(features)
        if not problem.response(features).asks_model:
            return 0
        if plan.estimation == "exact":
            return exact_rows(problem, features, request)
        sizes, n_rows = self._rows_and_sizes(plan)
        if isinstance(self.tol, float):
            n_rows = rows_of_rounds(n_rows, n)
        return int(n_rows * sizes.sum())

    def _cheapest(self, plan):
        problem, features, request = plan.problem, plan.features, plan.request
        effort, n = Effort.of(self), problem.n_rows
        drawn = effort.n_draws * effort.most_rows(n) * len(features)
        read = not problem.response(features).asks_model
        if read and effort.most_rows(n) < n:
            drawn = 0  # what some rows of all cost is no measure of what may be waited
        if problem.exact_is_cheap(features, request, drawn):
            return "exact"
        some = read and self.tol is not None
        if some and problem.affordable_rows(features, request) >= ENOUGH_ROWS:
            return "rows"
        return self._drawn_estimation

    def _draw(self, plan, reduction, scale):
        """The `Outcome` of drawn rows and donors."""
        problem, features, request = plan.problem, plan.features, plan.request
        if plan.estimation == "sampled":
            return problem.draw_donors(features, request, reduction, scale, self)
        sizes, first = self._rows_and_sizes(plan)
        return problem.draw_rows(features, request, sizes, first, self)

    def _rows_and_sizes(self, plan):
        """How many rows are drawn with all of the grid, and its sizes (n_features,).

        As many rows as make `n_draws` predictions of each; of a response that is read
        as many as are affordable.
        """
        problem, features, request = plan.problem, plan.features, plan.request
        effort, n = Effort.of(self), problem.n_rows
        if not problem.response(features).asks_model:
            sizes, affordable = np.zeros(len(features)), ENOUGH_ROWS
            affordable = max(affordable, problem.affordable_rows(features, request))
            return sizes, min(effort.most_rows(n), MOST_ROWS, affordable)
        sizes = problem.grid_sizes(features, request)
        n_moves = effort.n_draws * effort.most_rows(n) * len(sizes)
        least = LEAST_ROWS * effort.n_draws
        return sizes, min(n, max(least, int(n_moves / sizes.sum())))

    def _further_columns(self):
        shares = getattr(self, "explained_", None)
        return {} if shares is None else {"explained": shares}


def given_the_others(measure):
    """What the other columns have to do with a random value, for a sentence."""
    if measure.conditional is None:
        return ""
    if asks_for_residuals(measure.conditional):
        return " given the other columns"
    return " within its subgroup"


def asks_for_residuals(conditional):
    """Whether `conditional` is "residuals" or a model that predicts features."""
    if isinstance(conditional, str):
        return conditional == "residuals"
    if isinstance(conditional, BaseDecisionTree | type):
        return False
    return hasattr(conditional, "fit") and hasattr(conditional, "predict")
