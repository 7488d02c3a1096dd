"""What the compiled kernels of `_compiled_walk` are given, and what is made of it.

The moves of one walk become flat arrays once (`Plan`); the rows of each task go
through a kernel; the states that come out are those of the NumPy path. Reductions that
no kernel knows, and links that jump, are served from the curves' steps.
"""

import numpy as np

from skvarimp._models.tree_links import Exponential, Logistic, Softmax
from skvarimp._response.reductions.losses import AbsoluteErrorLoss
from skvarimp._response.reductions.reductions import (
    IndividualFlatness,
    Loss,
    Observed,
    Pairs,
    PartialDependence,
    Range,
    SquaredError,
)
from skvarimp._response.reductions.states import State
from skvarimp._response.responses.trees import compiled_walk as kernels
from skvarimp._response.shapes.steps import Steps

QUESTIONS = 8  # splits of trees so small that all answers to them are remembered,
ANSWERS = 2**23  # and how many answers of codes to splits there may be, in bytes
ROOM = 2**20  # steps handed out at a time: 12 MB, but those of one row
LINKS = {
    Exponential: kernels.EXPONENTIAL,
    Logistic: kernels.LOGISTIC,
    Softmax: kernels.SOFTMAX,
}
PLAIN = {
    Pairs: kernels.PAIRS,
    Observed: kernels.OBSERVED,
    Range: kernels.RANGE,
    PartialDependence: kernels.MEAN,
    SquaredError: kernels.SQUARED,
}
OF_CELLS = (
    kernels.PAIRS,
    kernels.OBSERVED,
    kernels.SQUARED,
    kernels.ABSOLUTE,
    kernels.MEAN,
)


def kind_of(reduction, member):
    """Number of the kernel's reduction that serves one of ours, or None."""
    if type(reduction) is IndividualFlatness:
        statistic = reduction.statistic
        if statistic == "auto":
            statistic = "range" if member.categorical else "std"
        return kernels.STD if statistic == "std" else kernels.RANGE
    if type(reduction) is Loss and type(reduction.loss) is AbsoluteErrorLoss:
        return kernels.ABSOLUTE
    return PLAIN.get(type(reduction))


def steps_of_rows(table, codes, members, with_raw=False):
    """As `_tree_curves.steps_of_rows`."""
    return Plan(table, members).steps(codes, with_raw)


def flat_trees(table):
    """`Trees` of a `TreeTable`."""
    cut = table.cut.copy()
    sets = np.zeros((1, 1), dtype=bool)
    if table.left_set is not None:
        nominal = table.left_set >= 0
        cut[nominal] = -1 - table.left_set[nominal]
        sets = table.sets
    right, left = table.children.reshape(-1, 2).T
    nodes = np.stack([table.feature, cut, right, left], axis=1)
    edges = np.stack([table.edge_feature, table.edge_rank], axis=1)
    return kernels.Trees(
        np.ascontiguousarray(nodes, dtype=np.int32),
        table.missing_left,
        table.missing_code,
        sets,
        np.ascontiguousarray(table.values.T),
        np.ascontiguousarray(edges, dtype=np.int32),
    )


