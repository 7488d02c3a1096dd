"""What stands for a model before a scorer, which looks at the model's predictions.

The predictions at shuffled rows are found for all repeats at once, by a fast response
where there is one.
"""

from copy import deepcopy

import numpy as np
from sklearn import config_context

from skvarimp._measures.problem import ALL, make_problem
from skvarimp._models.model import is_classifier
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.probe import respond
from skvarimp._running.guards import users_code
from skvarimp._running.memory import HELD, Memo, at_once, even_slices


class Responses:
    """Outputs of a model as features of X take the values of other rows.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    table : Table
    features : list of Feature
        Which move.
    reads : bool, default=True
        Whether the model may be read; else there is never a response.
    """

    def __init__(self, estimator, table, features, reads=True):
        self.estimator, self.table, self.features = estimator, table, features
        self.reads = reads
        self._known, self._served = Memo(most=np.inf), Memo()
        self._n_axes = Memo(most=np.inf)

    def of(self, method):
        """The rows watched by a method, and the response; None where there is none."""
        return self._known.get(method, lambda: self._made(method))

    def made(self, method):
        """The response by a method if a score was found by it; else None."""
        return self.of(method)[1] if method in self._known else None

    def n_axes(self, method):
        """How many axes the model's own output has."""

        def ask():
            return np.ndim(getattr(self.estimator, method)(self.table.take([0]).native))

        return self._n_axes.get(method, ask)

    def _made(self, method):
        if not self.reads:
            return None, None
        try:
            with users_code():  # names of columns were complained about before
                problem = make_problem(self.estimator, self.table, None, None, method)
            response = respond(problem, self.features)
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None, None
        return problem, None if isinstance(response, BlackBoxResponse) else response

    def at_donors(self, method, position, donors, together):
        """Outputs with one feature's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            Of the feature.
        donors : ndarray of shape (n_repeats, n_samples)
            The rows that values are taken from.
        together : bool
            Whether other features will be asked for with the same donors: several are
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
            found = self._of_features(problem, response, [position], donors)
            return None if found is None else found[0]
        size = at_once(response.n_outputs * donors.size)
        first = position - position % size
        which = range(first, min(first + size, len(self.features)))
        found = self._served.get(
            (method, first), lambda: self._of_features(problem, response, which, donors)
        )
        return None if found is None else found[position - first]

    def _of_features(self, problem, response, which, donors):
        moves = problem.moves(self.features, [ALL])
        moves, n = [moves[e] for e in which], problem.table.n_samples
        cost = 0.0
        for move in moves:
            n_cells = len(donors) if response.reads_cells else move.n_cells
            grouped = len(move.feature.columns) > 1
            cost += response.cost(n, n_cells, grouped=grouped)
        if cost > len(moves) * donors.size * response.call_cost():
            return None
        cells = np.stack([move.codes[donors] for move in moves])
        return response.at_cells(problem.rows, moves, cells)


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


def own_score(estimator, X, y, **params):
    """The scorer that scoring="score" means."""
    return estimator.score(X, y, **params)


OUTPUTS = ("predict", "predict_proba", "decision_function")


class PredictionProxy:
    """Stands for a fitted estimator before a scorer; only its outputs are not its own.

    A subclass implements `output(method, X)`.

    Parameters
    ----------
    estimator : object
        Fitted; perhaps a bare callable.
    """

    def __init__(self, estimator):
        self._estimator = estimator

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._estimator, name)
        if name not in OUTPUTS:
            return value

        def stood_for(X):
            return self.output(name, X)

        stood_for.__name__ = name  # scikit-learn asks for it
        return stood_for

    def __call__(self, X):
        return self.output("__call__", X)

    def __sklearn_tags__(self):
        return self._estimator.__sklearn_tags__()

    def score(self, X, y, sample_weight=None):
        """The score of the model's class, or of a pipeline's last one, of outputs here.

        It is the model's own if that looks at the outputs only.
        """
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        score = getattr(self._estimator, "steps", [(None, self._estimator)])[-1][1]
        return type(score).score(self, X, y, **weight)


class Recorded(PredictionProxy):
    """Asks the estimator, and keeps what it returned.

    Parameters
    ----------
    estimator : object
    given : dict
        Method -> what it returns for the rows, where that is known: it is not asked.

    Attributes
    ----------
    known : dict
        Method -> output for the rows that it was asked for last.
    """

    def __init__(self, estimator, given):
        super().__init__(estimator)
        self.known, self._given = {}, given

    def output(self, method, X):
        """The estimator's own, of which the caller gets a copy that it may change."""
        if method in self._given:
            self.known[method] = self._given[method]
        else:
            self.known[method] = getattr(self._estimator, method)(X)
        return deepcopy(self.known[method])


class Replayed(PredictionProxy):
    """Returns outputs that are known, whatever the rows."""

    def __init__(self, estimator, known):
        super().__init__(estimator)
        self._known = known

    def output(self, method, X):
        """A copy of the one known, which the caller may change."""
        return self._known[method].copy()


class Permuted(PredictionProxy):
    """Stands for an estimator whose X has the values of one feature permuted.

    Its outputs are those of the permuted rows of the current `repeat`, found for all
    repeats at once when first asked for.

    Parameters
    ----------
    responses : Responses
    position : int
        Of the feature.
    donors : ndarray of shape (n_repeats, n_samples)
    smooth : bool
        Whether outputs may differ from the estimator's by rounding.
    together : bool
        Whether other features will be permuted alike.

    Attributes
    ----------
    known : dict
        Method -> outputs of all repeats, as far as asked for.
    path : str or None
        How the outputs asked for last were found; None: by the estimator itself.
    """

    def __init__(self, responses, position, donors, smooth, together):
        super().__init__(responses.estimator)
        self.repeat, self.path, self.known = 0, None, {}
        self._responses = responses
        self._columns, self._donors = responses.features[position].columns, donors
        self._moves = position, donors, together
        self._smooth = smooth

    def output(self, method, X):
        """Of the current repeat."""
        return self.outputs(method)[self.repeat]

    def outputs(self, method):
        """What the method returns for each repeat."""
        if method not in self.known:
            self.known[method] = self._found(method)
        return self.known[method]

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
            for outputs in self.known.values()
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
        one_axis = len(found) == 1 and self._responses.n_axes(method) == 1
        return found[0] if one_axis else outputs

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
