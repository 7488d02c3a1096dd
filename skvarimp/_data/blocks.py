"""A numeric X in dense blocks of bounded size, whether it is dense or sparse."""

from scipy import sparse

# Elements of a dense block (8 MiB of float64).
BLOCK_ELEMENTS = 1 << 20


def column_blocks(X):
    """Pairs of a slice of columns and X[:, columns] as a dense array."""
    n_samples, n_features = X.shape
    step = max(1, BLOCK_ELEMENTS // max(n_samples, 1))
    for start in range(0, n_features, step):
        columns = slice(start, min(start + step, n_features))
        yield columns, _dense(X[:, columns])


def row_blocks(X, elements_per_row=None):
    """Pairs of a slice of rows and X[rows] as a dense array.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_samples, n_features)
    elements_per_row : int, default=None
        What a row costs in the caller's own arrays; None: n_features.
    """
    n_samples, n_features = X.shape
    step = max(1, BLOCK_ELEMENTS // max(elements_per_row or n_features, 1))
    for start in range(0, n_samples, step):
        rows = slice(start, min(start + step, n_samples))
        yield rows, _dense(X[rows])


def _dense(block):
    return block.toarray() if sparse.issparse(block) else block
