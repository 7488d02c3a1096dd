"""Multilayer perceptrons.

Estimators without a reader, such as subclasses, give their public `coefs_`.
"""

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Layers
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import AboveThreshold, LargestScore
from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC, Softmax
from skvarimp._models.registry import reader_of, score_form


def read_perceptron(model, table):
    """The form of MLPRegressor and MLPClassifier."""
    estimator = model.estimator
    biases = [dense(b) for b in estimator.intercepts_]
    return Layers(
        weights=layers(estimator),
        biases=biases,
        activation=estimator.activation,
        link=_output_link(model, estimator, len(biases[-1])),
        single=is_single(estimator.coefs_[0]),
    )


def layers(estimator):
    """`coefs_` as float64 arrays, (n_in, n_out) each."""
    return [dense(W) for W in estimator.coefs_]


def _output_link(model, estimator, n_scores):
    output = estimator.out_activation_
    if model.method == "predict" and model.classifier:
        return LargestScore() if output == "softmax" else AboveThreshold()
    if output == "logistic" and n_scores == 2:
        raise NotReadable("two labels look like the probabilities of two classes")
    if output == "softmax":
        return Softmax()
    return {"identity": IDENTITY, "exp": EXPONENTIAL, "logistic": LOGISTIC}[output]


def layer_weights(estimator):
    """Weights of a network's layers, each (n_in, n_out), or NotReadable."""
    if reader_of(estimator) is None:
        if not hasattr(estimator, "coefs_"):
            raise NotReadable("it has no `coefs_`")
        return layers(estimator)
    form = score_form(estimator)
    if not isinstance(form, Layers):
        raise NotReadable("it is no multilayer perceptron")
    return form.weights
