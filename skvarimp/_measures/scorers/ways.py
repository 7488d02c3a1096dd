"""How the scores lost in samples are found: by a formula, or by the scorer itself.

Formulas are those of scikit-learn's scorers, of many repeats or weightings at once.
One is trusted only where it gives the number that the scorer gives.
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn import config_context

from skvarimp._data.table import rows_of_target
from skvarimp._measures.scorers.resamples import Weighting, opposite_samples, orders
from skvarimp._measures.scorers.stand_ins import Replayed
from skvarimp._models.labels import as_columns, positions
from skvarimp._running.guards import users_code

CLOSE = {"rtol": 1e-11, "atol": 1e-13}  # a formula gives the number of its scorer


def way_of(lost, known):
    """A formula, or else the scorer itself; None where it needs the model.

    Parameters
    ----------
    lost : ScoreLost
    known : dict
        Method -> what it returned for the unmoved rows.

    Returns
    -------
    Way or None
    """
    shapes = [getattr(output, "shape", ()) for output in known.values()]
    if {shape[:1] for shape in shapes} != {(lost.problem.n_rows,)}:
        return None
    samples = list(opposite_samples(lost.problem.units))
    weights = lost.options.get("sample_weight", np.ones(lost.problem.n_rows))
    ways = (kind(lost, known, samples, weights) for kind in (ByFormula, ByScorer))
    return next((way for way in ways if way.serves()), None)


@dataclass
class Way:
    """Scores of unmoved and shuffled rows in samples, from predictions.

    A subclass implements `serves()`, whether it gives the scorer's numbers, and
    `_lost(known, donors, counts)`, scores lost by groups of repeats, (n_groups,
    n_samples).

    Parameters
    ----------
    lost : ScoreLost
    known : dict
        Method -> what it returned for the unmoved rows.
    samples : list of ndarray of uint8 of shape (n_rows, 2 * n_pairs)
        See `opposite_samples`; together 200 bytes per row.
    weights : ndarray of shape (n_rows,)
        Their mean is 1.
    """

    lost: object
    known: dict
    samples: list
    weights: np.ndarray

    def deviations(self, known, donors):
        """What the scores lost in samples owe to rows and to pairs, see `orders`.

        Parameters
        ----------
        known : dict
            Method -> outputs of shuffled rows, (n_repeats, n_rows, ...).
        donors : ndarray of shape (n_repeats, n_rows)

        Returns
        -------
        ndarray of shape (2, n_groups, N_PAIRS)
            Of groups of repeats, which may have one each.
        """
        lost = [self._lost(known, donors, counts) for counts in self.samples]
        return orders(np.concatenate(lost, axis=-1))


class ByFormula(Way):
    """All repeats and samples at once, see `formulas`."""

    formula = None

    def serves(self):
        """Whether a formula gives the scorer's numbers, also of rows that count twice.

        The formula of the scorer's name, or any.
        """
        y = np.asarray(self.lost.y)
        if y.ndim > 1 or len(self.known) > 1:
            return False
        own = np.arange(len(y))
        times = np.stack([np.ones_like(own), 1 + own % 3])
        scorer = ByScorer(self.lost, self.known, [], self.weights)
        asked = [scorer.score(self.known, own, of_rows) for of_rows in times]
        counts = np.ascontiguousarray(times.T, dtype=np.uint8)
        one_repeat = {method: base[np.newaxis] for method, base in self.known.items()}
        formulas = OF_TIMES if y.dtype.names else OF_PREDICTIONS | OF_CLASSES
        named = [name for name in formulas if name == self.lost.name]
        for self.formula in named or formulas:
            try:
                base, _ = self._scores(one_repeat, own[np.newaxis], counts)
            except (ValueError, TypeError, IndexError, AttributeError):
                continue  # it is one of other outputs
            if np.shape(base) == (1, 2) and np.allclose(base, asked, **CLOSE):
                return True
        return False

    def _lost(self, known, donors, counts):
        base, moved = self._scores(known, donors, counts)
        return base - moved

    def _scores(self, known, donors, counts):
        """Of the unmoved and the moved rows, (2, n_repeats, n_samples)."""
        ((method, moved),), y = known.items(), np.asarray(self.lost.y)
        both = np.stack([np.broadcast_to(self.known[method], moved.shape), moved])
        weighting = Weighting(counts, donors, self.weights)
        with np.errstate(all="ignore"):  # a class that no row is given, say
            if self.formula in OF_TIMES:
                return OF_TIMES[self.formula](y, both, weighting)
            if self.formula in OF_PREDICTIONS:
                return OF_PREDICTIONS[self.formula](y, both, weighting.mean)
            classes = self.lost.problem.model.estimator.classes_
            if method == "predict":
                both = _codes(both.ravel(), classes).reshape(both.shape)
            return OF_CLASSES[self.formula](_codes(y, classes), both, weighting)


def _codes(labels, classes):
    return positions(as_columns(labels), [classes])[:, 0]


class ByScorer(Way):
    """The scorer itself, called for all repeats together, in each sample.

    Attributes
    ----------
    counts_by_weight : bool
        Whether it takes weights as numbers of rows; else rows are written out.
    """

    counts_by_weight = False

    def serves(self):
        """Whether two copies of all rows have the score of one, as of a mean."""
        rows = np.arange(len(self.weights))
        twice, some = np.full_like(rows, 2), 1 + rows % 3
        score, close = self.lost.baseline, {"rtol": 1e-9, "atol": 1e-12}
        if not np.isclose(self.score(self.known, rows, twice), score, **close):
            return False
        written_out = self.score(self.known, rows, some)
        self.counts_by_weight = True
        weighted = self.score(self.known, rows, some)
        self.counts_by_weight = bool(np.isclose(weighted, written_out, **close))
        return True

    def _lost(self, known, donors, counts):
        (n_repeats, n), moved = donors.shape, donors.ravel()
        lost, own = np.empty((1, counts.shape[1])), np.arange(n)
        rows = np.tile(own, n_repeats)
        outputs = {name: np.concatenate(of) for name, of in known.items()}
        for b, of_sample in enumerate(counts.T):
            times = (of_sample[rows] + of_sample[moved]) // 2
            base = np.bincount(rows, times, n).astype(np.intp)
            before = self.score(self.known, own, base)
            lost[0, b] = before - self.score(outputs, rows, times)
        return lost

    def score(self, known, rows, times):
        """The score of outputs of some rows, each counted some times; NaN for none."""
        if not self.counts_by_weight:
            copies = np.repeat(np.arange(len(rows)), times)
            known = {method: outputs[copies] for method, outputs in known.items()}
            rows, times = rows[copies], 1.0
        lost, options = self.lost, {}
        if lost.options or self.counts_by_weight:
            options["sample_weight"] = self.weights[rows] * times
        table = lost.problem.table
        # a scorer of scikit-learn's does not look at X
        X = (table.take(rows) if lost.responses is None else table).native
        stands = Replayed(lost.problem.model.estimator, known)
        with warnings.catch_warnings(), users_code():
            warnings.simplefilter("ignore")  # a class that no row is given, say
            try:
                y = rows_of_target(lost.y, rows)
                with config_context(skip_parameter_validation=True):
                    return float(lost.scorer(stands, X, y, **options))
            except (ValueError, TypeError, ArithmeticError):
                return np.nan


SMALLEST = np.finfo(np.float64).eps  # probability that scikit-learn's log loss takes


def _squared_error(y, f, mean):
    return mean((1.0 * y - f) ** 2)


def _variance(values, mean):
    values = values - np.mean(values, axis=-1, keepdims=True)
    return mean(values**2) - mean(values) ** 2


def _r2(y, f, mean):
    return 1.0 - _squared_error(y, f, mean) / _variance(1.0 * y, mean)


# Scores of outputs (..., n_samples), of y (n_samples,) and a function `mean` over the
# samples. Labels may be bool, which NumPy does not subtract.
OF_PREDICTIONS = {
    "accuracy": lambda y, f, mean: mean(y == f),
    "explained_variance": lambda y, f, mean: (
        1.0 - _variance(1.0 * y - f, mean) / _variance(1.0 * y, mean)
    ),
    "neg_mean_absolute_error": lambda y, f, mean: -mean(np.abs(1.0 * y - f)),
    "neg_mean_squared_error": lambda y, f, mean: -_squared_error(y, f, mean),
    "neg_root_mean_squared_error": lambda y, f, mean: (
        -np.sqrt(_squared_error(y, f, mean))
    ),
    "r2": _r2,
}


def _log_loss(codes, f, weighting):
    chance = np.take_along_axis(f, np.broadcast_to(codes, f.shape[:-1])[..., None], -1)
    return weighting.mean(np.log(np.clip(chance[..., 0], SMALLEST, 1 - SMALLEST)))


def _brier(codes, f, weighting):
    return -weighting.mean((f[..., 1] - codes) ** 2)


def _area(codes, f, weighting, c=1):
    scores = f if f.ndim == 3 else f[..., c]
    sums, positive, negative = weighting.areas(codes == c, scores)
    return sums / (positive * negative)


def _average_precision(codes, f, weighting):
    scores = f if f.ndim == 3 else f[..., 1]
    sums, positive, _ = weighting.areas(codes == 1, scores, precision=True)
    return sums / positive


def _hits(codes, f, weighting, c):
    """Shares of the rows of a class, of those called so, and of both."""
    is_c, called = codes == c, f == c
    return [weighting.mean(rows) for rows in (is_c, called, is_c & called)]


def _f1(codes, f, weighting, c=1):
    are, called, both = _hits(codes, f, weighting, c)
    return 2.0 * both / (are + called)


def _precision(codes, f, weighting):
    _, called, both = _hits(codes, f, weighting, 1)
    return both / called


def _recall(codes, f, weighting, c=1):
    are, _, both = _hits(codes, f, weighting, c)
    return both / are


def _mean_of_classes(of_class):
    """The formula whose number is the mean of those of all classes of y."""
    return lambda codes, f, weighting: np.mean(
        [of_class(codes, f, weighting, c) for c in np.unique(codes)], axis=0
    )


# Scores of a classifier's outputs, (2, n_repeats, n_samples) scores or positions of
# labels or (2, n_repeats, n_samples, n_classes), of the positions of y's labels among
# the classes and a `Weighting` of the samples.
OF_CLASSES = {
    "average_precision": _average_precision,
    "balanced_accuracy": _mean_of_classes(_recall),
    "f1": _f1,
    "f1_macro": _mean_of_classes(_f1),
    "neg_brier_score": _brier,
    "neg_log_loss": _log_loss,
    "precision": _precision,
    "recall": _recall,
    "roc_auc": _area,
    "roc_auc_ovr": _mean_of_classes(_area),
}


def _concordance(y, f, weighting, sign):
    """Share of pairs in which the row with the first event has the higher risk.

    A row with an event is paired with all rows of a later time, and with those that
    are censored at the same time (Harrell et al. 1996). Times are halved repeatedly:
    each pair is then once in different halves, or at one time.
    """
    risk = np.round(sign * f, 8)  # closer risks are equal for scikit-survival
    event, time = (y[name] for name in y.dtype.names)
    order = np.argsort(time, kind="stable")
    times, starts = np.unique(time[order], return_index=True)
    starts = np.append(starts, len(time))
    right, pairs, spans = 0.0, 0.0, [(0, len(times))]
    while spans:
        first, last = spans.pop()
        middle = (first + last) // 2
        rows, positive = order[starts[first] : starts[last]], event
        if middle > first:
            spans += [(first, middle), (middle, last)]
            positive = time < times[middle]
            rows = rows[event[rows] | ~positive[rows]]
        if 0 < positive[rows].sum() < len(rows):
            sums, P, N = weighting.areas(positive, risk, rows=rows)
            right, pairs = right + sums, pairs + P * N
    return right / pairs


# Scores of outputs of survival models, (2, n_repeats, n_samples), of a structured y
# (n_samples,) and a `Weighting`.
OF_TIMES = {
    "concordance of risks": partial(_concordance, sign=1),
    "concordance of times": partial(_concordance, sign=-1),
}
