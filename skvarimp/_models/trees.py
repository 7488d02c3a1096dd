"""The form of trees and their ensembles: nodes, how splits see the columns, a link."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from skvarimp._data.base_table import factorized, is_missing
from skvarimp._data.table import as_table
from skvarimp._models.forms import Form, NotReadable
from skvarimp._models.labels import AboveThreshold, class_link
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    SECOND,
    Softmax,
    Then,
    scaled,
)
from skvarimp._models.tree_table import TreeTable


@dataclass
class Encoding:
    """From the values of a table's columns to the numbers that splits compare.

    Attributes
    ----------
    single : bool
        Whether numbers are compared in single precision.
    n_categories : dict
        Categorical column -> how many positions its categories have.
    encoders : dict
        Column -> the encoders of its values, applied one after the other. They are
        functions (n,) -> (n,). All categories that no split names share one position,
        after those of the named categories.
    """

    single: bool = True
    n_categories: dict = field(default_factory=dict)
    encoders: dict = field(default_factory=dict)

    def on(self, columns):
        """The encoding of a wider table, of which this one sees some columns."""
        n_categories = {int(columns[j]): n for j, n in self.n_categories.items()}
        encoders = {int(columns[j]): encoder for j, encoder in self.encoders.items()}
        return Encoding(self.single, n_categories, encoders)

    def numbers(self, column, values):
        """Numbers, or positions of categories, (n,) float64; NaN where missing.

        Parameters
        ----------
        column : int
        values : ndarray of shape (n,)
            Of any type.
        """
        for encode in self.encoders.get(column, ()):
            values = encode(values)
        try:
            if self.single and column not in self.n_categories:
                values = single(values)
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):  # dates, which the model made numbers of
            raise NotReadable("a column that trees split on holds no numbers") from None


def single(values):
    """Numbers in single precision; those too large become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


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


def in_column(values, k, n_raw):
    """Values of one raw output, (n, n_raw); the others are 0."""
    result = np.zeros((len(values), n_raw))
    result[:, k] = values
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
        self.link = None if self.link is IDENTITY else self.link
        if self.stages is None and self.shares is None:
            self.shares = np.full(len(self.trees), 1.0 / len(self.trees))

    @property
    def n_raw(self):
        """Number of raw outputs."""
        return self.trees[0].values.shape[1]

    @cached_property
    def nodes(self):
        """The trees as one table of nodes."""
        return TreeTable(self.trees, self.encoding)

    def scores(self, X):
        """The raw outputs, (n_raw, n_samples)."""
        sums = self.nodes.raw(self.nodes.codes_of(as_table(X)))
        return sums + np.broadcast_to(self.offset, len(sums))[:, np.newaxis]

    def on(self, columns, n_columns):
        columns = np.asarray(columns)
        trees = [
            replace(tree, column=np.where(tree.is_leaf, -1, columns[tree.column]))
            for tree in self.trees
        ]
        return replace(self, trees=trees, encoding=self.encoding.on(columns))

    @staticmethod
    def mixed(members, mix):
        """Sums of trees that see the columns in one way."""
        plain = Encoding(members[0].encoding.single)
        one_way = all(m.link is None and m.encoding == plain for m in members)
        if not one_way or mix.matrix.shape != (1, len(members)):
            return None
        pairs = list(zip(members, mix.matrix[0]))
        weighted_trees = [(tree, w) for m, w in pairs for tree in m.trees]
        return Trees(
            [replace(tree, values=w * tree.values) for tree, w in weighted_trees],
            plain,
            offset=sum(w * m.offset for m, w in pairs) + mix.shift,
            rounding=max(m.rounding for m in members),
        )

    def behind(self, link):
        return replace(self, link=link) if self.link is None else None

    def outputs(self, X):
        raw = self.scores(X)
        return raw if self.link is None else self.link(raw)[0]


class Upwards:
    """The branch nodes of an ensemble by their depth, to add up leaves along them.

    Parameters
    ----------
    nodes : NodeTable

    Attributes
    ----------
    levels : list of tuple of ndarray
        Branch nodes of each depth, their right children, and their left ones. Left
        children come before right ones in the next level.
    """

    def __init__(self, nodes):
        self.nodes, self.levels, below = nodes, [], nodes.roots
        children = nodes.children.reshape(-1, 2)
        while len(below := below[nodes.feature[below] >= 0]):
            self.levels.append((below, *children[below].T))
            below = children[below].T[::-1].ravel()

    def sums(self, at_leaves):
        """Sums over the leaves below each node, of one number per node, (n_nodes,)."""
        sums = np.array(at_leaves, dtype=np.float64)
        for inner, right, left in reversed(self.levels):
            sums[inner] = sums[left] + sums[right]
        return sums

    def means(self, weight):
        """What each node would add as a leaf: the mean of its leaves by their weight.

        Leaves that no training row reached count only where a node has no others.

        Parameters
        ----------
        weight : ndarray of shape (n_nodes,)
            Of the training rows at each leaf.

        Returns
        -------
        ndarray of shape (n_raw, n_nodes)
        """
        leaf, values = self.nodes.feature < 0, self.nodes.values
        weight, number = self.sums(weight), self.sums(np.ones(len(leaf)))
        means = np.empty(values.shape)
        for mean, at_leaves in zip(means, values):
            mean[:] = self.sums(at_leaves) / number
            weighted = self.sums(weight * at_leaves)
            np.divide(weighted, weight, out=mean, where=weight > 0)
            mean[leaf] = at_leaves[leaf]
        return means


