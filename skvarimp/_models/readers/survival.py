"""What survival models predict."""


def predicts_times(model):
    """Whether a model of scikit-survival predicts times, not risks."""
    return not getattr(model, "_predict_risk_score", True)
