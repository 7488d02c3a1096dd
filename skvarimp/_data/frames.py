"""Tables of results, in the frame library that X came in."""

import numpy as np


def frame_library(native):
    """Library of the frames made for data in a container; pandas for arrays."""
    module = type(native).__module__.partition(".")[0]
    return module if module in {"pandas", "polars", "pyarrow"} else "pandas"


def entry_frame(entry_names, ranks, columns, library):
    """Table of the entries, most important first.

    Parameters
    ----------
    entry_names : list of str
    ranks : ndarray of shape (n_entries,)
        1 = most important.
    columns : dict
        Name -> ndarray of shape (n_entries,), in the order of the names.
    library : {"pandas", "polars", "pyarrow"}
    """
    order = np.argsort(ranks, kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    return frame_of({"entry": [entry_names[e] for e in order]} | columns, library)


def frame_of(columns, library):
    """A frame of columns in a library, "pandas", "polars" or "pyarrow"."""
    if library == "pandas":
        return require_pandas().DataFrame(columns)
    import narwhals.stable.v2 as nw

    return nw.from_dict(columns, backend=library).to_native()


def require_pandas():
    """The pandas module, or an ImportError that says what needs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "A table of importances is a pandas DataFrame. Install it with "
            "`pip install pandas`, or read `importances_` and `entry_names_`."
        ) from None
    return pd
