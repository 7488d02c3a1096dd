"""Scores of shuffled columns, from fast responses where there are any.

scikit-learn's own scorers look at a model's predictions only. They get a stand-in for
the model, whose predictions at the shuffled rows are found for all repeats at once.
"""

import numpy as np
from sklearn import config_context
from sklearn.metrics import get_scorer

from skvarimp._data.table import rows_of_target
from skvarimp._data.validation import has_tags
from skvarimp._measures.problem import ALL, make_problem
from skvarimp._models.model import is_classifier
from skvarimp._response.engine import Outcome
from skvarimp._response.lowering import Watched, respond
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._response.sampling import entry_seeds
from skvarimp._response.states import Finished
from skvarimp._running.guards import users_code
from skvarimp._running.memory import HELD, Memo, at_once, even_slices
from skvarimp._running.tasks import tasks_done


class Responses:
    """Outputs of a model as entries of X take the values of other rows.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    table : Table
    entries : list of Entry
        Which move.
    """

    def __init__(self, estimator, table, entries):
        self.estimator, self.table, self.entries = estimator, table, entries
        self._known, self._served = Memo(most=np.inf), Memo()

    def of(self, method):
        """The rows watched by a method, and the response; None where there is none."""
        return self._known.get(method, lambda: self._made(method))

    def _made(self, method):
        try:
            with users_code():  # names of columns were complained about before
                of = make_problem(self.estimator, self.table, None, None, method)
            watched = Watched(of.model, of.table, of.base, of.weights)
            response = respond(watched, self.entries, walked=False)
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None, None
        return of, None if isinstance(response, BlackBoxResponse) else response

    def at_donors(self, method, position, donors, together):
        """Outputs with one entry's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            Of the entry.
        donors : ndarray of shape (n_repeats, n_samples)
            The rows that values are taken from.
        together : bool
            Whether other entries will be asked for with the same donors: several are
            then found at once and kept.

        Returns
        -------
        ndarray of shape (n_outputs, n_repeats, n_samples) or None
            None where there is no fast response, or the model itself costs less.
        """
        problem, response = self.of(method)
        if response is None:
            return None
        if not together:
            found = self._of_entries(problem, response, [position], donors)
            return None if found is None else found[0]
        size = at_once(response.n_outputs * donors.size)
        first = position - position % size
        which = range(first, min(first + size, len(self.entries)))
        asked = problem, response, which, donors
        found = self._served.get((method, first), lambda: self._of_entries(*asked))
        return None if found is None else found[position - first]

    def _of_entries(self, problem, response, which, donors):
        moves = problem.moves(self.entries, [ALL])
        moves, n = [moves[e] for e in which], problem.table.n_samples
        cost = 0.0
        for move in moves:
            n_cells = len(donors) if response.reads_cells else move.n_cells
            grouped = len(move.entry.columns) > 1
            cost += response.evaluations(n, n_cells, grouped=grouped)
        if cost > len(moves) * donors.size:
            return None
        cells = np.stack([move.codes[donors] for move in moves])
        return response.at_cells(
            problem.table, np.arange(n), moves, problem.base, cells
        )


# Scores that rounding of the outputs changes by rounding only. Others, such as the area
# under the ROC curve, look at ties.
SMOOTH = {
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
    "explained_variance",
    "neg_brier_score",
    "neg_log_loss",
    "neg_max_error",
    "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_gamma_deviance",
    "neg_mean_poisson_deviance",
    "neg_mean_squared_error",
    "neg_mean_squared_log_error",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    "r2",
}


