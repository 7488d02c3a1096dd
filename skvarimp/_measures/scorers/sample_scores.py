"""How the scores lost in samples are found: by a formula, or by the scorer itself.

Formulas are those of scikit-learn's scorers, of many repeats or weightings at once.
They are looked up by what the scorer is, and trusted where they give its numbers.
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn import config_context
from sklearn.metrics import get_scorer

from skvarimp._data.statistics import divided
from skvarimp._data.table import rows_of_target
from skvarimp._measures.scorers.proxies import Replayed, own_score
from skvarimp._measures.scorers.resamples import Weighting, opposite_samples, orders
from skvarimp._models.labels import as_columns, positions
from skvarimp._models.model import is_classifier
from skvarimp._models.readers.survival import predicts_times
from skvarimp._running.guards import users_code

CLOSE = {"rtol": 1e-11, "atol": 1e-13}  # a formula gives the number of its scorer
N_TRIED = 8  # opposite pairs of samples that show whether a score jumps


def sample_scores(scorer, known, resamples):
    """A formula, or else the scorer itself; None where neither gives errors.

    Parameters
    ----------
    scorer : Scorer
    known : dict
        Method -> what it returned for the unmoved rows.
    resamples : UnitsLess or OppositeHalves

    Returns
    -------
    scores : SampleScores or None
    why_not : str or None
        What is unusual in a scorer that has none; None where it needs the model.
    """
    shapes = [getattr(output, "shape", ()) for output in known.values()]
    if {shape[:1] for shape in shapes} != {(scorer.problem.n_rows,)}:
        return None, None
    weights = scorer.options.get("sample_weight", np.ones(scorer.problem.n_rows))
    for kind in (ByFormula, ByScorer):
        scores = kind(scorer, known, resamples, weights)
        if scores.serves():
            why_not = _why_a_class_is_unknown(scores)
            return (scores, None) if why_not is None else (None, why_not)
    return None, scores.why_not


def _why_a_class_is_unknown(scores):
    """Why a score has no error where a class has a single row or group; None if it has.

    Samples do not show how an area or a recall varies with that class. A mean over the
    rows needs no such sample: each row counts by itself.
    """
    y, problem = scores.scorer.y, scores.scorer.problem
    if not is_classifier(problem.model.estimator) or np.ndim(y) != 1:
        return None
    labels, code = np.unique(as_columns(y)[:, 0], return_inverse=True)
    groups = problem.units.groups
    unit = np.arange(len(code)) if groups is None else groups
    n_units = [len(np.unique(unit[code == c])) for c in range(len(labels))]
    if min(n_units) > 1 or _is_mean(scores):
        return None
    what = "row" if groups is None else "group of rows"
    label = labels.tolist()[int(np.argmin(n_units))]
    return (
        f"one {what} alone has the label {label!r}, and its number is no mean over the "
        "rows"
    )


def _is_mean(scores):
    """Whether a score times the weight of the rows adds up over the rows."""
    asks = ByScorer(scores.scorer, scores.known, scores.resamples, scores.weights)
    rows, known = np.arange(len(scores.weights)), shuffled(scores.known)
    times = np.random.default_rng(0).integers(1, 100, (2, len(rows)))
    times = np.stack([*times, times.sum(axis=0)])
    found = np.array([asks.score(known, rows, of) for of in times])
    first, second, both = found * (times @ scores.weights)
    return np.isclose(first + second, both, rtol=1e-9)


@dataclass
class SampleScores:
    """Scores of unmoved and shuffled rows in samples, from predictions.

    A subclass implements `serves()`, whether it gives the scorer's numbers, and
    `_lost(known, donors, counts)`, scores lost by groups of repeats, (n_groups,
    n_samples).

    Parameters
    ----------
    scorer : Scorer
    known : dict
        Method -> what it returned for the unmoved rows.
    resamples : UnitsLess or OppositeHalves
        At most 201 bytes per row.
    weights : ndarray of shape (n_rows,)
        Their mean is 1.
    """

    scorer: object
    known: dict
    resamples: object
    weights: np.ndarray

    # what a user is told of a scorer that gives no errors
    why_not = None

    def deviations(self, known, donors):
        """What the scores lost in samples owe to rows and to pairs.

        Parameters
        ----------
        known : dict
            Method -> outputs of shuffled rows, (n_repeats, n_rows, ...).
        donors : ndarray of shape (n_repeats, n_rows)

        Returns
        -------
        ndarray of shape (2, n_groups, n_units)
            Of groups of repeats, which may have one each.
        """
        found = [self._lost(known, donors, of) for of in self.resamples.counts]
        return self.resamples.deviations(np.concatenate(found, axis=-1))


class ByFormula(SampleScores):
    """All repeats and samples at once, see `formulas`.

    The formula is that of what the scorer is, see `formula_of`. It is used where it
    gives the scorer's numbers of the outputs, and of those in another order, which are
    never perfect; also of rows that count several times.
    """

    formula = None

    def serves(self):
        """Whether the scorer has a formula, and it gives the scorer's numbers."""
        self.formula = formula_of(
            self.scorer.scorer, self.scorer.problem.model.estimator
        )
        if self.formula is None or len(self.known) > 1:
            return False
        n = self.scorer.problem.n_rows
        own = np.arange(n)
        times = np.stack([np.ones_like(own), 1 + own % 3])
        asks = ByScorer(self.scorer, self.known, self.resamples, self.weights)
        counts = np.ascontiguousarray(times.T, dtype=np.uint8)
        for known in (self.known, shuffled(self.known)):
            asked = [asks.score(known, own, of_rows) for of_rows in times]
            try:
                one_repeat = {method: of[np.newaxis] for method, of in known.items()}
                _, found = self._scores(one_repeat, own[np.newaxis], counts)
            except OF_OTHER_OUTPUTS:
                return False
            if np.shape(found) != (1, 2) or not np.allclose(found, asked, **CLOSE):
                return False
        return True

    def _lost(self, known, donors, counts):
        base, moved = self._scores(known, donors, counts)
        return base - moved

    def _scores(self, known, donors, counts):
        """Of the unmoved and the moved rows, (2, n_repeats, n_samples)."""
        ((method, moved),), y = known.items(), np.asarray(self.scorer.y)
        both = np.stack([np.broadcast_to(self.known[method], moved.shape), moved])
        weighting = Weighting(counts, donors, self.weights)
        estimator = self.scorer.problem.model.estimator
        return scores_by_formula(self.formula, estimator, y, method, both, weighting)


