"""Models that are asked themselves, not read, and pipelines.

A model whose output is an analytic function of each column is asked itself, and so is
a pipeline of such a model behind smooth steps: for scores where it has some, which take
fewer nodes than what follows from them.
"""

from dataclasses import replace

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import (
    BehindSteps,
    LinkedForm,
    NotReadable,
    Read,
    Smooth,
    combined,
)
from skvarimp._models.labels import Sign, class_link
from skvarimp._models.model import Model, rule_of
from skvarimp._models.registry import read
from skvarimp._models.transformers import (
    NotAffine,
    NotColumnwise,
    affine,
    replaced,
    sources,
)
from skvarimp._running.guards import users_code


def read_smooth(model, table):
    """Values or scores of a model that has no others."""
    return Smooth(model=model)


def read_elliptic_envelope(model, table):
    """Squared distances, and labels by their sign."""
    if model.method == "decision_function":
        return Smooth(model=model)
    return smooth_scores(Model(model.estimator, "decision_function"), Sign())


def read_discriminant(model, table):
    """Scores of classes, which are quadratic, and what follows from them."""
    if model.method == "decision_function":
        return Smooth(model=model)
    estimator = model.estimator
    if type(estimator).__name__ == "NearestCentroid" and model.method == "predict":
        raise NotReadable("labels by distances that are not those of its scores")
    return smooth_classes(model, Model(estimator, "decision_function"))


def read_gaussian_naive_bayes(model, table):
    """Joint log-probabilities, which are quadratic, and what follows from them."""
    if len(model.class_lists[0]) == 1:
        raise NotReadable("it has seen one class")
    return smooth_classes(
        model, Model(JointLogProbabilities(model.estimator), "predict")
    )


def read_gaussian_process_classifier(model, table):
    """Probabilities, and labels by the largest."""
    if model.method == "predict_proba":
        return Smooth(model=model)
    return smooth_classes(model, Model(model.estimator, "predict_proba"), threshold=0.5)


def smooth_classes(model, scores, threshold=0.0):
    """What a classifier gives by the scores of its classes, one score for two."""
    (classes,) = model.class_lists
    n_scores = 1 if len(classes) == 2 else len(classes)
    return smooth_scores(
        scores, class_link(model.method, n_scores, threshold=threshold)
    )


def smooth_scores(model, link):
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


READ_ROWS = 100  # transformed for the readers of what comes behind the steps


def read_pipeline(model, table):
    """Column-wise steps, then affine ones, then a model that is read."""
    pipeline = model.estimator
    if len(pipeline.steps) == 1:
        return read(Model(pipeline.steps[0][1], model.method), table)
    n_before, source, reason = _columnwise(pipeline, table)
    table = table.take(spread_over(table.n_samples, READ_ROWS))
    steps, behind = pipeline[:n_before], pipeline[n_before:]
    if not n_before:
        return _behind(model, table, reason)
    model = Model(behind, model.method)
    moved = _transformed(steps, table)
    if moved.n_columns != len(source):
        raise NotReadable("the columns behind the Pipeline's steps are not known")
    form = _behind(model, moved, reason)
    return BehindSteps(steps=steps, source=source, form=form, model=model)


def _columnwise(pipeline, table):
    """How many first steps work column by column, their sources, and why no more do."""
    reason = None
    for n_before in range(len(pipeline.steps) - 1, 0, -1):
        try:
            source = sources(pipeline[:n_before], table.n_columns, table.names)
            return n_before, source, reason
        except NotColumnwise as mixing:
            reason = str(mixing)
    return 0, None, reason


def _transformed(steps, table):
    with users_code():
        return as_table(steps.transform(table.copy()))


def _behind(model, table, reason):
    """The form of steps that mix columns and a model, or NotReadable with the reason.

    Affine steps are multiplied into models of weighted sums. Models that are smooth
    behind smooth steps are asked as a whole.
    """
    steps, last = model.estimator[:-1], model.estimator[-1]
    moved = _transformed(steps, table) if len(steps) else table
    form = read(Model(last, model.method), moved)
    if len(steps) == 0:
        return form
    try:
        wider = form.after(affine(steps, table.n_columns))
    except NotAffine:
        wider = None
    if wider is not None:
        return replace(wider, single=True)  # single precision of X stays single
    if all(_is_smooth(step) for _, step in steps.steps):
        scores = _scores_of(last, model.method, moved)
        if scores is not None and scores.smooth and isinstance(form, LinkedForm):
            return smooth_scores(Model(model.estimator, "decision_function"), form.link)
        if form.smooth:
            return Smooth(model=model)
    raise NotReadable(reason)


def _scores_of(estimator, method, table):
    """The form of a linear classifier's scores, or None."""
    if method == "decision_function" or not hasattr(estimator, "decision_function"):
        return None
    scores = read(Model(estimator, "decision_function"), table)
    return scores if isinstance(scores, Additive) else None


# Transformers besides affine ones whose outputs are analytic functions of each column.
SMOOTH = {
    "sklearn.preprocessing": {"PolynomialFeatures": True},
    "sklearn.decomposition": {"FactorAnalysis": True},
    "sklearn.discriminant_analysis": {"LinearDiscriminantAnalysis": True},
    "sklearn.kernel_approximation": {"Nystroem": True, "RBFSampler": True},
}


def _is_smooth(step):
    """Whether the outputs of a fitted transformer are analytic in each column."""
    if rule_of(step, SMOOTH):
        return not replaced(step)
    try:
        affine(step, getattr(step, "n_features_in_", 0))
    except NotAffine:
        return False
    return True
