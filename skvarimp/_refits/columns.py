"""Parameters of estimators that refer to columns, while columns go or copies come.

Lists with an item for each column, positions, masks, names and sets of columns are
renumbered where their meaning is known, in pipelines and meta-estimators as far as the
columns that a part is given are columns of X. What looks like columns and is not known
raises `Unknown`, which says why.
"""

import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

# An item for each column, or a dict of names or positions.
ITEMS = {"categories", "drop", "min_categories", "n_bins", "monotonic_cst"}
ITEMS |= {"monotone_constraints", "monotone_constraint", "mc"}  # boosting libraries
ITEMS |= {"feature_types", "feature_weights", "max_bin_by_feature"}
ITEMS |= {"feature_contri", "feature_contrib", "feature_penalty", "fc", "fp"}
ITEMS |= {"length_scale"}  # of kernels of Gaussian processes
# Positions, names or a mask of some columns.
SOME = {"categorical_features", "categorical_feature", "cat_feature", "cat_features"}
SOME |= {"cat_column", "categorical_column", "ignore_column", "ignore_feature"}
SOME |= {"text_features", "embedding_features", "ignored_features"}
SETS = {"interaction_cst", "interaction_constraints"}
KNOWN = ITEMS | SOME | SETS
# Texts with which these parameters say that they list nothing.
NO_LIST = {"auto", "from_dtype", "infer", "first", "if_binary", ""}
NO_LIST |= {"pairwise", "no_interactions"}
# Lists whose length has nothing to do with columns.
OTHERS = {"alpha", "alphas", "callbacks", "class_prior", "class_weight", "classes"}
OTHERS |= {"Cs", "cv", "estimators", "eval_metric", "hidden_layer_sizes", "l1_ratio"}
OTHERS |= {"l1_ratios", "metric", "order", "patch_size", "priors", "quantiles"}
OTHERS |= {"scoring", "steps", "stop_words", "thresholds", "transform_input"}
OTHERS |= {"transformer_weights", "weights", "weights_init"}
OTHER_ENDS = "_range", "_bounds", "_params"
GRIDS = {"param_grid", "param_distributions"}
ABOUT_COLUMNS = re.compile("col|feat|var|categor|constr|monoton|cst|mask|ind(ex|ices)")


class Unknown(Exception):
    """A parameter refers to columns in a way that is not known."""


@dataclass(frozen=True)
class Seen:
    """The columns that a part of an estimator is given.

    Attributes
    ----------
    n_old : int
        How many there were.
    sources : list of int
        For each that there is now, the one that it was or is a copy of.
    old, new : list of str, or None
        Their names; None: they have none.
    """

    n_old: int
    sources: list
    old: list | None
    new: list | None

    def now(self, position):
        """Where an old column, and its copies, stand now."""
        return [k for k, source in enumerate(self.sources) if source == position]

    def position(self, column):
        """The old position of a column given by name or position."""
        if isinstance(column, str) and column in (self.old or ()):
            return self.old.index(column)
        if isinstance(column, Integral) and -self.n_old <= column < self.n_old:
            return int(column) % self.n_old
        raise Unknown(f"{column!r:.40}, which is no column of X")

    def listed(self, columns):
        """Columns as a list of names or positions; masks and slices are resolved."""
        if isinstance(columns, slice):
            ends = columns.start, columns.stop
            if not any(isinstance(end, str) for end in ends):
                return list(range(self.n_old))[columns]
            first = 0 if ends[0] is None else self.position(ends[0])
            last = self.n_old - 1 if ends[1] is None else self.position(ends[1])
            return self.old[first : last + 1 : columns.step]
        columns = list(columns)
        if columns and all(isinstance(c, bool | np.bool_) for c in columns):
            self.check_items(columns)
            return np.flatnonzero(columns).tolist()
        return columns

    def some(self, columns):
        """Names and positions (a list), those of today, in the order of `columns`."""
        return [
            self.new[k] if isinstance(column, str) else k
            for column in columns
            for k in self.now(self.position(column))
        ]

    def check_items(self, values):
        """Raise unless there is one item for each old column."""
        if len(values) != self.n_old:
            raise Unknown(f"{len(values)} items for {self.n_old} columns")

    def items(self, values):
        """Items of the old columns, for the columns now."""
        if isinstance(values, Mapping):
            return {
                key: item
                for old_key, item in values.items()
                for key in self.some([old_key])
            }
        self.check_items(values)
        if isinstance(values, np.ndarray):
            return values[self.sources]
        return type(values)([values[source] for source in self.sources])

    def sets(self, values):
        """Sets of columns; those of which no column is left go."""
        edited = [self.some(columns) for columns in values]
        edited = [columns for columns in edited if columns]
        if values and not edited:
            raise Unknown("sets of which no column is left")
        return edited

    def part(self, old, now):
        """What is given some of the columns: their positions before, and now."""
        sources = [old.index(self.sources[k]) for k in now]
        before = None if self.old is None else [self.old[j] for j in old]
        after = None if self.new is None else [self.new[k] for k in now]
        return Seen(len(old), sources, before, after)


