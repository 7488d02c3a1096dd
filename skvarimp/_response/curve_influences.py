"""A second pass for influences on mean curves, where curves of rows were not kept.

How much a row moves the flatness of a mean curve is known only after the mean curve.
The walk keeps each row's curve until then if memory allows. If not, the curves are
formed again here, block by block.
"""

import numpy as np

from skvarimp._running.memory import even_slices
from skvarimp._running.tasks import in_order


def curve_influences(walk, reduction, curves, n_jobs=None):
    """Yield (entry, influence of each row) on the flatness of mean curves.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request with one scale.
    reduction : PartialDependence
    curves : dict
        Entry -> its mean curves, (n_outputs, n_cells).
    n_jobs : int or None

    Yields
    ------
    e : int
    influences : ndarray of shape (n_rows,)
        Mean over the outputs, scaled.
    """
    tasks = list(curves.items())
    for (e, _), psi in in_order(_of_entry, tasks, (walk, reduction), n_jobs):
        yield e, psi


def _of_entry(task, walk, reduction):
    e, curves = task
    move, response = walk.moves[e], walk.response
    ((scale, *_),) = walk.scales
    sample = walk.sample([move], scale)
    cells = curves - (walk.base @ walk.weights)[:, np.newaxis]
    kind = reduction.of_kind(move.categorical)
    (slope,) = kind.slope(cells[np.newaxis], sample)
    psi = np.empty(walk.base.shape)
    step = response.block_rows(move.n_cells, walk.table.n_columns)
    for part in even_slices(len(walk.rows), step):
        base = walk.base[:, part]
        ice = response.curves(walk.table, walk.rows[part], move, base)
        psi[:, part] = np.einsum("oik,ok->oi", ice - base[:, :, np.newaxis], slope)
    psi -= np.sum(slope * cells, axis=1, keepdims=True)
    importances = kind.spread(cells[np.newaxis], sample) / scale
    psi = psi + kind.own_influences(cells[np.newaxis], importances, sample)
    psi = psi.reshape(walk.base.shape)
    return (psi / scale[:, np.newaxis]).mean(axis=0)
