"""Importance of every oligomer at every position: FIRM and POIM for sequences."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import Interval, validate_params
from skvarimp._running.guards import no_overflow, whole_fit
from skvarimp._types import AnyEstimator, Axes, Floats, Frame
from skvarimp.sequence._background import markov_chain
from skvarimp.sequence._conditional import conditional_scores
from skvarimp.sequence._motif import MotifProfile, motif_profile
from skvarimp.sequence._plots import (
    MotifDisplay,
    OligomerHeatmapDisplay,
    SequenceLogoDisplay,
)
from skvarimp.sequence._sequences import (
    check_order,
    encode,
    oligomer_code,
    oligomer_names,
)
from skvarimp.sequence._weights import OligomerWeights

_CERTAIN = 4 * np.finfo(np.float64).eps  # 1 - p this small is rounding


class PositionalOligomerImportance(BaseEstimator):
    """Importance of all oligomers of one length at all positions of a sequence.

    The importance says how the expected score changes if the oligomer z stands at
    position i. It includes the shorter oligomers within z, the longer oligomers that
    contain z, and those that overlap z. The weight of z alone does not include these.

    Q'(z, i) = E[s(X) given X[i] = z] - E[s(X)], eq. (5) of [1]_, is `poim_`;
    Q(z, i) = Q'(z, i) sqrt(p / (1 - p)), p = Pr(X[i] = z), the signed standard
    deviation of the conditional expected score, eq. (10), is `importances_`. X is
    random with the letters of the `background`, not with those of any data (unless
    the background is taken from data).

    Parameters
    ----------
    order : int
        Number of letters K of the oligomers; it may be larger or smaller than the
        largest order the score uses.
    markov_order : int, default=0
        Number of letters d that a letter of the background depends on; 0 makes
        letters independent.
    background : {"uniform", "empirical"} or array-like, default="uniform"
        Distribution of X. "uniform": all letters are equally probable. "empirical":
        frequencies of the (d + 1)-mers of the X given to `fit`, pooled over
        positions. An array: joint probabilities of d + 1 consecutive letters (d = 0:
        of the letters), of shape (A ** (d + 1),) for all positions, or
        (length - d, A ** (d + 1)) for each position; see `oligomer_frequencies`. One
        row for all positions is a chain that starts with its first d letters and
        continues with its conditional probabilities.

    Attributes
    ----------
    importances_ : ndarray of shape (length - K + 1, A ** K)
        Q, in units of the score; positive where z raises it. Rows are positions,
        columns oligomers in the order of `itertools.product`. 0 where p is 0 or 1.
    poim_ : ndarray of shape (length - K + 1, A ** K)
        Q', in units of the score; NaN where p is 0, because it is not defined there.
    probabilities_ : ndarray of shape (length - K + 1, A ** K)
        p under the background.
    expected_score_ : float
        E[s(X)], intercept included.
    weights_ : OligomerWeights
        The weights that the score adds up.

    See Also
    --------
    OligomerWeights : The weight of each oligomer alone.
    FIRMImportance : The same measure for any feature of tabular data.

    Notes
    -----
    The mean over all sequences is exact, without sampling. With Markov order 0 a
    weight counts for z if its window overlaps z, averaged over the letters outside.
    With d >= 1 other windows count too, because their letters depend on z.

    Q' = Q sqrt((1 - p) / p). The last formula of section 2.3 in the paper has the
    root upside down; its eq. (10) is right.

    Cost: time and memory O(length (A ** max(K, d + 1) + weights of higher order)),
    about 6 arrays of the size of `importances_`.

    References
    ----------
    .. [1] A. Zien, N. Kraemer, S. Sonnenburg, G. Raetsch, "The Feature Importance
       Ranking Measure", ECML PKDD 2009, sections 1.2, 2.3 and 3.3.

    Examples
    --------
    AB at position 0 has the weight 1. It has the probability 1/4, or 1/2 if A stands
    at position 0. So Q' of A there is 1/2 - 1/4 = 1/4, and Q = 1/4 because p = 1/2.

    >>> from skvarimp.sequence import OligomerWeights, PositionalOligomerImportance
    >>> weights = OligomerWeights({2: [[0, 1, 0, 0]]}, alphabet="AB")
    >>> importance = PositionalOligomerImportance(order=1).fit(weights)
    >>> importance.poim_
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    >>> importance.score_of("A")
    array([ 0.25, -0.25])
    """

    _parameter_constraints: dict = {  # noqa: RUF012 scikit-learn's form
        "order": [Interval(Integral, 1, None, closed="left")],
        "markov_order": [Interval(Integral, 0, None, closed="left")],
        "background": [str, "array-like"],
    }

    def __init__(
        self,
        order: int,
        *,
        markov_order: int = 0,
        background: Literal["uniform", "empirical"] | ArrayLike = "uniform",
    ) -> None:
        self.order = order
        self.markov_order = markov_order
        self.background = background

    @whole_fit
    @no_overflow()
    def fit(
        self,
        weights_or_estimator: OligomerWeights | AnyEstimator,
        X: ArrayLike | None = None,
    ) -> Self:
        """Compute the importances of a score.

        Parameters
        ----------
        weights_or_estimator : OligomerWeights or object
            Weights, or a fitted model from which `OligomerWeights.from_estimator`
            can read them without further parameters: a pipeline of
            `OligomerVectorizer` and a linear model, or a support vector machine whose
            kernel is `functools.partial(weighted_degree_kernel, ...)`.
        X : sequence of str of shape (n_samples,), default=None
            Sequences; needed for the empirical background, and for support vector
            machines, which take the training sequences.

        Returns
        -------
        self : object
            The fitted instance.
        """
        validate_params(self)
        weights = weights_or_estimator
        if not isinstance(weights, OligomerWeights):
            weights = OligomerWeights.from_estimator(weights_or_estimator, X)
        length, n_letters = weights.sequence_length, len(weights.alphabet)
        check_order("order", self.order, length)
        letters = None
        if X is not None:
            letters = encode(
                X, weights.alphabet, unknown=weights.unknown, length=length
            )
        self._chain = markov_chain(
            self.background, self.markov_order, n_letters, length, letters
        )
        self.weights_ = weights
        self.poim_, self.importances_, self.probabilities_, expected = self._compute(
            self.order
        )
        self.expected_score_ = weights.intercept + expected
        return self

    def _compute(self, order):
        """Q', Q, p and the expected score without intercept, for one order."""
        given = conditional_scores(self.weights_.tables, self._chain, order)
        p = self._chain.probabilities(order)
        expected = np.einsum("ij,ij->i", p, given)
        poim = given - expected[:, np.newaxis]  # eq. (5)
        ratio = np.divide(p, 1 - p, out=np.zeros_like(p), where=1 - p > _CERTAIN)
        importances = poim * np.sqrt(ratio)  # section 2.3, from eq. (10)
        poim[p == 0] = np.nan
        return poim, importances, p, float(expected[0])

    @property
    def oligomers_(self) -> NDArray[Any]:
        """Names of the columns of `importances_`, array of str."""
        check_is_fitted(self)
        return oligomer_names(self.weights_.alphabet, self._fitted_order)

    @property
    def _fitted_order(self):
        """Letters of the oligomers in `importances_`, whatever `order` says now."""
        return self.weights_.sequence_length - len(self.importances_) + 1

    @no_overflow()
    def score_of(self, oligomer: str) -> Floats:
        """Importances of one oligomer at every position.

        Parameters
        ----------
        oligomer : str
            `order` letters.

        Returns
        -------
        ndarray of shape (n_positions,)
            Its column of `importances_`.
        """
        column = self._column(oligomer, "oligomer")
        return self.importances_[:, column].copy()

    def _column(self, oligomer, name):
        check_is_fitted(self)
        code = oligomer_code(oligomer, self.weights_.alphabet, name)
        if len(oligomer) != self._fitted_order:
            raise ValueError(
                f"`{name}` must have {self._fitted_order} letters, as in this fit, got "
                f"{oligomer!r}. Fit with order={len(oligomer)} for it."
            )
        return code

    @no_overflow()
    def max_by_order(self, max_order: int) -> Floats:
        """Largest absolute importance at each position, for orders 1, 2, ...

        This shows which lengths of oligomers matter where. All orders are on one
        scale, because importances are standard deviations.

        Parameters
        ----------
        max_order : int
            Largest number of letters.

        Returns
        -------
        ndarray of shape (max_order, length)
            Row k - 1: the maximum over the k-mers that start at each position; NaN at
            the last k - 1 positions, where no k-mer starts.
        """
        check_is_fitted(self)
        length = self.weights_.sequence_length
        check_order("max_order", max_order, length)
        largest = np.full((max_order, length), np.nan)
        for order in range(1, max_order + 1):
            known = order == self._fitted_order
            importances = self.importances_ if known else self._compute(order)[1]
            largest[order - 1, : len(importances)] = np.abs(importances).max(axis=1)
        return largest

    def of_letters(self) -> Floats:
        """Importances of single letters, whatever `order` is.

        Returns
        -------
        ndarray of shape (length, n_letters)
            Those of order 1.
        """
        check_is_fitted(self)
        return self.importances_ if self._fitted_order == 1 else self._compute(1)[1]

    def to_frame(self) -> Frame:
        """Table of the importances, largest absolute value first.

        Returns
        -------
        pandas.DataFrame of shape (n_positions * A ** K, 3)
            Columns position, oligomer, importance; ties by position, then oligomer.
        """
        import pandas as pd

        check_is_fitted(self)
        n_oligomers = self.importances_.shape[1]
        flat = self.importances_.ravel()
        order = np.argsort(-np.abs(flat), kind="stable")
        position, column = np.divmod(order, n_oligomers)
        return pd.DataFrame(
            {
                "position": position,
                "oligomer": self.oligomers_[column],
                "importance": flat[order],
            }
        )

    @no_overflow()
    def motif_profile(self, motif: str) -> MotifProfile:
        """Importances of a motif and of its neighbours by position.

        Parameters
        ----------
        motif : str
            `order` letters.

        Returns
        -------
        MotifProfile
            What figure 3, right, of the paper shows.
        """
        code = self._column(motif, "motif")
        return motif_profile(
            self.importances_, motif, code, len(self.weights_.alphabet), "importance"
        )

    def plot(
        self, ax: Axes | None = None, *, n_oligomers: int = 20, **kwargs: Any
    ) -> OligomerHeatmapDisplay:
        """Draw a heat map of the most important oligomers by position.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        n_oligomers : int, default=20
            Number of rows: the oligomers with the largest absolute importance at
            any position.
        **kwargs : dict
            Passed to `OligomerHeatmapDisplay.plot`.

        Returns
        -------
        display : OligomerHeatmapDisplay
            Holds `ax_` and `figure_`.
        """
        return OligomerHeatmapDisplay.from_importance(
            self, n_oligomers=n_oligomers, ax=ax, **kwargs
        )

    def plot_logo(self, ax: Axes | None = None, **kwargs: Any) -> SequenceLogoDisplay:
        """Draw single letters by position, as tall as their importances.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `SequenceLogoDisplay.plot`.

        Returns
        -------
        display : SequenceLogoDisplay
            Holds `ax_` and `figure_`.
        """
        return SequenceLogoDisplay.from_importance(self, ax=ax, **kwargs)

    def plot_motif(
        self, motif: str, ax: Axes | None = None, **kwargs: Any
    ) -> MotifDisplay:
        """Draw the importances of a motif by position: figure 3, right, of the paper.

        Parameters
        ----------
        motif : str
            `order` letters.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `MotifDisplay.plot`.

        Returns
        -------
        display : MotifDisplay
            Holds `ax_` and `figure_`.
        """
        return MotifDisplay(self.motif_profile(motif)).plot(ax=ax, **kwargs)
