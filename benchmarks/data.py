"""Data sets that are not shipped: from a directory, else from OpenML, else none.

The directory is given by an option of the benchmark or by the environment variable
SKVARIMP_DATA. `NotAvailable` says what was tried.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse


class NotAvailable(Exception):
    """Neither the directory nor OpenML has the data set."""


def add_option(parser):
    """The option that names the directory."""
    parser.add_argument(
        "--data",
        default=os.environ.get("SKVARIMP_DATA"),
        help="directory with the data sets; default: $SKVARIMP_DATA, else OpenML",
    )


def in_directory(directory, name):
    """Path of a file in the directory, or None."""
    if directory is None:
        return None
    path = Path(directory) / name
    return path if path.exists() else None


def from_openml(name, version=1):
    """A data set of OpenML as (X, y), or NotAvailable."""
    from sklearn.datasets import fetch_openml

    try:
        return fetch_openml(
            name, version=version, return_X_y=True, as_frame="auto", parser="auto"
        )
    except Exception as error:  # no network, no such set: every failure ends alike
        raise NotAvailable(
            f"{name}: not in the directory, and OpenML answered: {error}"
        ) from None


def nips2003(name, directory=None):
    """(X_train, y_train, X_valid, y_valid) of a set of the NIPS 2003 challenge.

    Files NAME.npz, or NAME_X_train.npz (CSR) and so on. OpenML holds madelon and
    others without the challenge's split: then the first rows train.
    """
    whole = in_directory(directory, f"{name}.npz")
    if whole is not None:
        with np.load(whole) as data:
            parts = [data[k] for k in ("X_train", "y_train", "X_valid", "y_valid")]
        return tuple(p.astype(np.float64) if p.ndim == 2 else p for p in parts)
    if in_directory(directory, f"{name}_X_train.npz") is not None:
        parts = []
        for part in ("train", "valid"):
            X = sparse.load_npz(Path(directory) / f"{name}_X_{part}.npz")
            y = np.load(Path(directory) / f"{name}_y_{part}.npz")["y"]
            parts += [sparse.csr_matrix(X).astype(np.float64), y]
        return tuple(parts)
    X, y = from_openml(name)
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    y = np.unique(np.asarray(y), return_inverse=True)[1] * 2 - 1
    n_train = int(0.7 * len(y))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def boston(directory=None):
    """(X, y) of the corrected Boston housing data: 13 numeric columns, cmedv.

    File boston_numeric.csv; OpenML has the uncorrected prices.
    """
    path = in_directory(directory, "boston_numeric.csv")
    if path is not None:
        X = pd.read_csv(path)
        return X, X.pop("cmedv").to_numpy()
    X, y = from_openml("boston")
    X = X.astype(np.float64).rename(columns=str.lower)
    return X, np.asarray(y, dtype=np.float64)


def pima(directory=None):
    """(X, y) of the Pima diabetes data, impossible zeros as NaN; y is True for "pos".

    File pima2.csv; on OpenML `diabetes`, whose columns have shorter names.
    """
    path = in_directory(directory, "pima2.csv")
    if path is not None:
        X = pd.read_csv(path)
        return X, X.pop("diabetes").to_numpy() == "pos"
    X, y = from_openml("diabetes")
    X = X.astype(np.float64).set_axis(PIMA_COLUMNS, axis=1)
    measured = ["glucose", "pressure", "triceps", "insulin", "mass"]
    X[measured] = X[measured].replace(0.0, np.nan)
    return X, np.asarray(y) == "tested_positive"


PIMA_COLUMNS = [
    "pregnant",
    "glucose",
    "pressure",
    "triceps",
    "insulin",
    "mass",
    "pedigree",
    "age",
]
