"""What refits are given: the measure, the estimator, metadata, columns that go."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.base_table import is_missing
from skvarimp._data.table import Table, as_array
from skvarimp._data.validation import StrOptions, check_sample_weight, validate_params
from skvarimp._measures.accumulated_local_effects import ALEImportance
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.coefficients.coefficients import CoefficientImportance
from skvarimp._measures.coefficients.weights import ConnectionWeightImportance
from skvarimp._measures.derivative import DerivativeImportance
from skvarimp._measures.filter_importance import FilterImportance
from skvarimp._measures.firm.firm import FIRMImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.joint.interaction import InteractionImportance
from skvarimp._measures.joint.shapley import ShapleyImportance
from skvarimp._measures.joint.sobol import SobolImportance
from skvarimp._measures.partial_dependence import PartialDependenceImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._measures.sensitivity import SensitivityImportance

MEASURES = {
    "ale": ALEImportance,
    "coefficient": CoefficientImportance,
    "connection_weight": ConnectionWeightImportance,
    "derivative": DerivativeImportance,
    "filter": FilterImportance,
    "firm": FIRMImportance,
    "impurity": ImpurityImportance,
    "interaction": InteractionImportance,
    "partial_dependence": PartialDependenceImportance,
    "permutation": PermutationImportance,
    "sensitivity": SensitivityImportance,
    "shapley": ShapleyImportance,
    "sobol": SobolImportance,
}


measure_constraint = [BaseImportance, StrOptions(set(MEASURES))]

# The method of each part that metadata may go to, in the order of `Passed`.
METHODS = dict(estimator="fit", measure="fit", scorer="score", splitter="split")


def named(measure, parameter="measure"):
    """An instance with default parameters for a name; anything else as it is.

    Parameters
    ----------
    measure : object
        As the user gave it.
    parameter : str
        What it was given as.

    Raises
    ------
    ValueError
        For an unknown name, with a list of those that are known.
    TypeError
        For a class in place of an instance.
    """
    if isinstance(measure, str):
        if measure not in MEASURES:
            raise ValueError(
                f"`{parameter}` names no measure: {measure!r}. Names are "
                f"{sorted(MEASURES)}."
            )
        return MEASURES[measure]()
    if isinstance(measure, type):
        name = measure.__name__
        raise TypeError(
            f"`{parameter}` must be an instance, got the class {name}. Use {name}()."
        )
    return measure


def checked_instance(measure):
    """The instance of a measure given by name or as it is, its parameters in range."""
    measure = named(measure)
    if isinstance(measure, BaseImportance):
        validate_params(measure)
    return measure


def check_one_a_column(measure):
    """A copy of the instance; raises unless it gives one number per column."""
    measure = checked_instance(measure)
    if not isinstance(measure, BaseImportance):
        return measure
    if measure.get_params(deep=False).get("features") is not None:
        raise ValueError(
            "The measure of a selector gives one number per column. Use it with "
            "features=None."
        )
    reason = measure._not_per_column()
    if reason:
        raise TypeError(reason)
    return clone(measure)


def check_refittable(estimator):
    """Raise TypeError unless an estimator can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            "`estimator` must be an estimator with a `fit` method, which is cloned and "
            f"refitted, got {estimator!r:.60}. For one model fitted already use the "
            "measure's own `fit`."
        )


@dataclass
class Passed:
    """Metadata for each part, one array per parameter with a value per row."""

    fit: dict
    measure: dict
    score: dict
    groups: np.ndarray | None

    def take(self, rows, names=None):
        """The values of some rows, of all parameters but groups, or of some names."""
        parts = [
            {k: v[rows] if names is None or k in names else v for k, v in part.items()}
            for part in (self.fit, self.measure, self.score)
        ]
        return Passed(*parts, self.groups)