def rearranged(estimator, seen):
    """An estimator for columns of which some are gone or have copies.

    Parameters
    ----------
    estimator : estimator
        Not modified.
    seen : Seen
        All columns of X.

    Returns
    -------
    estimator
        An edited clone; the estimator itself if there is nothing to edit.

    Raises
    ------
    Unknown
        Where a parameter that refers to columns cannot be edited.
    """
    if not hasattr(estimator, "get_params"):
        return estimator
    editor, copy = _Editor(seen), clone(estimator)
    editor.edit(copy, seen)
    return copy if editor.edited else estimator


def renumbered(name, value, seen):
    """The value of one parameter that refers to columns, perhaps of a step's.

    Those of a step in a pipeline must name columns of X.
    """
    step, _, of_step = name.rpartition("__")
    return _Editor(seen)._edited(of_step, value, None if step else seen)


class _Editor:
    """Edits a clone in place.

    Attributes
    ----------
    X : Seen
        All columns.
    edited : bool
        Whether any parameter was changed.
    """

    def __init__(self, X):
        self.X, self.edited = X, False

    def edit(self, part, seen):
        """Edit an estimator that is given some columns.

        Parameters
        ----------
        part : object
            Anything that is no estimator is left as it is.
        seen : Seen or None
            None: not known.

        Returns
        -------
        Seen or None
            What it hands on, if it is a step of a pipeline.
        """
        if isinstance(part, Pipeline):
            for _, step in part.steps:
                seen = self.edit(step, seen)
            return seen
        if isinstance(part, ColumnTransformer):
            return self._edit_column_transformer(part, seen)
        if isinstance(part, TransformedTargetRegressor):
            self.edit(part.regressor, seen)
        elif hasattr(part, "get_params"):
            self._edit_params(part, seen)
        return seen if _keeps_places(part) else None

    def _edit_params(self, part, seen):
        params = part.get_params(deep=False)
        drawn = params.get("bootstrap_features") or (
            "estimator" in params and params.get("max_features", 1.0) != 1.0
        )
        for name, value in params.items():
            parts = _parts(value)
            unknown = drawn or name == "final_estimator"
            for inner in parts:
                self.edit(inner, None if unknown else seen)
            if parts or value is None or isinstance(value, type):
                continue
            try:
                edited = self._edited(name.split("__")[-1], value, seen)
            except Unknown as error:
                reason = f"`{name}` of {type(part).__name__} refers to columns: {error}"
                raise Unknown(reason) from None
            if edited is not value:
                part.set_params(**{name: edited})
                self.edited = True

    def _edited(self, name, value, seen):
        """The value of a parameter for the columns now; itself if it lists none."""
        if name in GRIDS:
            _check_grids(value)
        elif name in KNOWN and isinstance(value, str):
            return value if value in NO_LIST else self._edited_text(name, value, seen)
        elif name in KNOWN and np.iterable(value):
            seen = self._of_names(value) if seen is None else seen
            if name in SETS:
                return seen.sets(value)
            listed = [] if isinstance(value, Mapping) else list(value)
            masked = listed and all(isinstance(v, bool | np.bool_) for v in listed)
            if name in ITEMS or masked:
                return seen.items(value)
            edited = seen.some(listed)
            return np.array(edited) if isinstance(value, np.ndarray) else edited
        elif name in SOME and isinstance(value, Integral):
            raise Unknown("a single position")
        elif name not in KNOWN | OTHERS and not name.endswith(OTHER_ENDS):
            _check_unknown(name, value, self.X if seen is None else seen)
        return value

    def _edited_text(self, name, text, seen):
        """A list that a boosting library takes as text, written in the same way."""
        if text.startswith("name:"):
            names = self._edited(name, text.removeprefix("name:").split(","), seen)
            return "name:" + ",".join(names)
        text = text.replace(" ", "")
        opening = {"((": "((", "[[": "[["} if name in SETS else {"(": "(", "[": "["}
        enclosed = any(text.startswith(brackets) for brackets in opening)
        try:
            value = literal_eval(text if enclosed else f"[{text}]")
        except (ValueError, SyntaxError):
            raise Unknown(f"{text!r:.40}") from None
        written = str(list(self._edited(name, value, seen))).replace(" ", "")
        if not enclosed:
            return written[1:-1]
        return f"({written[1:-1]})" if text.startswith("(") else written

    def _of_names(self, columns):
        """All of X, for its names behind steps that are not looked through."""
        columns = [columns] if isinstance(columns, str) else list(columns)
        if columns and all(
            isinstance(c, str) and c in (self.X.old or ()) for c in columns
        ):
            return self.X
        raise Unknown("those that an earlier step makes")

    def _edit_column_transformer(self, part, seen):
        """Edit lists of columns, and what is given them; returns what is handed on."""
        transformers, outputs = [], []
        asked = set()  # None: by type, not by name or position
        for name, transformer, columns in part.transformers:
            if callable(columns):
                self.edit(transformer, None)
                transformers.append((name, transformer, columns))
                asked = None
                continue
            try:
                own = self._of_names(columns) if seen is None else seen
                vector = isinstance(columns, str | Integral)  # one column, as a vector
                listed = [columns] if vector else own.listed(columns)
                old = [own.position(column) for column in listed]
            except Unknown as error:
                raise Unknown(
                    "the ColumnTransformer inside the estimator asks for "
                    f"{error} (its part {name!r})"
                ) from None
            asked = None if asked is None else asked | set(old)
            now = own.some(listed)
            if vector:
                outputs.append((name, None))
                for copy, column in enumerate(now):
                    label = f"{name}-{copy}" if copy else name
                    transformers.append((label, transformer, column))
                continue
            kept = [k for j in old for k in own.now(j)]
            outputs.append((name, self._edit_part(transformer, own.part(old, kept))))
            if now or not old:
                transformers.append((name, transformer, now))
        rest = None
        if asked is not None and seen is not None:
            old = [j for j in range(seen.n_old) if j not in asked]
            now = [k for k, j in enumerate(seen.sources) if j not in asked]
            rest = seen.part(old, now)
        outputs.append(("remainder", self._edit_part(part.remainder, rest)))
        part.transformers = transformers
        self.edited = True
        if asked is None or any(output is None for _, output in outputs):
            return None
        return _side_by_side(outputs, part.verbose_feature_names_out)

    def _edit_part(self, transformer, seen):
        """Edit a part of a ColumnTransformer; returns what it hands on."""
        if isinstance(transformer, str) and transformer == "drop":
            return Seen(0, [], [], [])
        return self.edit(transformer, seen)