def scores_by_formula(formula, estimator, y, method, outputs, weighting):
    """Scores of a model's outputs, (..., n_samples).

    Parameters
    ----------
    formula : str
        See `formula_of`.
    estimator : object
        Fitted.
    y : ndarray of shape (n_rows,) or (n_rows, n_columns)
    method : str
        That gave the outputs.
    outputs : ndarray of shape (..., n_rows) or (..., n_rows, n_outputs)
    weighting : Weighting or AllRows

    Raises
    ------
    OF_OTHER_OUTPUTS
        Where the formula is one of other outputs.
    """
    with np.errstate(all="ignore"):  # a class that no row is given, say
        if formula in OF_TIMES:
            return OF_TIMES[formula](y, outputs, weighting)
        if formula in OF_PREDICTIONS:
            return OF_PREDICTIONS[formula](y, outputs, weighting.mean)
        if y.ndim == 1:
            classes = estimator.classes_
            if method == "predict":
                outputs = _codes(outputs.ravel(), classes).reshape(outputs.shape)
            y = _codes(y, classes)
        elif formula not in OF_LABELS:
            raise TypeError("a formula of one label per row")
        return OF_CLASSES[formula](y, outputs, weighting)


OF_OTHER_OUTPUTS = ValueError, TypeError, IndexError, AttributeError


def shuffled(known):
    """The same outputs, each at another row."""
    return {
        method: outputs[np.random.default_rng(0).permutation(len(outputs))]
        for method, outputs in known.items()
    }


def formula_of(scorer, estimator):
    """The name of a scorer's formula, by what the scorer is; None where it has none.

    A scorer is scikit-learn's scorer of a name if it calls the same function of the
    same outputs with the same options, a model's own score if its class inherits it.
    Numbers do not tell: where predictions are perfect, many scorers give the same.

    Parameters
    ----------
    scorer : callable
    estimator : object
        Fitted.
    """
    if scorer is own_score:
        return OF_METHODS.get(_inherited_score(estimator))
    named = (name for name in OF_PREDICTIONS | OF_CLASSES if _is_named(scorer, name))
    return next(named, None)


def _is_named(scorer, name):
    known = get_scorer(name)
    return type(scorer) is type(known) and vars(scorer) == vars(known)


