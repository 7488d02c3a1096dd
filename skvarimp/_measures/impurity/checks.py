"""What `ImpurityImportance` is given, checked against the trees."""

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from skvarimp._data.validation import check_sample_weight, check_target
from skvarimp._measures.impurity.criteria import CLASS_CRITERIA, make_criterion
from skvarimp._running.arithmetic import users_code


def check_tree_weights(tree_weights, trees):
    """The ensemble's own weights of its trees, or those given."""
    n_trees = len(trees.tables)
    if tree_weights is None:
        return trees.weights
    try:
        weights = check_array(tree_weights, dtype=np.float64, ensure_2d=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`tree_weights` must be finite numbers: {error}") from None
    if weights.shape != (n_trees,):
        raise ValueError(
            f"`tree_weights` must have shape ({n_trees},), one weight per tree, got "
            f"{weights.shape}."
        )
    if np.any(weights < 0) or not weights.any():
        raise ValueError(
            "`tree_weights` must be non-negative and not all 0, got values from "
            f"{weights.min():g} to {weights.max():g}."
        )
    return weights


def judging_criterion(measure, trees):
    """The criterion that judges splits; ValueError where it cannot judge the trees'."""
    name = trees.criterion if measure.criterion == "auto" else measure.criterion
    owner = type(trees.estimator).__name__
    if name and (name in CLASS_CRITERIA) != (trees.n_classes is not None):
        kind, use = ("classes", "gini") if trees.n_classes else ("numbers", "mse")
        raise ValueError(
            f"criterion={name!r} does not apply to {owner}, whose trees are grown "
            f"on {kind}. Use criterion='auto' or {use!r}."
        )
    if not trees.knows_target:
        raise ValueError(
            f"{owner} did not keep the gradients or random targets that its trees were "
            "grown on, by which splits are judged. Use criterion='auto', and for "
            "surrogates convention='rpart', where they earn a share of the primary "
            "split's decrease."
        )
    if name is None:
        raise ValueError(
            f"{owner} was grown by a criterion of its own, which cannot judge "
            "surrogate splits. Name one with `criterion`, or use convention='rpart'."
        )
    return make_criterion(name, trees.n_classes)


def check_training_data(trees, table, y, sample_weight):
    """Rows, y and weights for the search; raises where they cannot be right."""
    if table is None:
        raise ValueError(
            "X is needed for surrogates, and for another criterion than the trees' "
            "own, got None. Pass the X and y the estimator was fitted with."
        )
    validate_data(trees.estimator, table.native, reset=False, skip_check_array=True)
    with users_code():
        rows = trees.rows(table)
    y = check_target(y, table.n_samples)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, table.n_samples)
    return rows, y, sample_weight


def check_training_only(measure, tree_weights):
    """Raise where a parameter is set that means something on training rows only."""
    names = ("criterion", "surrogates", "convention", "surrogate_cuts")
    usual = type(measure)  # whose attributes are the defaults
    changed = [n for n in names if getattr(measure, n) != getattr(usual, n)]
    if tree_weights is not None:
        changed.append("tree_weights")
    if changed:
        raise ValueError(
            f"`{changed[0]}` is for rows='training'; with rows={measure.rows!r} splits "
            "earn in the units of the model's own loss. Leave it out."
        )
