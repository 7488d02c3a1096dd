"""What `pyproject.toml` cannot say: the kernels, built where a C compiler is found."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# gcc and clang may fuse a * b + c, which rounds otherwise than NumPy does
FLAGS = [] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]

kernels = [
    Extension(
        f"skvarimp._compiled.{source.stem}",
        [source.as_posix()],
        extra_compile_args=FLAGS,
    )
    for source in sorted(Path("skvarimp/_compiled").glob("*.pyx"))
]
kernels = cythonize(kernels)  # which forgets `optional`
for kernel in kernels:
    kernel.optional = True
setup(ext_modules=kernels)
