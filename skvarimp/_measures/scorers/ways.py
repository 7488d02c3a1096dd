"""How the scores lost in samples are found: by a formula, or by the scorer itself."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn import config_context

from skvarimp._data.table import rows_of_target
from skvarimp._measures.scorers.formulas import OF_CLASSES, OF_PREDICTIONS, OF_TIMES
from skvarimp._measures.scorers.resamples import Weighting, opposite_samples, orders
from skvarimp._measures.scorers.stand_ins import Replayed
from skvarimp._models.labels import as_columns, positions
from skvarimp._running.guards import users_code
from skvarimp._running.memory import even_slices

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
    """The scorer itself, called for halves of the repeats together, in each sample.

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
        n_repeats, n = donors.shape
        groups = even_slices(n_repeats, -(-n_repeats // 2))
        lost, own = np.empty((len(groups), counts.shape[1])), np.arange(n)
        for of_group, group in zip(lost, groups):
            rows, moved = np.tile(own, len(donors[group])), donors[group].ravel()
            outputs = {name: np.concatenate(of[group]) for name, of in known.items()}
            for b, of_sample in enumerate(counts.T):
                times = (of_sample[rows] + of_sample[moved]) // 2
                base = np.bincount(rows, times, n).astype(np.intp)
                before = self.score(self.known, own, base)
                of_group[b] = before - self.score(outputs, rows, times)
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