class Plan:
    """Members of a walk as flat arrays.

    Parameters
    ----------
    table : TreeTable
    members : list of Member
    """

    def __init__(self, table, members):
        self.table = table
        self.members = sorted(members, key=lambda member: member.feature)
        features = np.array([member.feature for member in self.members])
        self.moving = np.zeros(len(table.columns), dtype=bool)
        self.moving[features[features >= 0]] = True
        n_cells = np.array([member.n_cells for member in self.members])
        rounded = -(-n_cells // kernels.WORD) * kernels.WORD
        self.first_cell, self.n_flat = np.cumsum(rounded) - rounded, int(rounded.sum())
        opens = np.zeros(len(table.feature), dtype=bool)
        for member in self.members:
            if member.feature >= 0:
                opens[table.edges_on(member.feature)[member.count > 0]] = True
        marks, first_mark = self._marks()
        self.arrays = kernels.Members(
            np.searchsorted(features, np.arange(len(table.columns) + 1)),
            opens,
            marks,
            first_mark,
            self.first_cell,
            n_cells,
            self._before([member.probabilities for member in self.members]),
            self._before([member.multiplicity for member in self.members]),
            self.n_flat,
            int(n_cells.max()),
        )

    def _marks(self):
        """The marks of all edges, edge after edge, and where each edge's begin."""
        known = [m for m in range(len(self.members)) if self.members[m].feature >= 0]
        n_marks = np.zeros(len(self.table.feature), dtype=np.int64)
        for m in known:
            member = self.members[m]
            n_marks[self.table.edges_on(member.feature)] += member.count
        first_mark = np.concatenate([[0], np.cumsum(n_marks)])
        marks, free = np.empty(first_mark[-1], dtype=np.int32), first_mark[:-1].copy()
        for m in known:
            member = self.members[m]
            edges = self.table.edges_on(member.feature)
            number = np.arange(len(member.steps))
            at = number + np.repeat(free[edges] - member.start, member.count)
            ends = (number - np.repeat(member.start, member.count)) % 2 == 1
            cells = (member.steps + self.first_cell[m]).astype(np.int32)
            marks[at] = np.where(ends, ~cells, cells)
            free[edges] += member.count
        return marks, first_mark

    def _before(self, of_cells):
        """Cumulated from 0 on, each member's behind its first cell and number."""
        result = np.zeros(self.n_flat + len(of_cells))
        for m, (first, values) in enumerate(zip(self.first_cell, of_cells)):
            at = first + m
            np.cumsum(values, out=result[at + 1 : at + 1 + len(values)])
        return result

    def trees(self, all_trees):
        """(Trees, Forest) of all trees, or of those with features that move."""
        table = self.table
        which = np.arange(len(table.roots))
        if not all_trees:
            which = table.trees_with(self.moving)
        questions = np.empty((len(which), 0), dtype=np.int32)
        inner = table.feature[table.feature >= 0]
        n_answers = (table.missing_code + 1)[inner].sum()
        if table.max_leaves - 1 <= QUESTIONS and n_answers <= ANSWERS:
            questions = _inner_nodes(table)[which]
        roots = np.ascontiguousarray(table.roots[which])
        forest = kernels.Forest(roots, questions, table.max_depth)
        return table.flat, forest

    def steps(self, codes, with_raw):
        """As `_tree_curves.steps_of_rows`."""
        codes = np.array(codes, dtype=np.int32, order="C")
        trees = self.trees(with_raw)
        n_raw, n_members = self.table.n_raw, len(self.members)
        room = max(ROOM // n_raw, self.n_flat)
        cells, changes = np.empty(room, np.int32), np.empty((n_raw, room))
        raw = np.zeros((len(codes), n_raw))
        starts = np.empty((len(codes), n_members + 1), dtype=np.int64)
        parts, done = {member.position: [] for member in self.members}, 0
        while done < len(codes):
            rest = slice(done, None)
            n_done = kernels.steps_of_rows(
                *trees, self.arrays, codes[rest], raw[rest], starts, cells, changes
            )
            for m, member in enumerate(self.members):
                bounds = starts[:n_done, m : m + 2]
                steps = _steps(bounds, cells, changes, member.n_cells)
                parts[member.position].append(steps)
            done += n_done
        steps = {position: Steps.joined(of_one) for position, of_one in parts.items()}
        return steps, raw.T.copy() if with_raw else None


class Job:
    """What the kernels reduce for the members of a plan, and what they leave over.

    Parameters
    ----------
    plan : Plan
    reductions_of : callable
        reductions_of(position) -> list of Reduction.
    link : callable or None
    """

    def __init__(self, plan, reductions_of, link):
        self.plan, self.link = plan, link
        n_members = len(plan.members)
        self.wanted = [reductions_of(member.position) for member in plan.members]
        self.slots = np.full((n_members, kernels.SKETCH + 1), -1)
        self.kinds = np.full(kernels.SKETCH + 1, -1)
        self.mean = self.target = None
        self.n_rows_slots = self.n_sketch = 0
        self.known = link is None or type(link) in LINKS
        if self.known:
            for m in range(n_members):
                for reduction in self.wanted[m]:
                    self._enter(m, reduction)
        of_cells = [k for k in OF_CELLS if np.any(self.slots[:, k] >= 0)]
        self.kinds[of_cells] = np.arange(len(of_cells))

    def _enter(self, m, reduction):
        kind = kind_of(reduction, self.plan.members[m])
        if kind is None:
            return
        if kind == kernels.MEAN:
            self.mean = self.mean or reduction
            if self._same_sketch(reduction) and self.slots[m, kind] < 0:
                self.slots[m, kind] = 0
                self.slots[m, kernels.SKETCH] = self.n_sketch
                self.n_sketch += self.plan.members[m].n_cells
            return
        if kind in (kernels.SQUARED, kernels.ABSOLUTE):
            self.target = self.target or _target(reduction)
            if not self._same_target(reduction):
                return
        if self.slots[m, kind] < 0:
            self.slots[m, kind] = self.n_rows_slots
            self.n_rows_slots += 1

    def _same_sketch(self, reduction):
        mean = self.mean
        return (mean.n_groups, mean.n_rows) == (reduction.n_groups, reduction.n_rows)

    def _same_target(self, reduction):
        return _target(reduction) == self.target

    def serves(self, m, reduction):
        """Number of the kernel's reduction that serves, or None."""
        kind = kind_of(reduction, self.plan.members[m]) if self.known else None
        if kind == kernels.MEAN and not self._same_sketch(reduction):
            return None
        if kind in (kernels.SQUARED, kernels.ABSOLUTE):
            return kind if self._same_target(reduction) else None
        return kind

    @property
    def left_over(self):
        """Members some of whose reductions no kernel serves."""
        return [
            member
            for m, member in enumerate(self.plan.members)
            if any(self.serves(m, reduction) is None for reduction in self.wanted[m])
        ]

    def run(self, codes, offset, walk, rows):
        """Lists of states, one a member; None for what is left over.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)
        offset : ndarray of shape (n_raw,)
        walk : Walk
        rows : slice
            Which of the evaluated rows these are.
        """
        plan, table = self.plan, self.plan.table
        n_rows, n_raw = len(codes), table.n_raw
        n_groups, groups, signs = 0, np.zeros(n_rows, np.int64), np.zeros(n_rows)
        weights = np.array(walk.weights[rows], dtype=np.float64)
        if self.mean is not None:
            n_groups = self.mean.n_groups
            groups = np.array(self.mean.groups[rows], dtype=np.int64)
            signs = self.mean.signs[rows] * np.sqrt(weights)
        errors = np.zeros((n_rows, n_raw))
        if self.target is not None:
            errors[:] = (self.target(walk.y[rows]) - walk.base[:, rows]).T
        n_kinds = int(self.kinds.max()) + 1
        result = kernels.Wanted(
            self.slots,
            np.zeros((self.n_rows_slots, n_raw, n_rows)),
            self.kinds,
            np.zeros((n_kinds, n_raw, plan.n_flat)),
            np.zeros((n_groups, n_raw, self.n_sketch)),
        )
        # rows of one group after the other: its sketch stays in the cache
        order = np.argsort(groups, kind="stable")
        codes = np.array(codes[order], dtype=np.int32, order="C")
        given = kernels.Rows(
            codes, weights[order], errors[order], groups[order], signs[order]
        )
        trees = plan.trees(self.link is not None)
        if n_kinds == 1 and self.n_rows_slots == 0 and self.link is None:
            kernels.add_means(*trees, plan.arrays, given, result)
        elif n_kinds + self.n_rows_slots > 0:
            link = LINKS.get(type(self.link), kernels.NO_LINK)
            factor = float(getattr(self.link, "factor", 1.0))
            kernels.reduce_rows(
                *trees, plan.arrays, given, link, factor, offset, result
            )
        result.rows[:] = result.rows[:, :, np.argsort(order)]
        return [
            [
                self._state(m, reduction, result, walk, rows)
                for reduction in self.wanted[m]
            ]
            for m in range(len(plan.members))
        ]

    def _state(self, m, reduction, result, walk, rows):
        """The `State` of one reduction of one member."""
        kind = self.serves(m, reduction)
        if kind is None:
            return None
        member = self.plan.members[m]
        cells = sketch = None
        first = self.plan.first_cell[m]
        if self.kinds[kind] >= 0:
            of_kind = result.cells[self.kinds[kind], :, first : first + member.n_cells]
            cells = np.cumsum(of_kind, axis=-1)[np.newaxis]
        if kind == kernels.MEAN:
            first = self.slots[m, kernels.SKETCH]
            sketch = result.sketch[:, :, first : first + member.n_cells]
            sketch = np.cumsum(np.swapaxes(sketch, 0, 1), axis=-1)[np.newaxis]
            return State(None, cells, sketch, None, member.cell_of_value)
        of_rows = result.rows[self.slots[m, kind]]
        if kind in (kernels.SQUARED, kernels.ABSOLUTE):
            y, base = walk.y[rows], walk.base[:, rows, np.newaxis]
            unmoved = reduction.loss(y[:, np.newaxis], base)[:, 0]
            of_rows, cells = np.stack([of_rows[0], unmoved]), cells[:, :1]
        return State(of_rows[np.newaxis], cells, sketch, None, member.cell_of_value)


def _target(reduction):
    return reduction.loss.target


def _inner_nodes(table):
    """The inner nodes of each tree, then -1, (n_trees, most of a tree)."""
    nodes = np.flatnonzero(table.feature >= 0)
    tree = table.tree[nodes]
    first = np.searchsorted(tree, np.arange(len(table.roots)))
    result = np.full((len(table.roots), table.max_leaves - 1), -1, dtype=np.int32)
    result[tree, np.arange(len(nodes)) - first[tree]] = nodes
    return result


def _steps(bounds, cells, changes, n_cells):
    """`Steps` of one member out of those of all: bounds (n_rows, 2)."""
    first, counts = bounds[:, 0], bounds[:, 1] - bounds[:, 0] - 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    at = np.arange(starts[-1]) + np.repeat(first + 1 - starts[:-1], counts)
    return Steps(changes[:, first], starts, cells[at], changes[:, at], n_cells)
