"""What `conditional` asks for, checked, and the moves of all entries."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.table import as_table
from skvarimp._measures.residuals.fits import Sources, residual_move
from skvarimp._response.sampling import entry_seeds
from skvarimp._running.tasks import in_order


@dataclass(frozen=True, eq=False)
class ResidualGrid:
    """A grid of predictions plus residuals, see `make_move`.

    Parameters
    ----------
    moves : dict
        Entry -> `ResidualMove`.
    """

    moves: dict

    def __call__(self, table, weights, entry, categorical_columns):
        """The move of an entry."""
        return self.moves[entry]


def residual_grid(measure, problem, entries):
    """The `ResidualGrid` of all entries, and the share explained of each."""
    table, model = problem.table, _checked_model(measure.conditional, problem.weights)
    if isinstance(table, SparseTable):
        raise TypeError(
            "conditional='residuals' fits a model to each column and needs a dense X, "
            f"got a sparse matrix of shape {table.native.shape}. Use "
            "conditional='subgroups', or X.toarray()."
        )
    _check_columns(table, entries)
    categorical = measure._categorical(problem)
    fit_table = _checked_rows(measure.conditional_fit_rows, table)
    sources = Sources.of(table, problem.weights, fit_table, categorical, model)
    seeds = np.zeros(len(entries), dtype=np.int64)
    if measure.random_state is not None:
        seeds = entry_seeds(measure.random_state, len(entries)) % 2**31
    tasks = list(zip(entries, seeds.tolist()))
    how = tasks, (sources,), measure.n_jobs
    found = list(in_order(residual_move, *how, prefer="threads"))
    moves = {entry: move for (entry, _), (move, _) in found}
    return ResidualGrid(moves), np.array([share for _, (_, share) in found])


def _check_columns(table, entries):
    """Raise for entries of dates, and for infinity, from which nothing is predicted."""
    names, way_out = table.column_names(), "or use conditional='subgroups'."
    for j in {j for entry in entries for j in entry.columns}:
        if table.is_date(j):
            raise ValueError(
                "conditional='residuals' predicts numbers and categories, but column "
                f"{names[j]!r} holds dates or durations. Make a number of it, {way_out}"
            )
    for j in range(table.n_columns):
        column = table.column(j)
        if column.dtype.kind == "f" and np.any(np.isinf(column)):
            raise ValueError(
                "conditional='residuals' needs finite numbers, but column "
                f"{names[j]!r} holds infinity. Make it missing (NaN), {way_out}"
            )


def _checked_model(conditional, weights):
    """The user's model, or None."""
    if isinstance(conditional, str):
        return None
    name = type(conditional).__name__
    if is_classifier(conditional) and not hasattr(conditional, "predict_proba"):
        raise TypeError(
            f"`conditional` is a {name}, but categories are drawn from predicted "
            "probabilities. Use a classifier with `predict_proba`."
        )
    takes_weights = has_fit_parameter(conditional, "sample_weight")
    if not takes_weights and np.any(weights != weights[0]):
        raise ValueError(
            f"`conditional` is a {name}, whose `fit` takes no `sample_weight`. Use "
            "conditional='residuals' or another model where rows have weights."
        )
    return conditional


def _checked_rows(rows, table):
    """The table to fit on, or None where it is the one given."""
    if rows is None:
        return None
    fit_table = as_table(rows)
    if fit_table.n_columns != table.n_columns or fit_table.names != table.names:
        raise ValueError(
            f"`conditional_fit_rows` must have the {table.n_columns} columns of X, "
            f"{table.column_names()!r:.200}, got {fit_table.n_columns} columns, "
            f"{fit_table.column_names()!r:.200}."
        )
    if fit_table.n_samples < 2:
        raise ValueError(
            "`conditional_fit_rows` must have at least two rows, got "
            f"{fit_table.n_samples}. None fits on the rows of X."
        )
    return fit_table
