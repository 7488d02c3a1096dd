"""All leaves that rows reach as features move, in one walk down all trees.

Each row goes down each tree by its own values. At every split it passes on a feature
that may move, the other child is what the row would meet with that feature's value
on the other side. From there on, if features move one at a time, the row goes by its
own values again, but both ways at splits on the same feature. The last edge on the
moved feature knows the codes of that feature that lead to a leaf.
"""

import numpy as np

from skvarimp._running.memory import BLOCK, CACHE, HELD, even_slices, numbers_at_once


def rows_at_once(table, n_trees):
    """How many rows go down some trees of a table together."""
    paths, codes = numbers_at_once(CACHE), numbers_at_once(HELD)
    return max(1, min(paths // n_trees, codes // max(1, len(table.columns))))


def descents(table, codes, trees, moving, at_once, together=False):
    """Yield (slice of rows, Descent, path, leaf, edge): leaves that some rows reach.

    Parameters
    ----------
    table, codes, trees : see `Descent`
    moving, together : see `Descent.leaves`
    at_once : int
        Rows, at most; there are fewer where they reach too many leaves.
    """
    waiting = even_slices(len(codes), at_once)[::-1]
    while waiting:
        part = waiting.pop()
        descent, reached, n_reached = Descent(table, codes[part], trees), [], 0
        for some in descent.leaves(moving, together):
            reached.append(some)
            n_reached += len(some[0])
            if n_reached > numbers_at_once(BLOCK) and descent.n_rows > 1:
                middle = (part.start + part.stop) // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                break
        else:
            yield part, descent, *(np.concatenate(parts) for parts in zip(*reached))


class Descent:
    """Some rows in some trees of a table.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_rows, n_features)
        Codes of the rows.
    trees : ndarray of shape (n_trees,)
        The trees to go down.

    Attributes
    ----------
    own : ndarray of shape (n_trees * n_rows,)
        The leaf of each path (tree by tree, so that what is read of one tree stays in
        the cache), once all `leaves` were seen.
    """

    def __init__(self, table, codes, trees):
        self.table = table
        self.codes = np.ascontiguousarray(codes, dtype=np.int32).ravel()
        self.n_rows, self.n_trees = len(codes), len(trees)
        self.roots = table.roots[trees]
        self.any_missing = bool(np.any(codes == table.missing_code))
        rows = np.arange(self.n_rows, dtype=np.int32)
        self._rows = np.tile(rows, self.n_trees)
        self.first = self._rows * np.int32(len(table.columns))  # of a path in the codes
        self.own = np.empty(self.n_rows * self.n_trees, dtype=np.int32)

    def leaves(self, moving, together=False):
        """Yield (path, leaf, edge) of leaves reached as features move; fills `own`.

        A path is tree * n_rows + row; the edge is the last one on the moved feature,
        -1 where the path leads to the row's own leaf.

        Parameters
        ----------
        moving : ndarray of shape (n_features,)
            Which features move.
        together : bool
            Whether they move together, or each on its own.
        """
        path, most = np.arange(len(self.own), dtype=np.int32), numbers_at_once(CACHE)
        stack = [(path, np.repeat(self.roots, self.n_rows), np.full_like(path, -1))]
        while stack:
            state = stack.pop()
            half = len(state[0]) // 2
            if len(state[0]) > most:
                stack += [
                    tuple(a[half:] for a in state),
                    tuple(a[:half] for a in state),
                ]
                continue
            feature = self.table.feature.take(state[1])
            inner = feature >= 0
            if not inner.all():
                at_leaf, keep = np.flatnonzero(~inner), np.flatnonzero(inner)
                path, leaf, edge = reached = tuple(a.take(at_leaf) for a in state)
                self.own[path[edge < 0]] = leaf[edge < 0]
                yield reached
                feature, state = feature.take(keep), tuple(a.take(keep) for a in state)
            if len(feature):
                stack.append(self._below(*state, feature, moving, together))

    def _below(self, path, node, edge, feature, moving, together):
        """The children gone to, then the other ones where both are met."""
        children = self.table.children
        code = self.codes.take(self.first.take(path) + feature)
        left = self.table.goes_left(node, feature, code, self.any_missing)
        both = moving.take(feature)
        if not together:
            both &= (edge < 0) | (self.table.edge_feature.take(edge) == feature)
        both = np.flatnonzero(both)
        other = children.take((2 * node + ~left).take(both))
        node = children.take(2 * node + left)
        edge[both] = np.where(edge.take(both) < 0, -1, node.take(both))
        return tuple(
            np.concatenate(parts)
            for parts in ((path, path.take(both)), (node, other), (edge, other))
        )

    def row(self, path):
        """The row of each path."""
        return self._rows.take(path)

    def off_own(self, path, leaf, edge):
        """What is off the rows' own paths, and raw outputs there minus their own."""
        off = np.flatnonzero(edge >= 0)
        path, leaf, edge = path.take(off), leaf.take(off), edge.take(off)
        values = self.table.values
        changes = values.take(leaf, axis=1) - values.take(self.own.take(path), axis=1)
        return path, leaf, edge, changes

    def raw(self):
        """Sum over the trees of the own leaves' values, (n_raw, n_rows)."""
        own = self.table.values.take(self.own, axis=1)
        return own.reshape(len(own), self.n_trees, self.n_rows).sum(axis=1)
