"""`ImpurityImportance`: what the splits of trees earn, on training or other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.compose import TransformedTargetRegressor

from skvarimp._data.base_table import column_names
from skvarimp._data.statistics import Units
from skvarimp._data.table import are_apart, as_table, check_fitted, check_in_memory
from skvarimp._data.validation import Interval, check_rows, check_target
from skvarimp._display.matrix import AssociationDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.behind_transformers import (
    before_transformed_target,
    fit_behind_transformers,
    has_transformers,
)
from skvarimp._measures.impurity.loss_decrease import over_outputs
from skvarimp._measures.impurity.readers import (
    READERS,
    each_ensemble,
    named_inside,
)
from skvarimp._measures.impurity.rows import (
    check_training_only,
    earns,
    fit_training_rows,
    not_bagged,
    out_of_bag_rows,
    rows_in_trees,
)
from skvarimp._measures.impurity.tree_reader import not_trees
from skvarimp._measures.rows import KeptRows, constant_columns, fingerprint, store_rows
from skvarimp._models.model import names_in, target_names
from skvarimp._models.registry import unwrapped
from skvarimp._running.guards import no_overflow, whole_fit
from skvarimp._types import AnyEstimator, Axes, Matrix


@dataclass(kw_only=True, eq=False, repr=False)
class ImpurityImportance(BaseImportance):
    """Importance of each column from the impurity that a model's splits remove.

    On the training rows, every split of a tree lowers the risk, the probability of a
    node times its impurity; a column earns what the splits on it take away. With
    `surrogates`, a column also earns for the splits it could have stood in for: at each
    node, the cut on it that best imitates the optimal split. This is a statement about
    the training data and the trees grown on it, and it favours columns with many
    values, because trees can split on their noise.

    On other rows (`rows="oob"` or `"unseen"`), a split earns only if it is right about
    rows that it was not chosen for. A column that has nothing to do with the target and
    the other columns then has mean 0, however many values it has. Without surrogates
    nothing is left for the second of two columns that carry the same information.

    Parameters
    ----------
    rows : {"training", "oob", "unseen"}, default="training"
        Rows that the splits earn on.

        - "training": the rows that the trees were grown on, from the numbers that the
          trees keep.
        - "oob": of a forest or bagging with bootstrap, the rows that each tree was not
          grown on; X and y are the training data in order.
        - "unseen": X and y are rows that the model was not fitted to. Besides
          scikit-learn's trees also models of XGBoost, LightGBM and CatBoost.

        The parameters `criterion`, `surrogates`, `convention` and `surrogate_cuts` are
        for "training" only.
    criterion : {"auto", "gini", "deviance", "error", "mse"}, default="auto"
        Impurity of a node. "auto": the one the trees were grown by; "gini", the sum of
        p (1 - p); "deviance", minus the sum of p log2(p); "error", the fraction outside
        the largest class; "mse", the variance of the target. For several outputs,
        their mean. Histogram gradient boosting has gains in place of an impurity
        and takes only "auto".
    surrogates : bool or int, default=False
        Whether surrogate splits earn too. A number: at most that many are kept at a
        node, and the others do not enter any result.
    convention : {"matlab", "rpart", "sklearn"}, default="matlab"
        How splits are added up.

        - "matlab": the sum of the changes of risk of a tree divided by its number of
          branch nodes; a surrogate earns the change its own split would make.
        - "rpart": the plain sum, in units of the rows' weight (for regression, of the
          target's sum of squares); a surrogate earns its association times the primary
          split's decrease, and leaves at least 2 rows on each side.
        - "sklearn": `feature_importances_` as the ensemble's own class normalises it;
          a surrogate earns as in "matlab".

    surrogate_cuts : {"all", "class_boundary"}, default="all"
        "class_boundary" leaves out cuts between two adjacent values that hold only one
        and the same class (classification trees).
    keep_rows : bool, default=False
        Whether to store `influences_` and `row_importances_`; for "oob" and "unseen".
    n_jobs : int, default=None
        Trees searched for surrogates at the same time, through joblib. The result does
        not depend on it.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        On training rows the average over the trees, in the units of the convention; 0
        for a column without splits. Not normalised, except by "sklearn". On other rows
        the mean over the outputs, in the units of the loss (see Notes); negative where
        the trees fitted noise.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        On training rows one output: the impurity of several outputs is their mean. On
        other rows, and of MultiOutputRegressor and the like, one for each column of y.
    association_ : ndarray of shape (n_features, n_features) or None
        Feature (i, j) averages, over the optimal splits on i, the positive predictive
        measure of association of the best surrogate on j (0 where it is negative),
        then over the trees; a tree that never splits on i counts with the identity's
        row. None without surrogates.
    surrogate_splits_ : structured ndarray of shape (n_surrogates,) or None
        The kept surrogates by tree, node and rank (1 = best), with the fields `tree`,
        `node`, `feature`, `threshold`, `direction` (+1: x <= threshold goes where the
        primary split's left goes, -1: the other way), `association` and `rank`, in the
        smallest integer types that hold them. None without surrogates.
    standard_errors_ : ndarray of shape (n_features,) or None
        On other rows: over the rows, with the trees and their stages held fixed. None
        on training rows.
    influences_ : ndarray of shape (n_samples, n_features)
        How much each row moves each importance; weighted mean 0, NaN for rows of
        weight 0. With `keep_rows=True`.
    row_importances_ : ndarray of shape (n_samples, n_features)
        What each row contributes; the weighted mean is `importances_`. With
        `keep_rows=True`.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    features_ : list of str
        Names of the columns.
    output_names_ : list of str
        ["y"]; on other rows the columns of a frame y, or ["y0", "y1", ...].
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where they have names.

    Raises
    ------
    TypeError
        For a model that is not a tree, a known ensemble of trees, or a pipeline of one
        with column-wise steps, whose features get what their columns earn together.
    ValueError
        Where X, y or `sample_weight` are needed and are not the training data, or the
        training cannot be rebuilt: AdaBoostRegressor and gradient boosting with
        `subsample` below 1 draw rows without a record. On other rows for losses that
        are not those of single rows, such as ranking.

    See Also
    --------
    PermutationImportance : Measures on any rows, for any model.

    Notes
    -----
    Trees: DecisionTree, ExtraTree, RandomForest, ExtraTrees, RandomTreesEmbedding,
    Bagging of trees, AdaBoost, GradientBoosting, HistGradientBoosting. Surrogates of
    the last two earn in the rpart convention: the gradients that their trees were grown
    on are not kept. Categorical columns of histogram gradient boosting send each
    category where most of its weight goes (threshold NaN).

    The association of the cut x_k <= v with the optimal split x_j <= u at a node is
    (min(P_L, P_R) - (1 - P_LL - P_RR)) / min(P_L, P_R), proportions by weight among the
    rows observed in both columns; the mirrored cut counts as well. Only associations
    above 0 make surrogates. Thresholds lie midway between adjacent distinct values;
    ties within 1e-10 go to the lowest threshold, then to the lowest column.

    On other rows, a split of the node n earns from the rows i that come to it

        sum_i w_i (g_i - g_n) (v_i - v_n),

    weights w over all rows summing to 1, v_i the value of the child that row i goes to,
    g_i minus the derivative of the loss at the prediction so far, and g_n and v_n their
    weighted means over these rows. The value of an inner node is the mean of its leaves
    by their training weight. The prediction so far is the value at the tree's root plus
    what the earlier stages of boosting predict before they ask for the split's own
    column: the value at the first split on it that the row comes to. Later stages
    repeat the noise that earlier ones fitted to a column, and would charge the column
    for it. So the side where a column of pure noise sends a row says nothing about g_i.

    Trees of forests and bagging each predict alone, by half the squared error of the
    target or of all class indicators; boosting has its own loss, AdaBoostClassifier the
    exponential loss, and AdaBoostRegressor is the weighted mean of its trees. For one
    regression tree this is Li et al.'s MDI-oob [3]_ with the target and the values
    centred at each node; on the training rows it equals the unnormalised decrease of
    impurity, which for regression sums to the variance that the tree explains.

    Cost on other rows: each row passes down each tree once and up twice, and n_samples
    times n_features numbers are kept. For losses other than the squared error and the
    log loss, also the loss's derivative for each row, tree and column split on.

    Cost: n_features times the rows of every level of every tree, about the cost of
    growing the trees; n_features times n_samples numbers are sorted once, and a sparse
    X is made dense. Without surrogates, the number of nodes.

    References
    ----------
    .. [1] The MathWorks, `predictorImportance`, sections Predictor Importance,
       Predictive Measure of Association, and Algorithms.
    .. [2] L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and
       Regression Trees, 1984, section 5.3.
    .. [3] X. Li, Y. Wang, S. Basu, K. Kumbier and B. Yu, "A Debiased MDI Feature
       Importance Measure for Random Forests", NeurIPS 2019, equation (5).

    Examples
    --------
    A stump splits six rows on x0 into pure halves: the Gini impurity falls from 1/2
    to 0. The cut x1 <= 1.5 sends one row of the six the other way, association
    (1/2 - 1/6) / (1/2), and would lower the impurity by 1/4.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skvarimp import ImpurityImportance
    >>> X = np.array([[0, 1], [0, 1], [0, 3], [1, 2], [1, 4], [1, 4]])
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> ImpurityImportance().fit(stump).importances_
    array([0.5, 0. ])
    >>> imp = ImpurityImportance(surrogates=True).fit(stump, X, y)
    >>> imp.importances_
    array([0.5 , 0.25])
    >>> imp.association_.round(3)
    array([[1.   , 0.667],
           [0.   , 1.   ]])
    >>> imp.surrogate_splits_["threshold"]
    array([1.5])

    Two rows that the stump has not seen, one on each side and both of the first class.
    The class does not depend on the side, so the split earns nothing. Had the second
    row been of the other class, the indicators and the values of the children would be
    1/2 off their means in both rows and both classes: 1/4 + 1/4.

    >>> unseen = ImpurityImportance(rows="unseen", keep_rows=True)
    >>> unseen.fit(stump, [[0, 2], [1, 2]], [0, 0]).importances_
    array([0., 0.])
    >>> unseen.fit(stump, [[0, 2], [1, 2]], [0, 1]).importances_
    array([0.5, 0. ])
    >>> unseen.row_importances_[:, 0]
    array([0.5, 0.5])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "surrogates": ["boolean", Interval(Integral, 1, None, closed="left")],
    }

    rows: Literal["training", "oob", "unseen"] = "training"
    criterion: Literal["auto", "gini", "deviance", "error", "mse"] = "auto"
    surrogates: bool | int = False
    convention: Literal["matlab", "rpart", "sklearn"] = "matlab"
    surrogate_cuts: Literal["all", "class_boundary"] = "all"
    keep_rows: bool = False
    n_jobs: int | None = None

    @property
    def _reads_training_rows(self):
        return self.rows != "unseen"

    @property
    def _may_be_negative(self):
        return self.rows != "training"

    @property
    def _takes_groups(self):
        return self.rows != "training"

    def _cannot_serve(self, estimator):
        on_training, inside = self.rows == "training", named_inside(estimator)
        if not (type(inside) in READERS if on_training else earns(inside)):
            return str(not_trees(type(inside).__name__))
        return not_bagged(inside) if self.rows == "oob" else None

    @whole_fit
    @no_overflow()
    def fit(
        self,
        estimator: AnyEstimator,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        feature_names: ArrayLike | None = None,
        tree_weights: ArrayLike | None = None,
    ) -> Self:
        """Compute the importances of a fitted tree or ensemble of trees.

        Parameters
        ----------
        estimator : object
            Fitted tree or ensemble of trees; it is not modified. A subclass counts as
            its base if it does not predict otherwise. Inside TransformedTargetRegressor
            trees earn in units of the transformed target; of MultiOutputRegressor and
            MultiOutputClassifier each output has its own trees, and importances are
            means over the outputs.
        X : {array-like, frame, sparse} of shape (n_samples, n_features), default=None
            Training data, in the order of fit. Needed for surrogates, for another
            criterion than the trees' own, and for rows="oob"; otherwise only its
            column names are used. With rows="unseen", other rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their target, where X is needed.
        sample_weight : array-like of shape (n_samples,), default=None
            What the estimator was fitted with; with rows="unseen", weights of the
            rows. Importances treat integer weights as repeated rows. Standard errors do
            not depend on the scale of the weights, so give counts as repeated rows
            where errors matter.
        groups : array-like of shape (n_samples,), default=None
            Labels of rows that may depend on each other, such as the visits of one
            patient, for the standard errors of rows="oob" and rows="unseen".
        tree_weights : array-like of shape (n_trees,), default=None
            Weights of the trees in the average, in place of the ensemble's own; in
            gradient boosting by stage, then class.
        feature_names : array-like of shape (n_features,), default=None
            Names for the columns of an array or a sparse matrix, such as a pipeline's
            ``pipeline[:-1].get_feature_names_out()``; a frame has its own.

        Returns
        -------
        self : object
            The fitted instance.
        """
        X, y, sample_weight, groups = self._started(
            estimator, X, y, sample_weight, groups, feature_names
        )
        self._fit(estimator, X, y, sample_weight, tree_weights, groups)
        return self

    def _fit(self, estimator, X, y, sample_weight, tree_weights=None, groups=None):
        if has_transformers(estimator):
            more = {"tree_weights": tree_weights, "groups": groups}
            fit_behind_transformers(self, estimator, X, y, sample_weight, more)
            return
        check_fitted(estimator)
        estimator = unwrapped(estimator)
        if isinstance(estimator, TransformedTargetRegressor):
            check_in_memory(y, "y")  # which is transformed here
            inside, y = before_transformed_target(estimator, y)
            X = None if X is None else as_table(X)
            self._fit(inside, X, y, sample_weight, tree_weights, groups)
            return
        self.association_ = self.surrogate_splits_ = None
        if self.rows == "training":
            fit_training_rows(self, estimator, X, y, sample_weight, tree_weights)
        else:
            check_training_only(self, tree_weights)
            self._fit_other_rows(estimator, X, y, sample_weight, groups)

    def _fit_other_rows(self, estimator, X, y, sample_weight, groups):
        for ensemble, _ in each_ensemble(estimator, None):
            if not earns(ensemble):
                raise not_trees(type(ensemble).__name__)
        if X is None or y is None:
            missing = "X" if X is None else "y"
            raise ValueError(f"rows={self.rows!r} needs X and y, got {missing}=None.")
        table = as_table(X)
        self._set_features(table, None, estimator)
        target = check_target(y, table.n_samples)
        weights, kept, labels = check_rows(sample_weight, groups, table.n_samples)
        places, in_trees = np.flatnonzero(kept), []
        some = table if kept.all() else table.take(places)
        for ensemble, output in each_ensemble(estimator, target):
            rows = rows_in_trees(ensemble, some, output[places], weights[places])
            if self.rows == "oob":
                outside = out_of_bag_rows(ensemble, table, output, sample_weight, kept)
                rows.outside = outside
            in_trees.append(rows)
        units = Units.of(rows.weights / rows.weights.sum(), labels)
        if are_apart(X):
            sums, error = X.sums_in_trees(estimator, in_trees), X.error_by(units)
        else:
            sums, error = [rows.sums() for rows in in_trees], units.error
        every = zip(in_trees, sums)
        decrease = over_outputs([rows.decrease(of_rows) for rows, of_rows in every])
        errors = error(decrease.influences.T)
        self._store_earned(decrease, errors, units, y)
        if self.keep_rows:
            influences, rows = np.zeros((2, len(places), table.n_columns))
            influences[:, decrease.columns] = decrease.influences
            rows[:, decrease.columns] = decrease.rows
            found = KeptRows(influences, rows, units, kept, fingerprint(some))
            store_rows(self, replace(found, constant=constant_columns(some)))

    def _store_earned(self, decrease, errors_of_columns, units, y):
        n_columns, n_outputs = self.n_features_in_, decrease.totals.shape[1]
        importances, errors = np.zeros((n_columns, n_outputs)), np.zeros(n_columns)
        importances[decrease.columns] = decrease.totals
        errors[decrease.columns] = errors_of_columns
        names = column_names(getattr(self, "feature_names_in_", None), n_columns)
        outputs = target_names(n_outputs, names_in(y))
        self._store(importances, names, outputs, errors, units=units)

    def plot_association(
        self, ax: Axes | None = None, **kwargs: Any
    ) -> AssociationDisplay:
        """Draw `association_` as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `AssociationDisplay.from_importance`.

        Returns
        -------
        display : AssociationDisplay
            Holds `ax_` and `figure_`.
        """
        return AssociationDisplay.from_importance(self, ax=ax, **kwargs)

    def _quantity(self):
        if self.rows != "training":
            return "loss decrease on unseen rows"
        unit = {"matlab": " per node", "rpart": "", "sklearn": ", share"}
        return f"decrease of the impurity{unit[self.convention]}"

    def _in_words(self):
        if self.rows != "training":
            rows = {"oob": "out-of-bag rows", "unseen": "rows not fitted to"}
            text = "the decrease of the loss by the splits on a feature, over "
            return self._says(text + rows[self.rows], unit="units of the loss")
        whose = "" if self.criterion == "auto" else f" ({self.criterion})"
        text = f"the decrease of the impurity{whose} by the splits on a feature, over "
        text += "the training rows"
        if self.convention == "sklearn":
            return self._says(text, share_of="the decrease by all splits")
        each = "" if self.convention == "rpart" else " per branch node"
        return self._says(text, unit=f"units of the impurity{each}")
