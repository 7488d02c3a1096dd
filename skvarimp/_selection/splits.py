"""Seeds and splits of whatever refits an estimator: the same for any order of work."""

from copy import copy

import numpy as np

from skvarimp._response.sampling import entry_seeds


def generator(random_state):
    """One Generator from a seed, RandomState or Generator, which is consumed."""
    return np.random.default_rng(int(entry_seeds(random_state, 1)[0]))


def seeds_of(random, n):
    """One seed per refit, so that nothing depends on the order of the work."""
    return random.integers(2**63, size=n).tolist()


def seeded(part, random):
    """Give every `random_state` in an estimator that is None a seed of its own."""
    if not hasattr(part, "get_params"):
        return part
    free = sorted(
        name
        for name, value in part.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    )
    if free:
        part.set_params(**{name: int(random.integers(2**31)) for name in free})
    return part


def seeded_splitter(splitter, random):
    """The splitter; one that shuffles without a seed of its own gets one."""
    shuffles = getattr(splitter, "shuffle", True)
    if shuffles and getattr(splitter, "random_state", 0) is None:
        splitter = copy(splitter)
        splitter.random_state = int(random.integers(2**31))
    return splitter


def splits_of(splitter, n_samples, y, groups, sample_weight=None):
    """(train, held-out) positions of each split.

    Raises ValueError for parts that are empty, foreign or without any weight.
    """
    rows = np.zeros((n_samples, 1))  # splitters look at the length only
    try:
        splits = list(splitter.split(rows, y, groups))
    except (TypeError, ValueError) as error:
        if "unpack" not in str(error):
            raise
        raise ValueError(
            "`cv` must give the positions of training and held-out rows, two arrays "
            f"per split, got {splitter.cv!r:.60}. Use for example cv=5."
        ) from None
    if not splits:
        raise ValueError("`cv` makes no split. Use for example cv=5.")
    splits = [tuple(_positions(part, n_samples) for part in split) for split in splits]
    if sample_weight is not None:
        for number, split in enumerate(splits):
            for part, rows in zip(("training", "held-out"), split):
                if not np.any(sample_weight[rows]):
                    raise ValueError(
                        f"In fold {number} of `cv` the `sample_weight` of all "
                        f"{part} rows is 0. Use folds that share the rows with weight."
                    )
    return splits


def _positions(rows, n_samples):
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n_samples:
        rows = np.flatnonzero(rows)
    if rows.size == 0:
        raise ValueError("`cv` makes a split without training or held-out rows.")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(f"`cv` makes a split with rows that X does not have: {rows}.")
    return rows