def _inherited_score(estimator):
    """Where the `score` of a model, or of a pipeline's last step, was written."""
    last = getattr(estimator, "steps", [(None, estimator)])[-1][1]
    score = getattr(type(last), "score", None)
    place = ".".join(getattr(score, of, "") for of in ("__module__", "__qualname__"))
    if place == CONCORDANCE and predicts_times(last):
        return f"{place} of times"
    return place


CONCORDANCE = "sksurv.base.SurvivalAnalysisMixin.score"
# Where a method `score` is written -> the formula of its number.
OF_METHODS = {
    "sklearn.base.ClassifierMixin.score": "accuracy",
    "sklearn.base.RegressorMixin.score": "r2",
    CONCORDANCE: "concordance of risks",
    f"{CONCORDANCE} of times": "concordance of times",
    "sksurv.linear_model.aft.IPCRidge.score": "concordance of times",  # hands X on
}


def _codes(labels, classes):
    return positions(as_columns(labels), [classes])[:, 0]


class ByScorer(SampleScores):
    """The scorer itself, called for all repeats together, in each sample.

    Attributes
    ----------
    counts_by_weight : bool
        Whether it takes weights as numbers of rows; else rows are written out.
    """

    counts_by_weight = False

    def serves(self):
        """Whether two copies of all rows have the score of one, as of a mean.

        The scorer is tried with the outputs, and with those in another order, which are
        never perfect: perfect ones may have the score 0 whatever the rows count.
        """
        n = len(self.weights)
        rows, same = np.arange(n), partial(np.allclose, rtol=1e-9, atol=1e-12)
        tried = [self.known, shuffled(self.known)]
        times = [np.ones_like(rows), np.full_like(rows, 2)]
        times += [1 + (rows + shift) % 3 for shift in range(3)]

        def scores():
            return np.array([[self.score(o, rows, of) for of in times] for o in tried])

        written_out = scores()
        one, two, *some = written_out.T
        if not same(two, one):
            return False
        if same(some, one) and not same(*one):
            self.why_not = (
                "its number does not depend on how often single rows count, as that "
                "of a largest error"
            )
            return False
        self.counts_by_weight = True
        self.counts_by_weight = bool(same(scores(), written_out))
        if self._jumps(tried):
            self.why_not = (
                "its number jumps as rows count a little more or less, as a median does"
            )
            return False
        return True

    def _jumps(self, tried):
        """Whether a score is no smooth function of how often rows count.

        Samples whose weights are half as far from equal must give about the same L and
        Q, see `orders`. The squared error is at least half the variance of L: it hangs
        on jumps where the differences are larger than that.
        """
        halves = next(opposite_samples(self.scorer.problem.units))
        counts = halves[:, : 2 * N_TRIED].astype(np.intp)
        own, gap, size = np.arange(len(counts)), 0.0, 0.0
        for outputs in tried:
            level, *scores = [
                self.score(outputs, own, of_rows)
                for of_rows in (np.ones_like(own), *counts.T, *(counts + 2).T)
            ]
            far, near = map(orders, np.split(np.array(scores) - level, 2))
            gap += np.sum((far[0] - 2 * near[0]) ** 2 + (far[1] - 4 * near[1]) ** 2)
            size += np.sum(far[0] ** 2)
        return gap > size / 2

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
        scorer, options = self.scorer, {}
        if scorer.options or self.counts_by_weight:
            options["sample_weight"] = self.weights[rows] * times
        table = scorer.problem.table
        # a scorer of scikit-learn's does not look at X
        X = (table if scorer.is_served else table.take(rows)).native
        stands = Replayed(scorer.problem.model.estimator, known)
        with warnings.catch_warnings(), users_code():
            warnings.simplefilter("ignore")  # a class that no row is given, say
            try:
                y = rows_of_target(scorer.y, rows)
                with config_context(skip_parameter_validation=True):
                    return float(scorer.scorer(stands, X, y, **options))
            except (ValueError, TypeError, ArithmeticError):
                return np.nan


SMALLEST = np.finfo(np.float64).eps  # probability that scikit-learn's log loss takes


def _squared_error(y, f, mean):
    return mean((y - f) ** 2)


def _variance(values, mean):
    values = values - np.mean(values, axis=-1, keepdims=True)
    return mean(values**2) - mean(values) ** 2


