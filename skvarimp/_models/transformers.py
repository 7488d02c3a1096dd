"""Fitted transformers: column by column, or affine.

`sources` tells which input column each output column of a transformer that works column
by column comes from, on no other row. If one input column moves, only its output
columns move. `affine` makes z = x A + b of a transformer, with A sparse where possible.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin

from skvarimp._models.links import NoGradient
from skvarimp._models.model import rule_of
from skvarimp._running.private_sklearn import private


class NotColumnwise(Exception):
    """A transformer that mixes columns or rows; the message is the reason."""


NO_SOURCE = -1  # a constant output column


def sources(transformer, n_columns, names=None):
    """The input column of each output column of a fitted transformer, (n_outputs,).

    It is given n_columns columns, perhaps with names, and may be "passthrough" or
    "drop". Raises NotColumnwise where its type is not in the list.
    """
    # a ColumnTransformer leaves a part without columns unfitted
    if n_columns == 0 or transformer is None or isinstance(transformer, str):
        return np.arange(0 if transformer == "drop" else n_columns)
    rule = _selected if is_selector(transformer) else rule_of(transformer, COLUMNWISE)
    if rule is None:
        name = type(transformer).__name__
        raise NotColumnwise(f"{name} is not a column-wise transformer")
    if method := replaced(transformer):
        raise NotColumnwise(f"{method} of this instance was replaced")
    return np.asarray(rule(transformer, n_columns, names), dtype=np.intp)


def is_selector(step):
    """Whether a fitted step only leaves columns out."""
    return getattr(type(step), "transform", None) is SelectorMixin.transform


def is_monotone(step):
    """Whether a fitted step of the list keeps the order of the values of each column.

    Missing values do not count. The step may leave columns out.
    """
    if step is None or isinstance(step, str):
        return True
    name = type(step).__name__
    if name == "SimpleImputer":
        return isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    return name in MONOTONE or is_selector(step)


def _one_to_one(transformer, n_columns, names):
    return np.arange(n_columns)


def _repeated(counts):
    return np.repeat(np.arange(len(counts)), counts)


def _selected(transformer, n_columns, names):
    return transformer.get_support(indices=True)


def _function(transformer, n_columns, names):
    arguments = transformer.kw_args or transformer.inv_kw_args
    for function in (transformer.func, transformer.inverse_func):
        elementwise = isinstance(function, np.ufunc) and function.nin == 1
        if not (function is None or elementwise) or arguments:
            raise NotColumnwise(
                "the function of a FunctionTransformer is no NumPy ufunc of one value"
            )
    return np.arange(n_columns)


def _imputer(transformer, n_columns, names):
    kept = np.arange(n_columns)
    if not transformer.keep_empty_features and transformer.strategy != "constant":
        # a column is dropped where its statistic is NaN; None is a value like others
        empty = [isinstance(s, float) and s != s for s in transformer.statistics_]
        kept = kept[~np.array(empty, dtype=bool)]
    if transformer.add_indicator:
        return np.concatenate([kept, transformer.indicator_.features_])
    return kept


def _indicator(transformer, n_columns, names):
    return transformer.features_


def _one_hot(transformer, n_columns, names):
    counts = np.array([len(c) for c in transformer.categories_])
    infrequent = getattr(transformer, "infrequent_categories_", None)
    if infrequent is not None:  # they share one output column
        counts -= [0 if few is None else len(few) - 1 for few in infrequent]
    if transformer.drop_idx_ is not None:
        counts -= [at is not None for at in transformer.drop_idx_]
    return _repeated(counts)


def _target_encoder(transformer, n_columns, names):
    classes = getattr(transformer, "classes_", None)  # None of a numeric target
    n_classes = 0 if classes is None else len(classes)
    return _repeated([n_classes if n_classes > 2 else 1] * n_columns)


def _bins(transformer, n_columns, names):
    if transformer.encode == "ordinal":
        return np.arange(n_columns)
    return _repeated(transformer.n_bins_)


def _splines(transformer, n_columns, names):
    return _repeated([transformer.n_features_out_ // n_columns] * n_columns)


def _polynomial(transformer, n_columns, names):
    powers = transformer.powers_
    if np.any(np.count_nonzero(powers, axis=1) > 1):
        raise NotColumnwise("PolynomialFeatures multiplies columns")
    return np.where(powers.any(axis=1), powers.argmax(axis=1), NO_SOURCE)


def _chain(transformer, n_columns, names):
    result = np.arange(n_columns)
    for _, step in transformer.steps:
        result = _composed(result, sources(step, len(result), names))
        names = _names_after(step, names)
    return result


def _names_after(step, names):
    """Column names behind a step: only steps that hand out frames keep any."""
    if isinstance(step, str) or step is None:
        return names if step != "drop" else []
    try:
        return list(step.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def _composed(first, second):
    """Sources of two steps in a row; a constant column stays one."""
    return np.append(first, NO_SOURCE)[second]  # NO_SOURCE, as an index, is the last


def _column_transformer(transformer, n_columns, names):
    slices = transformer.output_indices_
    n_outputs = max((s.stop for s in slices.values()), default=0)
    result = np.full(n_outputs, NO_SOURCE)
    fitted = list(getattr(transformer, "feature_names_in_", names or [])) or None
    fitted_columns = private(transformer, "_transformer_to_input_indices")
    for name, member, _ in transformer.transformers_:
        if isinstance(member, str) and member == "drop":
            continue
        positions = np.array(fitted_columns[name], dtype=np.intp)
        member_names = None if fitted is None else [fitted[p] for p in positions]
        if names and fitted != names:  # frames may hold the columns in another order
            positions = np.array([names.index(n) for n in member_names], np.intp)
        member_sources = sources(member, len(positions), member_names)
        result[slices[name]] = _composed(positions, member_sources)
    return result


def _union(transformer, n_columns, names):
    members = [
        sources(member, n_columns, names) for _, member in transformer.transformer_list
    ]
    return np.concatenate(members) if members else np.arange(0)


def _inside(transformer, n_columns, names):
    return sources(transformer.estimator, n_columns, names)


def _by_name(transformer, names, outputs, encoded):
    """Sources of output columns, by names that a transformer of another library keeps.

    `encoded` has the name of an encoded input column for each output column. All other
    inputs keep their names.
    """
    of, inputs = type(transformer).__name__, list(transformer.feature_names_in_)
    if names is not None and list(names) != inputs:
        raise NotColumnwise(f"X has other columns than when {of} was fitted")
    source = encoded | {name: name for name in inputs}
    if not source.keys() >= set(outputs):
        raise NotColumnwise(f"{of} does not tell which input each output comes from")
    place = {name: j for j, name in enumerate(inputs)}
    return [place[source[name]] for name in outputs]


def _survival_one_hot(transformer, n_columns, names):
    categories = transformer.categories_.items()
    encoded = {
        f"{name}={level}": name for name, levels in categories for level in levels
    }
    return _by_name(transformer, names, transformer.encoded_columns_, encoded)


def _category_encoder(transformer, n_columns, names):
    """Of category_encoders, which keep a mapping for each encoded column."""
    of = type(transformer).__name__
    if getattr(transformer, "composite_members_", None):
        raise NotColumnwise(f"{of} encodes columns together (`composite_cols`)")
    mapping, encoded = getattr(transformer, "mapping", None) or {}, {}
    if isinstance(mapping, list):
        mapping = {m["col"]: m.get("columns", m.get("mapping")) for m in mapping}
    for name, own in mapping.items():  # a list of columns, or a frame that has them
        columns = own if isinstance(own, list) else getattr(own, "columns", ())
        encoded |= dict.fromkeys(columns, name)
    return _by_name(transformer, names, transformer.feature_names_out_, encoded)


def _table_vectorizer(transformer, n_columns, names):
    """Each column has an encoder of its own, which must encode row by row."""
    for name, encoder in transformer.transformers_.items():
        if rule_of(encoder, ENCODES_ROWS) is None:
            try:
                sources(encoder, 1)
            except NotColumnwise as declined:
                reason = f"TableVectorizer encodes {name!r}: {declined}"
                raise NotColumnwise(reason) from None
    inputs = enumerate(transformer.input_to_outputs_.values())
    source = {name: j for j, outputs in inputs for name in outputs}
    return [source[name] for name in transformer.all_outputs_]


MONOTONE = (
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "PowerTransformer",
    "QuantileTransformer",
)
CATEGORY_ENCODERS = (
    "BackwardDifferenceEncoder BaseNEncoder BinaryEncoder CatBoostEncoder CountEncoder "
    "CountTargetEncoder GrayEncoder HelmertEncoder JamesSteinEncoder "
    "LeaveOneOutEncoder MEstimateEncoder MultiHotEncoder OneHotEncoder OrdinalEncoder "
    "PolynomialEncoder QuantileEncoder RankHotEncoder SumEncoder TargetEncoder "
    "WOEEncoder"
)
SKRUB_ENCODERS = (
    "DatetimeEncoder Drop MinHashEncoder SimilarityEncoder StringEncoder ToCategorical"
)
COLUMNWISE = {
    "sklearn.preprocessing": {
        **dict.fromkeys([*MONOTONE, "Binarizer", "OrdinalEncoder"], _one_to_one),
        "OneHotEncoder": _one_hot,
        "TargetEncoder": _target_encoder,
        "KBinsDiscretizer": _bins,
        "SplineTransformer": _splines,
        "PolynomialFeatures": _polynomial,
        "FunctionTransformer": _function,
    },
    "sklearn.impute": {"SimpleImputer": _imputer, "MissingIndicator": _indicator},
    "sklearn.compose": {"ColumnTransformer": _column_transformer},
    "sklearn.pipeline": {"Pipeline": _chain, "FeatureUnion": _union},
    "sklearn.frozen": {"FrozenEstimator": _inside},
    "sksurv.preprocessing": {"OneHotEncoder": _survival_one_hot},
    "skrub": {"TableVectorizer": _table_vectorizer, "SquashingScaler": _one_to_one},
    "category_encoders": dict.fromkeys(CATEGORY_ENCODERS.split(), _category_encoder),
}
# Encoders of a single column that look at one row at a time.
ENCODES_ROWS = {
    "skrub": dict.fromkeys(SKRUB_ENCODERS.split(), True),
    "skrub._table_vectorizer": {"PassThrough": True},
}


def replaced(transformer):
    """The first method of a transformer that was replaced on this instance, or None."""
    methods = "transform", "inverse_transform"
    return next((method for method in methods if method in vars(transformer)), None)


class NotAffine(NoGradient):
    """A transformer that is no affine map; the message is the reason."""


@dataclass(frozen=True, eq=False)
class Affine:
    """x A + b; A is an array or a sparse array of shape (n_columns, n_out)."""

    matrix: object
    shift: np.ndarray

    def then(self, other):
        """This map followed by another."""
        return Affine(
            self.matrix @ other.matrix, self.shift @ other.matrix + other.shift
        )


def _scaling(factor, shift, n_columns):
    factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), n_columns)
    shift = np.broadcast_to(np.asarray(shift, dtype=np.float64), n_columns)
    return Affine(sparse.diags_array(factor, format="csr"), shift)


def selection(columns, n_columns):
    """The map from a table to some of its columns."""
    identity = sparse.eye_array(n_columns, format="csc")
    return Affine(identity[:, columns].tocsr(), np.zeros(len(columns)))


def _scaler(step, n_columns):
    if getattr(step, "clip", False):
        raise NotAffine(f"{type(step).__name__} clips")
    if hasattr(step, "min_"):  # MinMaxScaler multiplies, the others divide
        return _scaling(step.scale_, step.min_, n_columns)
    factor = 1.0 if step.scale_ is None else 1.0 / step.scale_
    centre = getattr(step, "center_", None)
    if getattr(step, "with_mean", False):
        centre = step.mean_
    return _scaling(factor, 0.0 if centre is None else -centre * factor, n_columns)


def _components(step, n_columns):
    """Projections on the rows of `components_`, after `mean_`, if any, is taken off."""
    matrix = step.components_.T.astype(np.float64)
    shift = np.zeros(matrix.shape[1])
    if getattr(step, "mean_", None) is not None:
        shift = -np.asarray(step.mean_, dtype=np.float64) @ matrix
    return Affine(matrix, shift)


def _pca(step, n_columns):
    result = _components(step, n_columns)
    if not step.whiten:
        return result
    scale = np.sqrt(step.explained_variance_)
    # scikit-learn's own guard against components without variance
    scale = np.maximum(scale, np.finfo(scale.dtype).eps)
    return Affine(result.matrix / scale, result.shift / scale)


def _factors(step, n_columns):
    """Posterior means of the factors, (x - mean) Wpsi' (I + Wpsi W')^-1."""
    W = step.components_
    weighted = W / step.noise_variance_
    matrix = np.linalg.solve(np.eye(len(W)) + weighted @ W.T, weighted).T
    return Affine(matrix, -step.mean_ @ matrix)


def _discriminants(step, n_columns):
    """Projections on `scalings_`, of centred rows if the solver is "svd"."""
    matrix = step.scalings_[:, : private(step, "_max_components")]
    mean = step.xbar_ if step.solver == "svd" else np.zeros(len(matrix))
    return Affine(matrix, -mean @ matrix)


def chained(steps, n_columns):
    """Fitted steps one after the other as one `Affine` map; raises NotAffine."""
    result = _scaling(1.0, 0.0, n_columns)
    for step in steps:
        result = result.then(affine(step, result.matrix.shape[1]))
    return result


def _pipeline(step, n_columns):
    return chained([member for _, member in step.steps], n_columns)


def _frozen(step, n_columns):
    return affine(step.estimator, n_columns)


AFFINE = {
    "sklearn.preprocessing": dict.fromkeys(
        ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _scaler
    ),
    "sklearn.decomposition": {
        "PCA": _pca,
        "IncrementalPCA": _pca,
        "TruncatedSVD": _components,
        "FastICA": _components,
        "FactorAnalysis": _factors,
    },
    "sklearn.discriminant_analysis": {"LinearDiscriminantAnalysis": _discriminants},
    "sklearn.neighbors": {"NeighborhoodComponentsAnalysis": _components},
    "sklearn.random_projection": {
        "GaussianRandomProjection": _components,
        "SparseRandomProjection": _components,
    },
    "sklearn.pipeline": {"Pipeline": _pipeline},
    "sklearn.frozen": {"FrozenEstimator": _frozen},
}


def affine(step, n_columns):
    """A fitted step as an `Affine` map of n_columns columns; raises NotAffine."""
    if step is None or step == "passthrough":
        return _scaling(1.0, 0.0, n_columns)
    if method := replaced(step):
        raise NotAffine(f"{method} of this instance was replaced")
    rule = rule_of(step, AFFINE)
    if rule is not None:
        return rule(step, n_columns)
    if is_selector(step):
        return selection(step.get_support(indices=True), n_columns)
    raise NotAffine(f"the step {type(step).__name__} has no formula")
