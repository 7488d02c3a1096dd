"""What a fuzzed call may do: work, or refuse in words of ours. All else is reported.

Foreign is an error whose innermost frame lies in another library, or in a frame of
ours that did not `raise` (an error of NumPy's C code passes through such a frame). The
user's model may fail as it likes: its own frames are recognised and let through. So
are the words that scikit-learn's checks of X and `cv` have for any estimator.
"""

import dis
import pickle
import threading
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.model_selection
from scipy import sparse
from sklearn.exceptions import NotFittedError

import skvarimp
from skvarimp.exceptions import ImportanceWarning, ResponseWarning

OURS = str(Path(skvarimp.__file__).parent)
SKLEARN = str(Path(sklearn.__file__).parent)
FITTING = sklearn.base.__file__
CHECKS = (sklearn.utils.validation.__file__, sklearn.model_selection._split.__file__)
TESTS = str(Path(__file__).parent)
MODELS = str(Path(__file__).parent / "fuzz_models.py")

# Frames of scikit-learn in which the user's model (or scorer) is at work.
MODEL_METHODS = {
    "fit",
    "fit_predict",
    "fit_transform",
    "transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "_score",
    "split",
    # A score function that the user chose.
    "f_regression",
    "f_classif",
    "chi2",
    "mutual_info_regression",
}
DOCUMENTED = (ValueError, TypeError, NotFittedError)
RAISES = {"RAISE_VARARGS", "RERAISE"}


class Foreign(AssertionError):
    """A call that did neither work nor refuse in words of ours."""


def is_models_frame(frame):
    """Whether the user's model runs in a frame."""
    code = frame.f_code
    if code.co_filename == MODELS:
        return True
    if code.co_filename == FITTING and code.co_name == "wrapper":
        return True  # around each `fit`
    return code.co_filename.startswith(SKLEARN) and code.co_name in MODEL_METHODS


def complaint_about(error):
    """What is wrong with an error, or None where it is documented or the model's."""
    frames = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    if any(is_models_frame(at.tb_frame) for at in frames[1:]):
        return None
    if any(at.tb_frame.f_code.co_filename in CHECKS for at in frames):
        return None
    if type(error.__cause__).__name__ == "_RemoteTraceback":  # of a worker process
        return None if isinstance(error, DOCUMENTED) else "undocumented type"
    last = frames[-1]
    if last.tb_frame.f_code.co_filename.startswith(TESTS):
        return None  # Python's own: a call with a parameter too few or too many
    code = last.tb_frame.f_code
    raised = dis.opname[code.co_code[last.tb_lasti]] in RAISES
    ours = code.co_filename.startswith(OURS)
    validation = code.co_filename.startswith(SKLEARN)
    if not isinstance(error, DOCUMENTED):
        if type(error) is AttributeError and validation and raised:
            return None  # `available_if`: the wrapped estimator has no such method
        return "undocumented type"
    if ours and not raised:
        return "an error from inside, not raised by us"
    if not ours and not validation:
        return "an error of another library"
    if validation and not raised:
        return "an error from inside scikit-learn"
    if len(str(error)) < 14:
        return "no clear message"
    return None


@contextmanager
def watched_warnings(complaints):
    """Let through our own warnings and the model's; report the others.

    Yields the list of our own.
    """
    ours = []
    here = threading.get_ident()

    def show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, ImportanceWarning | ResponseWarning):
            ours.append(str(message))
            return
        if category.__module__ == "sklearn.exceptions" or "feature names" in str(
            message
        ):
            return  # scikit-learn's own words, as its own estimators say them
        stack = [frame for frame, _ in traceback.walk_stack(None)]
        checking = any(frame.f_code.co_filename in CHECKS for frame in stack)
        if checking or (
            threading.get_ident() == here and any(map(is_models_frame, stack))
        ):
            return
        complaints.append(f"{category.__name__} at {filename}:{lineno}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield ours


def judge(call, untouched=(), state=(), draws=False):
    """Run a call that checks its own result; raise Foreign unless all is as promised.

    Parameters
    ----------
    call : callable
        Called with the list of our warnings so far.
    untouched : tuple
        Objects that must be bit-identical afterwards.
    state : tuple
        Shown in the message, to say what was called.
    draws : bool
        May use NumPy's global generator, as `random_state=None` says.

    Returns
    -------
    bool
        Whether the call worked.
    """
    complaints, worked = [], False
    before = [fingerprint(given) for given in untouched]
    generator = global_generator()
    with watched_warnings(complaints) as ours:
        try:
            call(ours)
            worked = True
        except Foreign:
            raise
        except Exception as error:
            complaint = complaint_about(error)
            if complaint is not None:
                raise Foreign(
                    f"{complaint}: {type(error).__name__}: {error}\n{state}"
                ) from error
    if complaints:
        raise Foreign(f"{complaints[0]}\n{state}")
    after = [fingerprint(given) for given in untouched]
    if before != after:
        raise Foreign(f"an argument was modified\n{state}")
    if not draws and global_generator() != generator:
        raise Foreign(f"NumPy's global generator was used\n{state}")
    return worked


def global_generator():
    """State of NumPy's global generator, which only `random_state=None` may use."""
    return pickle.dumps(np.random.get_state())  # noqa: NPY002 it is what is watched


def fingerprint(given):
    """Bytes that change when an object does; None where there are none."""
    if isinstance(given, pd.DataFrame | pd.Series):  # pandas keeps caches
        columns = given.to_numpy(dtype=object)
        labels = (given.index, getattr(given, "columns", None))
        return repr((columns.tolist(), str(given.dtypes), labels))
    if sparse.issparse(given) and hasattr(given, "data"):  # SciPy keeps flags
        parts = ("data", "indices", "indptr", "row", "col", "offsets")
        return [fingerprint(getattr(given, part, None)) for part in parts]
    if isinstance(given, np.ndarray) and given.dtype.kind != "O":
        return (given.dtype.str, given.shape, given.strides, given.tobytes())
    try:
        return pickle.dumps(given)
    except Exception:
        return None


def require(condition, what):
    """Report a result that breaks a promise."""
    if not condition:
        raise Foreign(what)
