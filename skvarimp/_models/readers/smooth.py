"""Models that are analytic functions of each column, which are asked themselves."""

from skvarimp._models.forms import NotReadable, Smooth, combined
from skvarimp._models.label_links import Sign, class_link
from skvarimp._models.registry import read_one


def read_smooth(model, table):
    """Values, scores or probabilities; and the labels that follow from them."""
    estimator = model.estimator
    decides = ("decision_function", "predict_proba")
    if model.method != "predict" or not any(hasattr(estimator, m) for m in decides):
        return Smooth(model=model)
    if not model.classifier:  # a detector of outliers
        scores, link = "decision_function", Sign()
    elif type(estimator).__name__ == "NearestCentroid":
        raise NotReadable("labels by distances that are not those of its scores")
    else:
        n_classes = len(estimator.classes_)
        n_scores = 1 if n_classes == 2 else n_classes
        scores, link = "predict_proba", class_link("predict", n_scores, threshold=0.5)
    return combined([read_one(estimator, scores, table)], link, "labels by")