def routed(router, estimator, params, n_samples):
    """Sort the metadata given to `fit`, with scikit-learn's routing on or off.

    Raises where weights, given without routing, would not reach the estimator.

    Parameters
    ----------
    router : MetadataRouter, or an object that has one
    estimator : estimator or None
    params : dict
    n_samples : int
    """
    given = {name: value for name, value in params.items() if value is not None}
    params = {name: as_array(value, f"`{name}`") for name, value in given.items()}
    for name, value in params.items():
        if value.shape[:1] != (n_samples,):
            raise ValueError(
                f"`{name}` must have {n_samples} values, one per row of X, got shape "
                f"{value.shape}."
            )
    if "sample_weight" in params:
        weight = check_sample_weight(params["sample_weight"], n_samples)
        params["sample_weight"] = weight
    if get_config()["enable_metadata_routing"]:
        by_part = process_routing(router, "fit", **params)
        given = {k: by_part.get(k, {}).get(method, {}) for k, method in METHODS.items()}
        groups = given.pop("splitter").get("groups")
        return Passed(*given.values(), groups)
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"Only sample_weight and groups are passed on, got {unknown}. Other "
            "metadata needs sklearn.set_config(enable_metadata_routing=True)."
        )
    groups = params.pop("groups", None)
    takes = estimator is None or has_fit_parameter(estimator, "sample_weight")
    if params and not takes:
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight. Leave it out, or "
            "route it after sklearn.set_config(enable_metadata_routing=True)."
        )
    return Passed(params, params, params, groups)


def router_of(owner, estimator, measure, **others):
    """A router of metadata to parts; those that request none may be anything.

    Parameters
    ----------
    owner : object or str
    estimator : estimator or None
    measure : BaseImportance, str, callable or None
    **others : object
        By the names of `METHODS`.
    """
    measure = named(measure)
    measure = measure if isinstance(measure, BaseImportance) else None
    parts = {"estimator": estimator, "measure": measure} | others
    router = MetadataRouter(owner=owner)
    for name, part in parts.items():
        to_method = MethodMapping().add(caller="fit", callee=METHODS[name])
        router.add(**{name: part}, method_mapping=to_method)
    return router


# Parameters of scikit-learn's estimators that may list something for each column.
PER_COLUMN = {"cat_features", "categorical_features", "categories", "interaction_cst"}
PER_COLUMN |= {"monotonic_cst", "n_bins"}


@dataclass(frozen=True)
class Removal:
    """How columns are removed from X before a refit.

    Attributes
    ----------
    constants : Table or None
        One row, whose values the removed columns hold; None: they are dropped, from X
        and from the lists of every ColumnTransformer.
    """

    constants: Table | None

    @classmethod
    def of(cls, removal, estimator, table, features=None):
        """What the parameter `removal` asks for.

        Parameters
        ----------
        removal : {"auto", "drop", "constant"}
            "auto" drops, unless something speaks against it.
        estimator : estimator
        table : Table
            All columns.
        features : list of Feature, default=None
            What may be removed together; None: any columns but not all.

        Raises
        ------
        ValueError
            Where "drop" cannot serve.
        """
        reason = _against_dropping(estimator, table, features or ())
        if removal == "drop" and reason:
            raise ValueError(f"removal='drop' cannot serve: {reason}.")
        if removal == "auto":
            keeps_places = reason or _lists_per_column(estimator)
            removal = "constant" if keeps_places else "drop"
        if removal == "drop":
            return cls(None)
        columns = range(table.n_columns)
        if features is not None:
            columns = {j for feature in features for j in feature.columns}
        donors = {j: _typical_row(table, j) for j in columns}
        return cls(table.take(np.array([0])).held(donors, table))

    def rest(self, table, columns):
        """The table of which some columns are left, ascending positions."""
        if self.constants is None:
            return table.select(columns)
        gone = np.setdiff1d(np.arange(table.n_columns), columns)
        return table.held(dict.fromkeys(gone.tolist(), 0), self.constants)

    def places(self, columns):
        """Where the columns that are left stand in `rest`."""
        return np.arange(len(columns)) if self.constants is None else columns

    def part(self, refits, columns, rows=None):
        """Some rows (None: all) of `Refits`, of which some columns are left."""
        if self.constants is not None:
            part = refits.part(rows)
            return replace(part, table=self.rest(part.table, columns))
        part = refits.part(rows, columns)
        if not _column_transformers(refits.estimator):
            return part
        names = refits.table.column_names()
        gone = np.setdiff1d(np.arange(len(names)), columns)
        estimator = with_lists(refits.estimator, {names[j]: [] for j in gone})
        return replace(part, estimator=estimator)


