"""Models that are analytic functions of each column, which are asked themselves.

They are asked for scores where they have some, which take fewer nodes than what follows
from them.
"""

from skvarimp._models.forms import NotReadable, Read, Smooth, combined
from skvarimp._models.label_links import Sign, class_link
from skvarimp._models.model import Model


def read_smooth(model, table):
    """Values or scores of a model that has no others."""
    return Smooth(model=model)


def read_elliptic_envelope(model, table):
    """Squared distances, and labels by their sign."""
    if model.method == "decision_function":
        return Smooth(model=model)
    return of_scores(Model(model.estimator, "decision_function"), Sign())


def read_discriminant(model, table):
    """Scores of classes, which are quadratic, and what follows from them."""
    if model.method == "decision_function":
        return Smooth(model=model)
    estimator, (classes,) = model.estimator, model.class_lists
    if type(estimator).__name__ == "NearestCentroid" and model.method == "predict":
        raise NotReadable("labels by distances that are not those of its scores")
    n_scores = 1 if len(classes) == 2 else len(classes)
    link = class_link(model.method, n_scores)
    return of_scores(Model(estimator, "decision_function"), link)


def read_gaussian_naive_bayes(model, table):
    """Joint log-probabilities, which are quadratic, and what follows from them."""
    (classes,) = model.class_lists
    if len(classes) == 1:
        raise NotReadable("it has seen one class")
    scores = Model(JointLogProbabilities(model.estimator), "predict")
    n_scores = 1 if len(classes) == 2 else len(classes)
    return of_scores(scores, class_link(model.method, n_scores))


def read_gaussian_process_classifier(model, table):
    """Probabilities, and labels by the largest."""
    if model.method == "predict_proba":
        return Smooth(model=model)
    (classes,) = model.class_lists
    n_scores = 1 if len(classes) == 2 else len(classes)
    link = class_link("predict", n_scores, threshold=0.5)
    return of_scores(Model(model.estimator, "predict_proba"), link)


def of_scores(model, link):
    """The form of a link of a smooth model's outputs."""
    return combined([Read(Smooth(model=model), model)], link, "link of")


class JointLogProbabilities:
    """A model that predicts joint log-probabilities of a naive Bayes classifier.

    Of two classes their difference, the logarithm of the odds.
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def predict(self, X):
        """One for each class, or for the second of two, (n_samples, n_scores)."""
        logs = self.classifier.predict_joint_log_proba(X)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs
