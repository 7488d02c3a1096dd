"""All leaves that rows reach as any one feature moves, in one walk down all trees.

Each row goes down each tree by its own values. At every split it passes on a feature
that may move, the other child is what the row would meet with that feature's value
on the other side; from there on the row goes by its own values again, but both ways
at splits on the same feature. Every leaf reached off the row's own path is one
`Visits` entry: the row, the leaf, and the last edge on the moved feature, which
knows the codes of that feature that lead there.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._running.memory import CACHE, HELD, numbers_at_once


def rows_at_once(table, n_trees):
    """How many rows go down some trees of a table together."""
    paths, codes = numbers_at_once(CACHE), numbers_at_once(HELD)
    return max(1, min(paths // n_trees, codes // max(1, len(table.columns))))


@dataclass
class Visits:
    """Leaves reached off the rows' own paths.

    Attributes
    ----------
    path : ndarray of shape (n,)
        tree * n_rows + row.
    leaf : ndarray of shape (n,)
    edge : ndarray of shape (n,)
        Last edge on the moved feature.
    """

    path: np.ndarray
    leaf: np.ndarray
    edge: np.ndarray

    @staticmethod
    def joined(parts):
        """Those of several."""
        if len(parts) == 1:
            return parts[0]
        return Visits(
            np.concatenate([part.path for part in parts]),
            np.concatenate([part.leaf for part in parts]),
            np.concatenate([part.edge for part in parts]),
        )

    def take(self, order):
        """Some of them, in the given order."""
        return Visits(
            self.path.take(order), self.leaf.take(order), self.edge.take(order)
        )


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
        the cache), once `go_down` was called.
    """

    def __init__(self, table, codes, trees):
        self.table = table
        self.codes = np.ascontiguousarray(codes, dtype=np.int32).ravel()
        self.n_rows, self.n_trees = len(codes), len(trees)
        self.n_features = len(table.columns)
        self.roots = table.roots[trees]
        self.any_missing = bool(np.any(codes == table.missing_code))
        rows = np.arange(self.n_rows, dtype=np.int32)
        self._rows = np.tile(rows, self.n_trees)
        self.first = self._rows * np.int32(self.n_features)  # of a path in the codes
        self.own = np.empty(self.n_rows * self.n_trees, dtype=np.int32)

    def _step(self, path, node, feature):
        """(child gone to, where the other child is found) of each state."""
        code = self.codes.take(self.first.take(path) + feature)
        left = self.table.goes_left(node, feature, code, self.any_missing)
        twice = 2 * node
        return self.table.children.take(twice + left), twice + ~left

    def _inner(self, feature, *state):
        """The states at inner nodes and those at leaves."""
        inner = feature >= 0
        if inner.all():
            return feature, state, None
        keep, at_leaf = np.flatnonzero(inner), np.flatnonzero(~inner)
        kept = tuple(array.take(keep) for array in state)
        return feature.take(keep), kept, tuple(array.take(at_leaf) for array in state)

    def go_down(self, moving=None):
        """Fill `own`; returns the other children met on the way, (path, node).

        Parameters
        ----------
        moving : ndarray of shape (n_features,) or None
            Which features move; None: all of them.
        """
        path = np.arange(len(self.own), dtype=np.int32)
        node = np.repeat(self.roots, self.n_rows)
        others = [(path[:0], node[:0])]
        while len(node):
            feature = self.table.feature.take(node)
            feature, (path, node), done = self._inner(feature, path, node)
            if done is not None:
                self.own[done[0]] = done[1]
            node, other = self._step(path, node, feature)
            if moving is None:
                others.append((path, self.table.children.take(other)))
            else:
                moved = np.flatnonzero(moving.take(feature))
                other = self.table.children.take(other.take(moved))
                others.append((path.take(moved), other))
        return tuple(np.concatenate(parts) for parts in zip(*others))

    def visits(self, moving=None):
        """Yield `Visits` as each feature moves on its own; fills `own` first."""
        path, node = self.go_down(moving)
        stack, most = [(path, node, node)], numbers_at_once(CACHE)
        while stack:
            path, node, edge = stack.pop()
            reached = [(path[:0], node[:0], edge[:0])]
            while len(node):
                if len(node) > most:
                    half = len(node) // 2
                    stack.append((path[half:], node[half:], edge[half:]))
                    path, node, edge = path[:half], node[:half], edge[:half]
                    continue
                feature = self.table.feature.take(node)
                feature, state, done = self._inner(feature, path, node, edge)
                path, node, edge = state
                if done is not None:
                    reached.append(done)
                node, other = self._step(path, node, feature)
                both = np.flatnonzero(self.table.edge_feature.take(edge) == feature)
                if len(both):
                    edge = edge.copy()
                    edge[both] = node[both]
                    other = self.table.children.take(other[both])
                    path = np.concatenate([path, path[both]])
                    node = np.concatenate([node, other])
                    edge = np.concatenate([edge, other])
            yield Visits(*(np.concatenate(parts) for parts in zip(*reached)))

    def reachable(self, moving, limit):
        """(path, leaf) of every leaf reached as some features move together.

        Goes both ways at every split on one of them. Fills `own`.

        Parameters
        ----------
        moving : ndarray of shape (n_features,)
        limit : int
            None is returned where several rows reach more leaves.
        """
        stack, n_reached = [self._start()], 0
        reached, most = [(self._rows[:0], self.own[:0])], numbers_at_once(CACHE)
        while stack:
            path, node, own = stack.pop()
            while len(node):
                if len(node) > most:
                    half = len(node) // 2
                    stack.append((path[half:], node[half:], own[half:]))
                    path, node, own = path[:half], node[:half], own[:half]
                    continue
                feature = self.table.feature.take(node)
                feature, (path, node, own), done = self._inner(feature, path, node, own)
                if done is not None:
                    self.own[done[0][done[2]]] = done[1][done[2]]
                    reached.append(done[:2])
                    n_reached += len(done[0])
                    if n_reached > limit and self.n_rows > 1:
                        return None
                node, other = self._step(path, node, feature)
                both = np.flatnonzero(moving.take(feature))
                other = self.table.children.take(other[both])
                path = np.concatenate([path, path[both]])
                node = np.concatenate([node, other])
                own = np.concatenate([own, np.zeros(len(both), dtype=bool)])
        return tuple(np.concatenate(parts) for parts in zip(*reached))

    def _start(self):
        path = np.arange(len(self.own), dtype=np.int32)
        return path, np.repeat(self.roots, self.n_rows), np.ones(len(path), dtype=bool)

    def row(self, path):
        """The row of each path."""
        return self._rows.take(path)

    def changes(self, visits):
        """Raw outputs at visited leaves minus the paths' own, (n_raw, n_visits)."""
        values = self.table.values
        own = self.own.take(visits.path)
        return values.take(visits.leaf, axis=1) - values.take(own, axis=1)

    def raw(self):
        """Sum over the trees of the own leaves' values, (n_raw, n_rows)."""
        own = self.table.values.take(self.own, axis=1)
        return own.reshape(len(own), self.n_trees, self.n_rows).sum(axis=1)