def _of_columns(of_one):
    """The formula of y of several columns: the mean of those of each."""

    def score(y, f, mean):
        if y.ndim == 1:
            return of_one(1.0 * y, f, mean)  # NumPy does not subtract bool
        of_columns = zip(np.moveaxis(y, -1, 0), np.moveaxis(f, -1, 0))
        return np.mean([of_one(1.0 * a, b, mean) for a, b in of_columns], axis=0)

    return score


def _accuracy(y, f, mean):
    right = y == f
    return mean(right if y.ndim == 1 else right.all(axis=-1))


# Scores of outputs (..., n_samples), of y (n_samples,) and a function `mean` over the
# samples; y and outputs may have columns, which come last.
OF_PREDICTIONS = {
    "accuracy": _accuracy,
    "explained_variance": _of_columns(
        lambda y, f, mean: 1.0 - _variance(y - f, mean) / _variance(y, mean)
    ),
    "neg_mean_absolute_error": _of_columns(lambda y, f, mean: -mean(np.abs(y - f))),
    "neg_mean_squared_error": _of_columns(
        lambda y, f, mean: -_squared_error(y, f, mean)
    ),
    "neg_root_mean_squared_error": _of_columns(
        lambda y, f, mean: -np.sqrt(_squared_error(y, f, mean))
    ),
    "r2": _of_columns(
        lambda y, f, mean: 1.0 - _squared_error(y, f, mean) / _variance(y, mean)
    ),
}


def _log_loss(codes, f, weighting):
    chance = np.take_along_axis(f, np.broadcast_to(codes, f.shape[:-1])[..., None], -1)
    return weighting.mean(np.log(np.maximum(chance[..., 0], SMALLEST)))


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


def _hits(codes, f, weighting):
    """Shares of rows that have each label, are called so, and both.

    Labels are classes, or the columns of several labels per row. A class that neither
    y nor the outputs of a repeat hold has no share.

    Returns
    -------
    list of ndarray of shape (n_labels, ..., n_samples)
    """
    if codes.ndim == 2:
        pairs = list(zip(codes.T == 1, np.moveaxis(f, -1, 0) == 1))
    else:
        pairs = [(codes == c, f == c) for c in range(max(codes.max(), f.max(), 1) + 1)]
    found = [
        [weighting.mean(np.broadcast_to(rows, b.shape)) for rows in (a, b, a & b)]
        for a, b in pairs
    ]
    return [np.array(shares) for shares in zip(*found)]


# (share of the rows of a class, of those called so, of both) -> numerator, denominator
RATIOS = {
    "f1": lambda are, called, both: (2.0 * both, are + called),
    "precision": lambda are, called, both: (both, called),
    "recall": lambda are, called, both: (both, are),
}


def _ratio(kind, average):
    """A formula of `RATIOS` averaged over the labels, as scikit-learn's scorers do."""

    def score(codes, f, weighting):
        hits = _hits(codes, f, weighting)
        if average == "binary":
            return divided(*RATIOS[kind](*(of_labels[1] for of_labels in hits)))
        if average == "micro":
            return divided(*RATIOS[kind](*(of.sum(axis=0) for of in hits)))
        are, called, _ = hits
        if average == "weighted":
            shares = are
        elif codes.ndim == 2:
            shares = np.ones_like(are)
        else:
            shares = 1.0 * (are + called > 0)
        of_labels = divided(*RATIOS[kind](*hits))
        return divided((shares * of_labels).sum(axis=0), shares.sum(axis=0))

    return score


def _balanced_accuracy(codes, f, weighting):
    are, _, both = _hits(codes, f, weighting)
    return divided(both, are).sum(axis=0) / (are > 0).sum(axis=0)


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
    "balanced_accuracy": _balanced_accuracy,
    "neg_brier_score": _brier,
    "neg_log_loss": _log_loss,
    "roc_auc": _area,
    "roc_auc_ovr": _mean_of_classes(_area),
}
# Formulas that take means alone, and the method whose outputs they take. Their scorers
# have no warnings of the outputs.
OF_MEANS = dict.fromkeys(OF_PREDICTIONS, "predict")
OF_MEANS |= dict.fromkeys(["neg_brier_score", "neg_log_loss"], "predict_proba")
OF_CLASSES |= {kind: _ratio(kind, "binary") for kind in RATIOS}
# Those that take several labels per row, too.
OF_LABELS = {
    f"{kind}_{average}": _ratio(kind, average)
    for kind in RATIOS
    for average in ("macro", "micro", "weighted")
}
OF_CLASSES |= OF_LABELS


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