class Permuted:
    """Stands for a fitted estimator whose X has the values of one entry permuted.

    Its outputs are those of the permuted rows of the current `repeat`, found for all
    repeats at once when first asked for; everything else is the estimator's own.

    Parameters
    ----------
    responses : Responses
    position : int
        Of the entry.
    donors : ndarray of shape (n_repeats, n_samples)
    smooth : bool
        Whether outputs may differ from the estimator's by rounding.
    together : bool
        Whether other entries will be permuted alike.

    Attributes
    ----------
    path : str or None
        How the outputs asked for last were found; None: by the estimator itself.
    """

    def __init__(self, responses, position, donors, smooth, together):
        self.repeat, self.path = 0, None
        self._estimator, self._responses = responses.estimator, responses
        self._columns, self._donors = responses.entries[position].columns, donors
        self._moves = position, donors, together
        self._smooth, self._outputs = smooth, {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._estimator, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return value

        def of_this_repeat(X):
            return self.outputs(name)[self.repeat]

        of_this_repeat.__name__ = name  # scikit-learn asks for it
        return of_this_repeat

    def __sklearn_tags__(self):
        return self._estimator.__sklearn_tags__()

    def score(self, X, y, sample_weight=None):
        """The score of scikit-learn's mixins, from the outputs here."""
        score = type(self._estimator).score
        return score(self, X, y, sample_weight=sample_weight)

    def outputs(self, method):
        """What the method returns for each repeat."""
        if method not in self._outputs:
            self._outputs[method] = self._found(method)
        return self._outputs[method]

    def scores(self, score):
        """Yield score(self) of each repeat."""
        yield score(self)
        # the first has checked everything but the other outputs
        unchecked = {"assume_finite": True, "skip_parameter_validation": True}
        for repeat in range(1, len(self._donors)):
            self.repeat = repeat
            with config_context(**unchecked if self.is_finite() else {}):
                result = score(self)
            yield result

    def is_finite(self):
        """Whether all outputs asked for so far are finite numbers, or labels."""
        return all(
            isinstance(outputs, np.ndarray)
            and (outputs.dtype.kind != "f" or bool(np.isfinite(outputs).all()))
            for outputs in self._outputs.values()
        )

    def _found(self, method):
        """From a fast response; from the model where there is none.

        The labels of a classifier are found from indicators of its classes.
        """
        labels = method == "predict" and is_classifier(self._estimator)
        fast = labels or self._smooth
        found = self._responses.at_donors(method, *self._moves) if fast else None
        if found is None:
            return self._asked(method)
        of_classes = labels or method == "predict_proba"
        problem, response = self._responses.of(method)
        lists = problem.model.class_lists or []
        if of_classes and len(lists) != 1:
            return self._asked(method)
        self.path = response.path
        if of_classes and len(lists[0]) == 2:  # the second is known
            found = np.concatenate([1.0 - found, found])
        if labels:
            return lists[0][found.argmax(axis=0)]
        outputs = np.moveaxis(found, 0, -1)  # (n_repeats, n_samples, n_outputs)
        if len(found) > 1:
            return outputs
        first_row = self._responses.table.take(np.arange(1)).native
        asked = getattr(self._estimator, method)(first_row)
        return found[0] if np.ndim(asked) == 1 else outputs

    def _asked(self, method):
        """The model's own output for each repeat, several repeats at a time."""
        n_repeats, n = self._donors.shape
        n_at_once = max(1, HELD // (n * self._responses.table.n_columns))
        parts = []
        for repeats in even_slices(n_repeats, n_at_once):
            n_parts = repeats.stop - repeats.start
            rows, donors = np.tile(np.arange(n), n_parts), self._donors[repeats].ravel()
            moved = self._responses.table.moved(rows, self._columns, donors=donors)
            found = getattr(self._estimator, method)(moved)
            if isinstance(found, list):  # probabilities of several columns of y
                split = [np.split(np.array(part), n_parts) for part in found]
                parts += [list(of_repeat) for of_repeat in zip(*split)]
            else:
                parts += list(np.split(np.array(found), n_parts))
        return parts if isinstance(parts[0], list) else np.array(parts)


class ScoreLost:
    """A scorer on a problem's rows.

    Attributes
    ----------
    name : str
        Of the scorer.
    baseline : float
        Score of the unmoved rows.
    parts : dict
        Entry -> the part of each row, where donors are to come from it.
    responses : Responses or None
        What a scorer of scikit-learn's is served from.
    """

    def __init__(self, scoring, problem, entries):
        self.scorer, self.name = scoring, scoring
        self.responses, estimator = None, problem.model.estimator
        if isinstance(scoring, str):
            self.scorer = own_score if scoring == "score" else get_scorer(scoring)
            if problem.model.method == "__call__":
                raise TypeError(
                    f"scoring={scoring!r} needs an estimator with `predict`, got a "
                    "bare callable. Use `loss`, or a callable scorer(f, X, y)."
                )
            # scorers ask the stand-in for tags; the model's own score may look at X
            if has_tags(estimator) and scoring != "score":
                self.responses = Responses(estimator, problem.table, entries)
        else:
            self.name = getattr(scoring, "__name__", None) or repr(scoring)
        self.problem, self.y = problem, problem.given_y
        if not problem.kept.all():
            self.y = rows_of_target(self.y, np.flatnonzero(problem.kept))
        self.options, self.parts = {}, {}
        if problem.weights.min() < problem.weights.max():
            self.options["sample_weight"] = problem.weights * problem.total_weight
        self.baseline = self.score(estimator, problem.table.copy())

    def score(self, estimator, X):
        """The score of rows in the container that the model takes."""
        try:
            with users_code():
                score = self.scorer(estimator, X, self.y, **self.options)
        except ValueError as error:
            raise ValueError(f"scoring={self.name!r} failed: {error}") from error
        if not is_finite_number(score):
            raise ValueError(
                f"`scoring` must give one finite number, got {score!r} from "
                f"{self.name}."
            )
        return float(score)

    def outcome(self, plan, measure):
        """Mean score lost over the repeats; no standard errors."""
        n = len(plan.entries)
        seeds = entry_seeds(measure.random_state, n)
        given = plan.entries, self, measure.n_repeats, seeds
        lost = tasks_done([measure], _score_lost, range(n), given, measure.n_jobs)
        outcome, paths = Outcome.drawn(n, 1), []
        for e, (finished, path) in lost:
            outcome.store([e], finished)
            paths.append(path)
        paths = [f"{path} (for the scorer)" for path in paths if path is not None]
        own = "black box (the scorer asks the model)"
        measure.response_path_ = paths[0] if paths else own
        return outcome

    def donors(self, entry, n_repeats, random):
        """The row that each row's value comes from, (n_repeats, n_rows)."""
        weights = self.problem.weights
        parts = [np.arange(len(weights))]
        if entry in self.parts:
            part = self.parts[entry]
            order = np.argsort(part, kind="stable")
            parts = np.split(order, np.cumsum(np.bincount(part))[:-1])
        donors = np.empty((n_repeats, len(weights)), dtype=np.intp)
        for of_repeat in donors:
            for part in parts:
                shares = weights[part] / weights[part].sum()
                of_repeat[part] = part[shuffled_donors(shares, random)]
        return donors

    def moved(self, position, entry, donors):
        """The score with the entry's values from each row of donors, and the path.

        A scorer of the user's own gets the model itself, as the model's own score does.
        """
        table = self.problem.table
        if self.responses is not None:
            smooth = self.name in SMOOTH
            permuted = Permuted(self.responses, position, donors, smooth, False)
            scores = permuted.scores(lambda model: self.score(model, table.native))
            return np.array(list(scores)), permuted.path
        rows, estimator = np.arange(table.n_samples), self.problem.model.estimator
        moved = (table.moved(rows, entry.columns, donors=own) for own in donors)
        return np.array([self.score(estimator, X) for X in moved]), None


def own_score(estimator, X, y, **params):
    """The scorer that scoring="score" means."""
    return estimator.score(X, y, **params)


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _score_lost(position, entries, lost, n_repeats, seeds):
    """`Finished` from the score lost by one entry in each repeat, and the path."""
    random, entry = np.random.default_rng(int(seeds[position])), entries[position]
    donors = lost.donors(entry, n_repeats, random)
    parts = even_slices(n_repeats, max(1, HELD // lost.problem.n_rows))
    scores, paths = zip(*(lost.moved(position, entry, donors[part]) for part in parts))
    result = lost.baseline - np.concatenate(scores)
    error = result.std(ddof=1) / np.sqrt(n_repeats) if n_repeats > 1 else np.nan
    return Finished(result.mean(), None, error), paths[0]


def shuffled_donors(weights, random):
    """One donor per row, each as often as its weight says; equal weights: a shuffle.

    Equally spaced points of the cumulated weights from a random start name the
    donors, which are then shuffled over the rows.
    """
    n = len(weights)
    points = (np.arange(n) + random.random()) / n
    donors = np.searchsorted(np.cumsum(weights)[:-1], points, side="right")
    return random.permutation(donors)
