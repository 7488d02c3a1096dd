"""What `pyproject.toml` cannot say: the kernels, built where a C compiler is found."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# gcc and clang may fuse a * b + c, which rounds otherwise than NumPy does
FLAGS = [] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]
ROOM = Path("skvarimp/_compiled")
SHARED = "skvarimp._compiled._cyutility"  # Cython's own code, once for all kernels

kernels = [
    Extension(
        f"skvarimp._compiled.{source.stem}",
        [source.as_posix()],
        extra_compile_args=FLAGS,
    )
    for source in [*sorted(ROOM.glob("*.pyx")), ROOM / "_cyutility.c"]
]
kernels = cythonize(kernels, shared_utility_qualified_name=SHARED)
for kernel in kernels:
    kernel.optional = True  # which cythonize forgets
setup(ext_modules=kernels, options={"build_ext": {"parallel": os.cpu_count()}})
