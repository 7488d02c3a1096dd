"""Problems x rivals: equality first, then ratios of CPU and wall time, in one run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/run.py
    python benchmarks/run.py --only Ridge --rivals sklearn_permutation
    python benchmarks/run.py --write doc/performance.rst

Our side of the headline ratio computes pairs, observed, range and partial dependence
exactly, with standard errors, for all columns in one walk (`compare_importances`).
"""

import argparse
import os
import platform
import sys
import time
import tracemalloc
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from problems import PROBLEMS
from rivals import available

from skvarimp import (
    PartialDependenceImportance,
    SensitivityImportance,
    compare_importances,
)

FOUR = {
    "pairs": SensitivityImportance(scale=None, estimation="exact"),
    "observed": SensitivityImportance(contrast="observed", estimation="exact"),
    "range": SensitivityImportance(contrast="range", scale=None, estimation="exact"),
    "partial dependence": PartialDependenceImportance(),
}
MARK = ".. generated below this line"


def timed(function, *arguments):
    """(result, wall seconds, CPU seconds)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def four(model, X, y):
    """The four reductions in one walk."""
    return compare_importances({"model": model}, X, y, FOUR)


def extra_memory(model, X, y):
    """Peak of what Python and NumPy allocate during the walk, in MB."""
    tracemalloc.start()
    four(model, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def run_problem(problem, rivals):
    """Yield the cells of one row a rival."""
    model, X, y = problem.fitted()
    size = f"{problem.n} x {problem.p}"
    four(model, X[:100], y[:100])  # imports and caches aside
    table, wall, _ = timed(four, model, X, y)
    path = next(iter(table.fitted.values())).response_path_
    memory = extra_memory(model, X, y)
    ours = f"{wall:.2f} s, {memory:.0f} MB"
    yield (problem.name, size, f"four reductions ({path})", "", ours, "", "", "")
    for rival in rivals:
        if rival.SLOW and not problem.slow_rivals:
            continue
        try:
            theirs, their_wall, their_cpu = timed(rival.run, model, X, y)
        except Exception as error:  # a rival that cannot serve a model is a result
            text = (str(error) or type(error).__name__).splitlines()[0][:60]
            yield (problem.name, size, rival.NAME, "", f"N/A: {text}", "", "", "")
            continue
        like, like_wall, like_cpu = timed(rival.ours, model, X, y)
        equal, how = rival.same(theirs, like)
        yield (
            problem.name,
            size,
            f"{rival.NAME}: {rival.ESTIMAND}",
            how if equal else f"NOT EQUAL: {how}",
            f"{their_wall:.2f} s",
            f"{wall / their_wall:.3f}",
            f"{like_wall / their_wall:.3f}",
            f"{like_cpu / max(their_cpu, 1e-9):.3f}",
        )


HEADER = (
    "Model",
    "Size",
    "Computed",
    "Agreement",
    "Wall time",
    "Our four / theirs",
    "Ours alike / theirs",
    "the same, CPU",
)


def as_rst(rows, missing):
    """A list-table with machine and versions."""
    packages = ["scikit-learn", "numpy", "scipy"]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, one thread used; Python "
        f"{platform.python_version()}, {versions}.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "",
    ]
    for row in (HEADER, *rows):
        lines += [f"   {'*' if c == 0 else ' '} - {cell}" for c, cell in enumerate(row)]
    lines += ["", *[f"- not run: {name} ({reason})" for name, reason in missing], ""]
    return "\n".join(lines)


def main():
    """Print the table; write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="problems whose name has this text")
    parser.add_argument("--rivals", nargs="*", help="names of rivals; default: all")
    parser.add_argument("--write", help="page whose generated part is replaced")
    options = parser.parse_args()
    found = available()
    missing = [(name, reason) for module, name, reason in found if module is None]
    wanted = [
        module
        for module, name, _ in found
        if module is not None and (options.rivals is None or name in options.rivals)
    ]
    rows = []
    for problem in PROBLEMS:
        if options.only in problem.name:
            for row in run_problem(problem, wanted):
                print(" | ".join(row), flush=True)
                rows.append(row)
    for name, reason in missing:
        print(f"not run: {name} ({reason})")
    if options.write:
        page = Path(options.write)
        head = page.read_text().split(MARK)[0]
        page.write_text(f"{head}{MARK}\n\n{as_rst(rows, missing)}")


if __name__ == "__main__":
    main()
