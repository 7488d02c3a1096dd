"""Single-threaded BLAS for the whole suite; helpers shared by the tests."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

os.environ.setdefault("MPLBACKEND", "Agg")
