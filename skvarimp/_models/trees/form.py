"""The form of trees and their ensembles: plain arrays of nodes, and a link."""

from dataclasses import dataclass, field, replace

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.forms import Form
from skvarimp._models.trees.encoders import Encoding

ROUNDING = 1e-11  # of sums over the trees; no share is as small


@dataclass
class Tree:
    """The nodes of one tree; node 0 is the root.

    Attributes
    ----------
    column : ndarray of shape (n_nodes,)
        Column of the table that a node splits on; -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
        Values up to it go left.
    left, right : ndarray of shape (n_nodes,)
        Children; -1 at a leaf.
    missing_left : ndarray of shape (n_nodes,)
        Whether missing values go left.
    values : ndarray of shape (n_nodes, n_raw)
        What a leaf adds to the raw outputs. Inner nodes hold what the library keeps
        there, if anything; `Upwards.means` gives them a meaning.
    sets : dict
        Node with a categorical split -> whether each category goes left, by its
        position.
    weight : ndarray of shape (n_nodes,) or None
        Training weight of each node: the sum of its rows' weights, or of their second
        derivatives where the library keeps those. None where it keeps nothing.
    count : ndarray of shape (n_nodes,) or None
        Training rows of each node; scikit-learn's trees only.
    decrease : ndarray of shape (n_nodes,) or None
        By how much a split lowers weight times impurity, or its gain; scikit-learn's
        trees only.
    columns : ndarray or None
        Columns that the tree was grown on; None for all.
    """

    column: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray
    sets: dict = field(default_factory=dict)
    weight: np.ndarray | None = None
    count: np.ndarray | None = None
    decrease: np.ndarray | None = None
    columns: np.ndarray | None = None

    @property
    def is_leaf(self):
        """(n_nodes,) bool."""
        return self.column < 0

    def levels(self):
        """The branch nodes of each depth, from the root down."""
        nodes, result = np.zeros(1, dtype=np.intp), []
        while len(nodes := nodes[self.column[nodes] >= 0]):
            result.append(nodes)
            nodes = np.concatenate([self.left[nodes], self.right[nodes]])
        return result


@dataclass
class Trees(Form):
    """A sum of trees behind a link.

    Attributes
    ----------
    trees : list of Tree
    encoding : Encoding
        How splits see the columns.
    link : Link or None
        From raw outputs to the response; None: they are the response.
    offset : ndarray of shape (n_raw,)
        Added to the sum of the trees.
    stages : ndarray of shape (n_trees,) or None
        The boosting stage that each tree belongs to, ascending; None where trees are
        averaged.
    shares : ndarray of shape (n_trees,) or None
        Weights of averaged trees, which their values hold as a factor; they sum to 1.
    loss : tuple of (str, float) or None
        Arguments of `TreeLoss`, what boosting minimises; None for averages.
    rounding : float
        How much the library's own raw outputs may be off, relative to the response.
    doubt : float or None
        The model itself is asked for labels that are decided by less than this. None:
        by less than sums in another order may differ.
    """

    piecewise_constant = True

    trees: list
    encoding: Encoding = field(default_factory=Encoding)
    link: object = None
    offset: np.ndarray | float = 0.0
    stages: np.ndarray | None = None
    shares: np.ndarray | None = None
    loss: tuple | None = None
    rounding: float = 0.0
    doubt: float | None = None

    def __post_init__(self):
        if self.stages is None and self.shares is None:
            self.shares = np.full(len(self.trees), 1.0 / len(self.trees))

    @property
    def n_raw(self):
        """Number of raw outputs."""
        return self.trees[0].values.shape[1]

    def gap(self):
        """How near outputs other than 0 and 1 can be to 0 and 1; 0 if not known.

        A mean of shares is 0 if all shares are 0, and otherwise at least the smallest
        share of one tree. The same holds for 1.
        """
        if self.link is not None or self.shares is None or np.any(self.offset):
            return 0.0
        smallest = np.inf
        for tree, share in zip(self.trees, self.shares):
            leaves = tree.values[tree.is_leaf]
            for sizes in (leaves, share - leaves):
                sizes = sizes[np.abs(sizes) > ROUNDING * share]
                smallest = min(smallest, sizes.min(initial=np.inf))
        return smallest if ROUNDING < smallest < np.inf else 0.0

    def scores(self, X):
        """See `Form.scores`; the raw outputs, (n_raw, n_samples)."""
        from skvarimp._models.trees.table import NodeTable

        nodes = NodeTable(self.trees, self.encoding)
        sums = nodes.raw(nodes.codes_of(as_table(X)))
        return sums + np.broadcast_to(self.offset, len(sums))[:, np.newaxis]

    def on(self, columns, n_columns):
        """See `Form.on`."""
        if np.array_equal(columns, np.arange(n_columns)):
            return self
        columns = np.asarray(columns)
        trees = [
            replace(
                tree,
                column=np.where(tree.is_leaf, -1, columns[tree.column]),
                columns=np.unique(columns),
            )
            for tree in self.trees
        ]
        return replace(self, trees=trees, encoding=self.encoding.on(columns))

    @staticmethod
    def summed(members, weights, shift):
        """See `Form.summed`; of trees that see the columns in one way."""
        first = members[0].encoding
        plain = not first.encoders and not first.n_categories
        if not plain or any(
            form.link is not None or form.encoding != first for form in members
        ):
            return None
        pairs = list(zip(members, weights))
        trees = [(tree, w) for form, w in pairs for tree in form.trees]
        return Trees(
            [replace(tree, values=w * tree.values) for tree, w in trees],
            first,
            offset=sum(w * m.offset for m, w in pairs) + shift,
            rounding=max(form.rounding for form in members),
        )

    def outputs(self, X):
        """See `Form.outputs`."""
        raw = self.scores(X)
        return raw if self.link is None else self.link(raw)[0]
