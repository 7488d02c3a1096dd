"""The score along a path of subsets; matplotlib is imported when drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import Display, single_axes
from skvarimp._types import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionPathDisplay(Display):
    """Score against number of features, with the kept and the best subset.

    Parameters
    ----------
    n_features : array-like of shape (n_steps,)
        Sizes of the subsets.
    score : array-like of shape (n_steps,)
        Their mean scores.
    fold_scores : array-like of shape (n_steps, n_folds)
        The scores of the folds.
    chosen : int
        Size of the subset kept.
    needed : float, default=None
        The score that was good enough.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Figure of the axes.
    line_ : matplotlib Line2D
        The scores.

    See Also
    --------
    BackwardEliminationSelector : Its `plot_path` draws this.

    Examples
    --------
    >>> from skvarimp import SelectionPathDisplay
    >>> display = SelectionPathDisplay(
    ...     n_features=[3, 2, 1],
    ...     score=[0.8, 0.8, 0.3],
    ...     fold_scores=[[0.8], [0.8], [0.3]],
    ...     chosen=2,
    ... ).plot()
    >>> display.ax_.get_xlabel()
    'number of features'
    """

    n_features: ArrayLike
    score: ArrayLike
    fold_scores: ArrayLike
    chosen: int
    needed: float | None = None

    _draw = "from_selector"

    @classmethod
    def from_selector(cls, selector: Any, **kwargs: Any) -> Self:
        """Draw the path of a fitted selector.

        Parameters
        ----------
        selector : BackwardEliminationSelector or ForwardSelector
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : SelectionPathDisplay
            The drawn display.
        """
        drawn = {k: selector.path_[k] for k in ("n_features", "score", "fold_scores")}
        drawn |= {"chosen": selector.n_features_, "needed": selector.score_needed_}
        return cls(**drawn).plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.

        Returns
        -------
        self : SelectionPathDisplay
            With `ax_`, `figure_` and `line_`.
        """
        ax = single_axes(ax, figsize, (6.4, 4.0), title)
        order = np.argsort(self.n_features)
        n = np.asarray(self.n_features)[order]
        score = np.asarray(self.score)[order]
        folds = np.asarray(self.fold_scores)[order]
        if folds.shape[1] > 1:
            spread = folds.std(axis=1, ddof=1)
            style = {"alpha": 0.25, "color": "C0", "lw": 0}
            style["label"] = "± 1 standard deviation over folds"
            ax.fill_between(n, score - spread, score + spread, **style)
        (self.line_,) = ax.plot(n, score, ".-", color="C0", label="score")
        kept, best = int(np.flatnonzero(n == self.chosen)[0]), int(np.argmax(score))
        for at, what, mark in ((best, "best", "x"), (kept, "kept", "o")):
            label = f"{what}: {score[at]:.4g} with {n[at]} of {n.max()}"
            style = {"ms": 10, "mfc": "none", "mec": "black", "mew": 1.5}
            ax.plot(n[at], score[at], mark, label=label, **style)
        if self.needed is not None:
            ax.axhline(self.needed, color="0.4", lw=0.8, ls="--", label="good enough")
        if n.max() / n.min() >= 50:
            ax.set_xscale("log")
        ax.set(xlabel="number of features", ylabel="held-out score")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