# Encoders of a column's values, (n,) to (n,) float64; see `Encoding.encoders`.


def recoded(categories, values):
    """The numbers of categories, given in their order; NaN where there is none."""
    codes, first = factorized(values)
    number_of = {category: k for k, category in enumerate(categories)}
    numbers = [
        np.nan if is_missing(level) else number_of.get(level, np.nan)
        for level in values[first].tolist()
    ]
    return np.array(numbers, dtype=np.float64)[codes]


def without_marker(marker, values):
    """Numbers; NaN for the one that stands for missing, told in single precision."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(single(values) == np.float32(marker), np.nan, values)


def place_among(named, values):
    """Places of numbers, cut to integers, among named ones (ascending); NaN stays.

    All numbers without a name share the place after the last.
    """
    values = np.trunc(np.asarray(values, dtype=np.float64))
    place = np.searchsorted(named, values)
    found = np.append(named, np.nan)[place] == values
    return np.where(np.isnan(values), np.nan, np.where(found, place, len(named)))


def encoding_of(trees, others_left, single, encoders_of):
    """The encoding of the columns that raw trees split on.

    Parameters
    ----------
    trees : list of Tree
        `sets` hold the numbers of the categories that a split names. They are replaced
        by whether each category goes left, by its position.
    others_left : bool
        Whether categories that a split does not name go left.
    single : bool
        Whether numbers are compared in single precision.
    encoders_of : callable
        encoders_of(column, nominal) -> list of encoders, to numbers of categories
        where a column is nominal.
    """
    named, numeric = {}, {-1}  # -1 of leaves
    for tree in trees:
        for node, numbers in tree.sets.items():
            named.setdefault(int(tree.column[node]), set()).update(numbers)
        numeric.update(np.delete(tree.column, list(tree.sets)).tolist())
    if numeric & set(named):
        raise NotReadable("a column is split both as a number and as categories")
    named = {j: np.array(sorted(numbers)) for j, numbers in named.items()}
    for tree in trees:
        for node, numbers in tree.sets.items():
            names = np.isin(named[int(tree.column[node])], numbers)
            tree.sets[node] = np.append(names != others_left, others_left)
    n_categories = {j: len(numbers) + 1 for j, numbers in named.items()}
    encoders = {j: [*encoders_of(j, j in named)] for j in numeric - {-1} | set(named)}
    for j, numbers in named.items():
        encoders[j].append(partial(place_among, numbers))
    encoders = {j: encoder for j, encoder in encoders.items() if encoder}
    return Encoding(single, n_categories, encoders)


def linked(form, model, rows, raw, factor=1.0, threshold=0.0):
    """A library's trees with the link that gives the model's own response.

    Parameters
    ----------
    form : Trees
        Without a link.
    model : Model
        It is asked for its response at some rows.
    rows : {array, frame, sparse} of shape (n_rows, n_columns)
        In a container that the model takes.
    raw : ndarray of shape (n_raw, n_rows)
        The form's raw outputs of these rows.
    factor : float, default=1.0
        What the raw outputs are multiplied by first.
    threshold : float, default=0.0
        Above it one raw output stands for the second class.
    """
    own = model(rows).T
    if model.kind == "label":
        several = len(model.class_lists) > 1  # labels of yes or no
        link = class_link("predict", len(raw), threshold=threshold)
        return replace(form, link=AboveThreshold() if several else link)
    links = [IDENTITY, *(scaled(factor, k) for k in (LOGISTIC, EXPONENTIAL, Softmax()))]
    if len(raw) == 2 and len(own) == 1:  # the second of two classes
        links = [Then(link, SECOND) for link in links]
    with np.errstate(over="ignore"):  # in a function that is not the model's
        gaps = [np.abs(link(raw)[0] - own).max() for link in links]
    best = int(np.argmin(gaps))
    if len(raw) != len(own) > 1 or gaps[best] > 1e-4 * np.abs(own).max():
        raise NotReadable("its outputs are no known function of the sums of its leaves")
    return replace(form, link=links[best])
