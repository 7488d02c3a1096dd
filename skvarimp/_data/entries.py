"""Entries: each gets one importance. A column of X, or a group moved together."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np


@dataclass(frozen=True)
class Entry:
    """One column or one group of columns.

    Attributes
    ----------
    name : str
        Label in every result.
    columns : tuple of int
        Positions of the columns of X that move together.
    is_group : bool
        Given as a list of columns; values come jointly from one donor row.
    """

    name: str
    columns: tuple
    is_group: bool = False

    def together_with(self, other):
        """The columns of two entries as one, called ``first:second``."""
        return Entry(f"{self.name}:{other.name}", self.columns + other.columns, True)


def column_names(names, n_columns):
    """The names of X's columns, `x0, x1, ...` where it has none."""
    return list(names) if names is not None else [f"x{j}" for j in range(n_columns)]


def check_known(name, names, parameter):
    """Raise unless a name that a parameter gives is that of an entry."""
    if name not in names:
        shown = [*names] if len(names) <= 20 else [*list(names)[:20], "..."]
        raise ValueError(
            f"`{parameter}` names {name!r}, which is not among the {len(names)} "
            f"entries: {shown}."
        )


def column_position(feature, names, n_columns):
    """Position of one column given by name or by (possibly negative) integer."""
    if isinstance(feature, str):
        labels = column_names(names, n_columns)
        if feature in labels:
            return labels.index(feature)
        known = f"{labels!r:.300}"
    elif isinstance(feature, bool | np.bool_) or not isinstance(feature, Integral):
        raise TypeError(
            "`features` takes column names, integer positions (for a mask pass "
            f"np.flatnonzero(mask)), or lists of them, got {feature!r} of type "
            f"{type(feature).__name__}."
        )
    elif -n_columns <= feature < n_columns:
        return int(feature) % n_columns
    else:
        feature, known = int(feature), f"positions run from 0 to {n_columns - 1}"
    raise ValueError(
        f"Feature {feature!r} is not among the {n_columns} features seen by the "
        f"estimator: {known}."
    )


def resolve_columns(features, names, n_columns, parameter="categorical_features"):
    """Positions from names, integers or a boolean mask; None means none."""
    if features is None:
        return frozenset()
    if isinstance(features, np.ndarray):
        features = features.tolist()  # of no dimension: one column
    features = [features] if isinstance(features, str | Integral) else list(features)
    if features and all(isinstance(f, bool | np.bool_) for f in features):
        if len(features) != n_columns:
            raise ValueError(
                f"`{parameter}` as a mask must have {n_columns} entries, one per "
                f"column, got {len(features)}."
            )
        return frozenset(np.flatnonzero(features).tolist())
    return frozenset(column_position(f, names, n_columns) for f in features)


def resolve_features(features, names, n_columns):
    """Entries from the `features` parameter.

    Parameters
    ----------
    features : None, sequence or dict
        None: each column; a sequence of names, positions, or lists of them (groups);
        a dict label -> those.
    names : sequence of str or None
        Column names of X.
    n_columns : int
        Number of columns of X.

    Returns
    -------
    list of Entry
    """
    labels = column_names(names, n_columns)
    if n_columns == 0:
        raise ValueError("X has no columns.")
    if features is None:
        return [Entry(name, (j,)) for j, name in enumerate(labels)]
    if isinstance(features, str | Integral | set | frozenset) or (
        isinstance(features, np.ndarray) and features.ndim == 0
    ):
        raise TypeError(
            f"`features` must be in an order, in a list or a dict, got {features!r:.60}"
            ". Use features=[name] for one column."
        )
    if isinstance(features, Mapping):
        given = list(features.items())
    else:
        given = [(None, feature) for feature in features]
    if not given:
        raise ValueError("`features` is empty. Use features=None for every column.")

    entries = []
    for label, feature in given:
        is_group = isinstance(feature, list | tuple) or np.ndim(feature) > 0
        members = list(feature) if is_group else [feature]
        if not members:
            raise ValueError(f"`features` has an empty group, got {features!r:.60}.")
        columns = tuple(column_position(f, names, n_columns) for f in members)
        if len(set(columns)) < len(columns):
            twice = labels[Counter(columns).most_common(1)[0][0]]
            raise ValueError(f"`features` has a group with {twice!r} twice.")
        name = "+".join(labels[j] for j in columns) if label is None else str(label)
        entries.append(Entry(name, columns, is_group and len(columns) > 1))
    _refuse_duplicates(entries)
    return entries


def _refuse_duplicates(entries):
    name, count = Counter(entry.name for entry in entries).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"`features` names the entry {name!r} {count} times. Name each entry once, "
            "or use a dict with labels of your own."
        )
    members, count = Counter(frozenset(e.columns) for e in entries).most_common(1)[0]
    if count > 1:
        same = [e.name for e in entries if frozenset(e.columns) == members]
        raise ValueError(f"`features` names the same columns twice: {same}.")
