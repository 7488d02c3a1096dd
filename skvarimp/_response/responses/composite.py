"""Estimators around others: searches, frozen models, votes, transformed targets."""

import numpy as np

from skvarimp._data.validation import check_finite_response
from skvarimp._models.column_sources import NotColumnwise, sources
from skvarimp._models.model import Model
from skvarimp._response.contract import Response
from skvarimp._running.arithmetic import users_code


def lower_best_estimator(model, table):
    """A search answers with the estimator it refitted."""
    from skvarimp._response.lowering import NotLowerable, lowered

    best = getattr(model.estimator, "best_estimator_", None)
    if best is None:
        raise NotLowerable("the search was not refitted")
    return lowered(Model(best, model.method), table)


def lower_frozen(model, table):
    """A frozen estimator answers as the one inside."""
    from skvarimp._response.lowering import lowered

    return lowered(Model(model.estimator.estimator, model.method), table)


def lower_threshold(model, table):
    """A threshold moves labels; probabilities and scores are those inside."""
    from skvarimp._response.lowering import NotLowerable, lowered

    if model.method == "predict":
        raise NotLowerable("its labels depend on a threshold of its own")
    return lowered(Model(model.estimator.estimator_, model.method), table)


def lower_vote(model, table):
    """Weighted mean of the members' outputs."""
    from skvarimp._response.lowering import NotLowerable, lowered

    vote = model.estimator
    if model.classifier and (vote.voting != "soft" or model.method != "predict_proba"):
        raise NotLowerable("a vote of labels is no sum of its members")
    members = vote.estimators_
    weights = np.ones(len(members))
    if vote.weights is not None:
        kept = [not isinstance(e, str) for _, e in vote.estimators]  # "drop"
        weights = np.asarray(vote.weights, dtype=np.float64)[kept]
    method = "predict_proba" if model.classifier else "predict"
    models = [Model(member, method) for member in members]
    responses = [lowered(member, table) for member in models]
    return MeanResponse(models, responses, weights / weights.sum())


class OwnOutputs:
    """The unmoved output of one model inside another, asked once a table."""

    def __init__(self, model):
        self.model, self._table, self._outputs = model, None, None

    def __call__(self, table):
        if self._table is not table:
            self._table, self._outputs = table, self.model(table.native).T
        return self._outputs


class MeanResponse(Response):
    """sum_m weights[m] f_m, of models on the same columns."""

    def __init__(self, models, members, weights):
        self.members, self.weights = members, weights
        self.own = [OwnOutputs(model) for model in models]
        self.n_outputs = members[0].n_outputs
        paths = dict.fromkeys(member.path for member in members)
        self.path = f"vote of {' and '.join(paths)}"
        self.rounding = max(member.rounding for member in members)

    def curves(self, table, rows, move, base):
        """See `Response.curves`; sums of differences: exactly 0 where nothing moves."""
        ice = np.zeros((len(base), len(rows), move.n_cells))
        for weight, member, own in zip(self.weights, self.members, self.own):
            unmoved = own(table)[:, rows]
            moved = member.curves(table, rows, move, unmoved)
            ice += weight * (moved - unmoved[:, :, np.newaxis])
        return np.add(ice, base[:, :, np.newaxis], out=ice)

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`."""
        return sum(member.evaluations(n_rows, n_cells) for member in self.members)


def lower_transformed_target(model, table):
    """An element-wise inverse of the target's transformation as a link."""
    from skvarimp._response.lowering import NotLowerable, lowered

    wrapper = model.estimator
    try:
        columns = sources(wrapper.transformer_, 1)
    except NotColumnwise:
        raise NotLowerable("the target's transformation is not element-wise") from None
    if len(columns) != 1:
        raise NotLowerable("the target's transformation changes its columns")
    regressor = Model(wrapper.regressor_, "predict")
    return LinkedResponse(regressor, lowered(regressor, table), wrapper.transformer_)


class LinkedResponse(Response):
    """inverse_transform(f), element by element."""

    def __init__(self, model, inner, transformer):
        self.inner, self.transformer = inner, transformer
        self.own = OwnOutputs(model)
        self.n_outputs = inner.n_outputs
        self.path = f"transformed target, {inner.path}"
        # an inverse like exp turns errors of its argument into relative ones
        self.rounding = 10 * inner.rounding

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        ice = self.inner.curves(table, rows, move, self.own(table)[:, rows])
        targets = np.moveaxis(ice, 0, -1)  # (n_rows, n_cells, n_outputs)
        with users_code():
            inverse = self.transformer.inverse_transform(targets.reshape(-1, len(ice)))
        check_finite_response(np.asarray(inverse), f"with {move.entry.name!r} moved")
        return np.moveaxis(np.asarray(inverse).reshape(targets.shape), -1, 0)

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`."""
        return self.inner.evaluations(n_rows, n_cells) + n_rows * n_cells
