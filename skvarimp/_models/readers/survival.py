"""What survival models predict, and those of scikit-survival that are linear."""

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Additive
from skvarimp._models.links import EXPONENTIAL, IDENTITY


def predicts_times(model):
    """Whether a model of scikit-survival predicts times, not risks."""
    return not getattr(model, "_predict_risk_score", True)


def read_componentwise(model, table):
    """scikit-survival's boosting by single columns, whose steps add up."""
    coef = model.estimator.coef_  # of the intercept first
    link = IDENTITY if model.estimator.loss == "coxph" else EXPONENTIAL
    return Additive(weights=coef[1:, np.newaxis], intercept=coef[:1], link=link)


def read_coxnet(model, table):
    """The form of the last model on the path of penalties, which `predict` uses."""
    estimator = model.estimator
    return Additive(
        weights=dense(estimator.coef_)[:, -1:],
        intercept=-dense(estimator.offset_)[-1:],
        single=is_single(estimator.coef_),
    )
