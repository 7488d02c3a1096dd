"""A numeric X in dense blocks of bounded size, whether it is dense or sparse."""

from scipy import sparse

from skvarimp._running.memory import slices


def column_blocks(X):
    """Pairs of a slice of columns and X[:, columns] as a dense array."""
    n_samples, n_features = X.shape
    for columns in slices(n_features, n_samples):
        yield columns, _dense(X[:, columns])


def row_blocks(X, elements_per_row=None):
    """Pairs of a slice of rows and X[rows] as a dense array.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_samples, n_features)
    elements_per_row : int, default=None
        What each row costs in the caller's own arrays. None: n_features.
    """
    n_samples, n_features = X.shape
    for rows in slices(n_samples, elements_per_row or n_features):
        yield rows, _dense(X[rows])


def _dense(block):
    return block.toarray() if sparse.issparse(block) else block
