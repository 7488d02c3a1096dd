"""What `ImpurityImportance` is given, checked against the trees."""

import inspect

import numpy as np
from sklearn.utils.validation import validate_data

from skvarimp._data.validation import check_sample_weight, check_target
from skvarimp._measures.impurity.criteria import CLASS_CRITERIA, make_criterion
from skvarimp._running.arithmetic import users_code


def check_tree_weights(tree_weights, trees):
    """The ensemble's own weights of its trees, or those given."""
    n_trees = len(trees.tables)
    if tree_weights is None:
        return trees.weights
    try:
        weights = np.asarray(tree_weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"`tree_weights` must be an array of numbers, got {tree_weights!r:.60}."
        ) from None
    if weights.shape != (n_trees,):
        raise ValueError(
            f"`tree_weights` must have shape ({n_trees},), one weight per tree, got "
            f"{weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights.any():
        raise ValueError(
            "`tree_weights` must be finite, non-negative and not all 0, got values "
            f"from {weights.min():g} to {weights.max():g}."
        )
    return weights


def check_criterion(criterion, trees):
    """Raise ValueError where the trees cannot be judged by a criterion."""
    name = type(trees.estimator).__name__
    if (criterion in CLASS_CRITERIA) != (trees.n_classes is not None):
        kind, use = ("classes", "gini") if trees.n_classes else ("numbers", "mse")
        raise ValueError(
            f"criterion={criterion!r} does not apply to {name}, whose trees are grown "
            f"on {kind}. Use criterion='auto' or {use!r}."
        )
    if not trees.knows_target:
        raise ValueError(
            f"criterion={criterion!r} does not apply to {name}, which did not keep "
            "the gradients or random targets that its trees were grown on. Use "
            "criterion='auto'."
        )


def known_criterion(name, trees):
    """The criterion that judges surrogates' own splits."""
    if not trees.knows_target:
        raise ValueError(
            f"{type(trees.estimator).__name__} did not keep the gradients or random "
            "targets that its trees were grown on, so that a surrogate's own split "
            "cannot be judged. Use convention='rpart', where a surrogate earns a share "
            "of the primary split's decrease."
        )
    if name is None:
        raise ValueError(
            f"{type(trees.estimator).__name__} was grown by a criterion of its own, "
            "which cannot judge surrogate splits. Name one with `criterion`, or use "
            "convention='rpart'."
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
    set_here = {"tree_weights": tree_weights is not None}
    for name in ("criterion", "surrogates", "convention", "surrogate_cuts"):
        default = inspect.signature(type(measure)).parameters[name].default
        set_here[name] = getattr(measure, name) != default
    for name, is_set in set_here.items():
        if is_set:
            raise ValueError(
                f"`{name}` is for rows='training'; with rows={measure.rows!r} splits "
                "earn in the units of the model's own loss. Leave it out."
            )
