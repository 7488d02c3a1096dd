"""Fitted models as oligomer weights: which kinds there are, and linear models."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skvarimp._data.table import check_fitted
from skvarimp._models.forms import NotReadable
from skvarimp._models.readers.linear import linear_form
from skvarimp._models.registry import unwrapped
from skvarimp._models.transformers import NotAffine, chained
from skvarimp.sequence._machine import MACHINES, unfold_machine
from skvarimp.sequence._sequences import check_alphabet, encode, iterate_codes
from skvarimp.sequence._vectorizer import OligomerVectorizer

_N_PROBES = 8  # sequences on which a model's own output is compared
_AGREEMENT = 1e-8  # of the size of what is summed


def unfold(estimator, X, settings, sample_weight):
    """A fitted model as the arguments of `OligomerWeights`; see its `from_estimator`.

    Parameters
    ----------
    estimator : object
        Fitted pipeline or support vector machine, or a search over them.
    X : sequence of str or None
        Training sequences of a support vector machine.
    settings : dict
        Parameters of the kernel, the defaults where the user said nothing.
    sample_weight : array-like or None
        What an SVC was fitted with.

    Returns
    -------
    dict
        Tables, intercept, alphabet and unknown, checked against the model.
    """
    check_fitted(estimator)
    estimator = unwrapped(estimator)
    if isinstance(estimator, Pipeline):
        return _unfold_pipeline(estimator)
    if type(estimator) in MACHINES:  # exact: a subclass may score in another way
        return unfold_machine(estimator, X, settings, sample_weight)
    raise TypeError(
        "OligomerWeights needs a Pipeline of OligomerVectorizer and a linear model, or "
        f"an SVC, NuSVC, OneClassSVM, SVR or NuSVR, got {type(estimator).__name__}. "
        "Use make_pipeline(vectorizer, model) to join two fitted steps."
    )


def _response(estimator):
    """The output that is unfolded."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function
    if is_classifier(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is a classifier without decision_function. "
            "Use a linear model such as LogisticRegression or LinearSVC."
        )
    return estimator.predict


# Linear models on the vectorizer


def _unfold_pipeline(pipeline):
    (_, vectorizer), *middle, (_, model) = pipeline.steps
    if not isinstance(vectorizer, OligomerVectorizer):
        raise TypeError(
            "The pipeline must start with OligomerVectorizer, got "
            f"{type(vectorizer).__name__}."
        )
    check_fitted(vectorizer)
    coef, intercept = _linear_score(model)
    n_columns = vectorizer.n_features_out_
    steps = _affine_steps([step for _, step in middle], n_columns)
    if steps.matrix.shape[1] != len(coef):
        raise ValueError(
            f"{type(model).__name__} has {len(coef)} coefficients, but the steps "
            f"before it make {steps.matrix.shape[1]} columns. Fit them together."
        )
    intercept = intercept + steps.shift @ coef
    tables = _split_by_order(steps.matrix @ coef, vectorizer)
    alphabet = check_alphabet(vectorizer.alphabet)
    _check_linear(pipeline, tables, intercept, alphabet)
    return {
        "tables": tables,
        "intercept": intercept,
        "alphabet": alphabet,
        "unknown": vectorizer.unknown,
    }


def _linear_score(model):
    """Coefficients and intercept of a model's one linear score."""
    name = type(model).__name__
    try:
        form = linear_form(model)
    except NotReadable as declined:
        raise TypeError(
            f"The pipeline must end with a linear model, got {name}: {declined}. Use "
            "LinearSVC or LogisticRegression."
        ) from None
    if form.weights.shape[1] > 1:
        raise ValueError(
            f"{name} has {form.weights.shape[1]} outputs; oligomer weights are of one "
            "score. Fit one class against the rest."
        )
    return form.weights[:, 0], float(form.intercept[0])


def _affine_steps(steps, n_columns):
    """Fitted steps between the vectorizer and the model as one affine map."""
    try:
        return chained(steps, n_columns)
    except NotAffine as mixed:
        raise TypeError(
            f"{mixed}: the score is not known to be a sum of weights of oligomers. Put "
            "a selector of columns, MaxAbsScaler, StandardScaler(with_mean=False), or "
            "no step between OligomerVectorizer and the linear model."
        ) from None


def _split_by_order(coef, vectorizer):
    n_letters = len(check_alphabet(vectorizer.alphabet))
    length = vectorizer.sequence_length_
    if vectorizer.normalize:
        n_windows = sum(length - k for k in range(vectorizer.max_order))
        coef = coef / np.sqrt(n_windows)
    tables, start = {}, 0
    for order in range(1, vectorizer.max_order + 1):
        shape = (length - order + 1, n_letters**order)
        stop = start + shape[0] * shape[1]
        tables[order] = coef[start:stop].reshape(shape)
        start = stop
    return tables


def _check_linear(pipeline, tables, intercept, alphabet):
    """Compare the sum of weights with the pipeline's own output."""
    rng = np.random.default_rng(0)
    length = len(tables[1])
    drawn = rng.choice(list(alphabet), size=(_N_PROBES, length))
    probes = ["".join(row) for row in drawn]
    own = np.asarray(_response(pipeline)(probes))
    unfolded = np.full(_N_PROBES, intercept)
    letters = encode(probes, alphabet)
    for order, codes in iterate_codes(letters, len(alphabet), max(tables)):
        unfolded += tables[order][np.arange(codes.shape[1]), codes].sum(axis=1)
    largest = sum(np.abs(table).max() for table in tables.values())
    size = abs(intercept) + length * largest
    if own.shape != unfolded.shape or not np.allclose(
        own, unfolded, rtol=0, atol=_AGREEMENT * size
    ):
        raise ValueError(
            f"The output of {type(pipeline.steps[-1][1]).__name__} is not the sum of "
            "its coefficients on the oligomers. Use a model with an identity link."
        )
