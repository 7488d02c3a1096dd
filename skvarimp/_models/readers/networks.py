"""Multilayer perceptrons."""

from skvarimp._models.array_forms import Layers
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import AboveThreshold, LargestScore
from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC, Softmax
from skvarimp._models.readers.arrays import dense, is_single


def read_perceptron(model, table):
    """The form of MLPRegressor and MLPClassifier."""
    estimator = model.estimator
    biases = [dense(b) for b in estimator.intercepts_]
    return Layers(
        weights=layers(estimator),
        biases=biases,
        activation=estimator.activation,
        link=_link(model, estimator, len(biases[-1])),
        single=is_single(estimator.coefs_[0]),
    )


def layers(estimator):
    """`coefs_` as float64 arrays, (n_in, n_out) each."""
    return [dense(W) for W in estimator.coefs_]


def _link(model, estimator, n_scores):
    output = estimator.out_activation_
    if model.method == "predict" and model.classifier:
        return LargestScore() if output == "softmax" else AboveThreshold()
    if output == "logistic" and n_scores == 2:
        raise NotReadable("two labels look like the probabilities of two classes")
    links = {
        "identity": IDENTITY,
        "exp": EXPONENTIAL,
        "logistic": LOGISTIC,
        "softmax": Softmax(),
    }
    return links[output]
