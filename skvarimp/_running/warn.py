"""`warn`: warnings that name the line of the user's that called us."""

import contextlib
import sys
import warnings
from pathlib import Path

import sklearn

from skvarimp.exceptions import ImportanceWarning

# Where frames between the user and the warning come from: us, and our decorators.
_NOT_THE_USER = (
    str(Path(__file__).parents[1]),
    str(Path(sklearn.__file__).parent / "callback"),
    contextlib.__file__,
)


def warn(message, category=ImportanceWarning):
    """Warn at the innermost line that is the user's.

    Parameters
    ----------
    message : str
    category : type
        One of `skvarimp.exceptions`.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
