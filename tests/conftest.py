"""Single-threaded BLAS for the whole suite; helpers shared by the tests."""

import gc
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

os.environ.setdefault("MPLBACKEND", "Agg")

gc.disable()  # while modules are imported and tests collected, which all stay

import pytest  # noqa: E402 (NumPy reads the variables when it is imported)


def pytest_collection_finish():
    """From here on there is garbage, but none among what was imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", params=[False, True], ids=["numpy", "compiled"])
def compiled(request):
    """NumPy, then the compiled kernels."""
    from skvarimp._compiled import built  # not in the process that only hands out tests

    if request.param and not built():
        pytest.skip("kernels are not built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKVARIMP_COMPILED", str(int(request.param)))
        yield request.param
