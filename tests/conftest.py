"""One thread for BLAS, one seed for each test; helpers shared by the tests."""

import gc
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

os.environ.setdefault("MPLBACKEND", "Agg")

gc.disable()  # while modules are imported and tests collected, which all stay

import pytest  # noqa: E402 (NumPy reads the variables when it is imported)
from hypothesis import settings  # noqa: E402

# the same examples in every run, except in `nightly`, however slow the machine is
QUIET = {"deadline": None, "database": None}
for _name in ("suite", "whole"):
    settings.register_profile(_name, derandomize=True, **QUIET)
settings.register_profile("nightly", **QUIET)


def pytest_configure(config):
    """More examples where all tests run."""
    profile = "suite" if config.option.markexpr else "whole"
    settings.load_profile(os.environ.setdefault("HYPOTHESIS_PROFILE", profile))


def _seed():
    """Set NumPy's global generator, from which models without a seed draw."""
    import numpy as np  # not in the process that only hands out tests

    np.random.seed(0)  # noqa: NPY002


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Models that a module fits are the same in every run."""
    _seed()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """No test depends on what ran before it."""
    _seed()


def pytest_collection_finish():
    """From here on there is garbage, but none among what was imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", params=[False, True], ids=["numpy", "compiled"])
def compiled(request):
    """NumPy, then the compiled kernels."""
    from skvarimp._compiled import built

    if request.param and not built():
        pytest.skip("kernels are not built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKVARIMP_COMPILED", str(int(request.param)))
        yield request.param