def with_lists(estimator, instead):
    """An estimator whose ColumnTransformers ask for other columns.

    Parameters
    ----------
    estimator : estimator
        Not modified.
    instead : dict
        Name of a column -> names to ask for in its place. A transformer without any
        column left goes.

    Returns
    -------
    estimator
        An edited clone; the estimator itself if there is nothing to edit.
    """
    asked = {column for _, columns in _listed_columns(estimator) for column in columns}
    if not asked.intersection(instead):
        return estimator
    estimator = clone(estimator)
    for inside in _column_transformers(estimator):
        inside.transformers = [
            part
            for name, transformer, columns in inside.transformers
            for part in _edited(name, transformer, columns, instead)
        ]
    return estimator


def _edited(name, transformer, columns, instead):
    """Parts of a ColumnTransformer in place of one of them."""
    if isinstance(columns, str):  # the transformer takes one column, as a vector
        for copy, column in enumerate(instead.get(columns, [columns])):
            yield (f"{name}-{copy}" if copy else name), transformer, column
        return
    if not callable(columns):
        given = list(columns)
        columns = [new for old in given for new in instead.get(old, [old])]
        if given and not columns:
            return
    yield name, transformer, columns


def check_copies_reach(estimator, table):
    """Raise where a ColumnTransformer would not see copies of columns."""
    reason = _other_lists(estimator, table)
    if reason:
        raise ValueError(
            f"Shuffled copies of the columns would not reach the model: {reason}."
        )


def _against_dropping(estimator, table, features):
    """Why columns cannot be dropped, with the way out; or None."""
    for feature in features:
        if len(feature.columns) == table.n_columns:
            return f"it would leave no column without {feature.name!r}. Use 'constant'"
    reason = _other_lists(estimator, table)
    return reason and f"{reason}, or use removal='constant'"


def _other_lists(estimator, table):
    """Why lists of columns cannot be edited, with the way out; or None."""
    names = set(table.column_names())
    for part, columns in _listed_columns(estimator):
        for column in columns:
            if isinstance(column, str) and column in names:
                continue
            what = "columns by position, which shifts when others go"
            if isinstance(column, str):
                what = f"{column!r}, which is no column of X"
            return (
                f"the ColumnTransformer inside the estimator asks for {what} (its part "
                f"{part!r}). Name columns of X, or select them by type with "
                "make_column_selector"
            )
    return None


def _listed_columns(estimator):
    """(name, list of columns) of the parts of ColumnTransformers in an estimator."""
    for inside in _column_transformers(estimator):
        for part, _, columns in inside.transformers:
            if not callable(columns):
                several = np.iterable(columns) and not isinstance(columns, str)
                yield part, list(columns) if several else [columns]


def _column_transformers(estimator):
    inside = [estimator, *_deep_params(estimator).values()]
    return [part for part in inside if isinstance(part, ColumnTransformer)]


def _deep_params(estimator):
    has_params = hasattr(estimator, "get_params")
    return estimator.get_params(deep=True) if has_params else {}


def _lists_per_column(estimator):
    """Whether a parameter inside the estimator lists something for each column."""
    return any(
        name.split("__")[-1] in PER_COLUMN
        and np.iterable(value)
        and not isinstance(value, str)
        for name, value in _deep_params(estimator).items()
    )


def _typical_row(table, j):
    """A row that holds the (lower) median of a column, or its most frequent value."""
    codes, donors = table.factorize((j,))
    counts = np.bincount(codes, minlength=len(donors)).astype(np.float64)
    missing = [is_missing(value) for value in table.column(j)[donors]]
    if not all(missing):
        counts[missing] = 0.0
    if table.is_categorical(j):
        return donors[counts.argmax()]
    return donors[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