def _side_by_side(outputs, prefixed):
    """What a ColumnTransformer hands on, from the (name, `Seen`) of its parts."""
    n_old, sources, names = 0, [], ([], [])
    for name, seen in outputs:
        sources += [n_old + source for source in seen.sources]
        n_old += seen.n_old
        for all_names, own in zip(names, (seen.old, seen.new)):
            prefix = f"{name}__" if prefixed is True else ""
            all_names += [prefix + column for column in own or ()]
    if not isinstance(prefixed, bool) or len(names[0]) != n_old:
        return Seen(n_old, sources, None, None)
    return Seen(n_old, sources, *names)


def _parts(value):
    """Estimators in a parameter: itself, those of a list, or of a list of tuples."""
    if hasattr(value, "get_params"):
        return [] if isinstance(value, type) else [value]
    if not isinstance(value, list | tuple):
        return []
    inner = [
        item[1] if isinstance(item, tuple) and len(item) > 1 else item for item in value
    ]
    return [one for one in inner if hasattr(one, "get_params")]


def _check_grids(grids):
    """Raise where a search has candidates for parameters that refer to columns."""
    for grid in grids if isinstance(grids, list | tuple) else [grids]:
        for name, candidates in grid.items():
            if name.split("__")[-1] in KNOWN and any(
                np.iterable(c) and not (isinstance(c, str) and c in NO_LIST)
                for c in (candidates if np.iterable(candidates) else ())
            ):
                raise Unknown(f"candidates of {name!r}")


def _check_unknown(name, value, seen):
    """Raise where the value of a parameter without known meaning looks like columns."""
    if isinstance(value, str) or not np.iterable(value):
        return
    about = ABOUT_COLUMNS.search(name)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_unknown(str(key), inner, seen)
    if isinstance(value, Mapping | set | frozenset | list | tuple):
        items = list(value)
        if any(isinstance(v, str) and v in (seen.old or ()) for v in items):
            raise Unknown("it names some")
        if (
            about
            and items
            and all(isinstance(v, Integral) and 0 <= v < seen.n_old for v in items)
        ):
            raise Unknown("it seems to list positions")
    try:
        shape = np.shape(value)
    except ValueError:  # parts of several lengths
        shape = (len(value),)
    if seen.n_old > 1 and seen.n_old in shape:
        raise Unknown(f"it has {seen.n_old} items, as many as there are columns")


def _keeps_places(step):
    """Whether a step of a pipeline leaves each column in its place."""
    if isinstance(step, SimpleImputer):
        return not step.add_indicator and step.keep_empty_features
    if isinstance(step, FunctionTransformer):
        return is_elementwise(step)
    if step is None or isinstance(step, str):
        return True
    return isinstance(step, OneToOneFeatureMixin)


def is_elementwise(step):
    """Whether the function of a FunctionTransformer leaves each column in its place."""
    function = step.func
    told = step.feature_names_out == "one-to-one"
    return told or function is None or isinstance(function, np.ufunc)
