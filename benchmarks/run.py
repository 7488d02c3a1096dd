"""Problems x rivals: equality first, then ratios of CPU and wall time, in one run.

    python benchmarks/run.py
    python benchmarks/run.py --only Ridge --rivals sklearn_permutation
    python benchmarks/run.py --write doc/benchmark_log.rst

Needs skvarimp installed, and as many of the rivals as can be. Our side of the first
table computes pairs, observed, range and partial dependence exactly, with standard
errors, for all columns in one walk (`compare_importances`); trees by compiled kernels
and, where there is an aim, in plain NumPy. The last table has many rows and columns,
and two workers beside one. All else runs in one thread. What takes less than a second
runs up to three times, and the best time counts.
"""

import argparse
import os
import platform
import sys
import tracemalloc
import warnings
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from large import HEADER, TITLE, large_rows
from problems import PROBLEMS, SHUFFLES
from rivals import available
from rivals._checks import OF_TEN_DRAWS
from sklearn.base import clone
from threadpoolctl import threadpool_limits
from timer import once, timed

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
LONG = 20.0
MARK = ".. generated below this line"


def four(model, X, y, n_jobs=1):
    """The four reductions in one walk."""
    measures = {name: clone(m).set_params(n_jobs=n_jobs) for name, m in FOUR.items()}
    return compare_importances({"model": model}, X, y, measures)


def failure(error):
    """First line of an error's message: that it cannot serve a model is a result."""
    return (str(error) or type(error).__name__).splitlines()[0][:80]


def run_problem(problem, rivals):
    """The first table's row of a problem, and one row of the second a rival."""
    model, X, y = problem.fitted()
    where = (problem.name, f"{problem.n} x {problem.p}")
    four(model, X[:100], y[:100])  # imports and caches aside
    walks = [timed_walk(model, X, y)]
    path = walks[0][0]
    if path == "trees, compiled" and problem.aims[1]:
        with plain_numpy():
            walks.append(timed_walk(model, X, y))
    ratios, second, alike = [""] * len(walks), [], {}

    def ours_alike(ours):
        if ours not in alike:
            alike[ours] = timed_alike(ours, model, X, y, len(walks) > 1)
        return alike[ours]

    for name in problem.rivals:
        if name not in rivals:
            continue
        found, their_time = run_rival(rivals[name], model, X, y, ours_alike)
        second.extend((*where, *row) for row in found)
        if (name,) == SHUFFLES and their_time is not None:
            ratios = [ours.to(their_time) for _, ours, _ in walks]
    aims = [f"at most {aim:g}" if aim else "" for aim in problem.aims]
    first = [
        (*where, path, str(ours), ratio, aim, memory)
        for (path, ours, memory), ratio, aim in zip(walks, ratios, aims)
    ]
    return first, second


def timed_walk(model, X, y):
    """Response path, `Timing` and memory of the four measures.

    The memory is the peak of what Python and NumPy allocate during the walk. Tracing
    slows a walk down by up to a half, so that it is timed in a run of its own, unless
    it has taken more than `LONG` seconds.
    """
    tracemalloc.start()
    try:
        table, ours = once(four, model, X, y)
        memory = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    if ours.wall < LONG:
        table, ours = timed(four, model, X, y)
    path = next(iter(table.fitted.values())).response_path_
    return path, ours, f"{memory:.0f} MB"


def timed_alike(ours, model, X, y, in_numpy):
    """Our numbers of a rival's estimand, `Timing`, and that in plain NumPy or None."""
    like, our_time = timed(ours, model, X, y)
    if not in_numpy:
        return like, our_time, None
    with plain_numpy():
        return like, our_time, timed(ours, model, X, y)[1]


@contextmanager
def plain_numpy():
    """Without compiled kernels."""
    os.environ["SKVARIMP_COMPILED"] = "0"
    try:
        yield
    finally:
        del os.environ["SKVARIMP_COMPILED"]


def run_rival(rival, model, X, y, ours_alike):
    """Rows of the second table without model and size, and the rival's time or None.

    There is a second one where our exact numbers take longer than a rival's draws.
    """
    name = f"{rival.NAME}: {rival.ESTIMAND}"
    try:
        theirs, their_time = timed(rival.run, model, X, y)
        if hasattr(rival, "work_left"):
            their_time = their_time.times(rival.work_left(X))
    except Exception as error:
        return [(name, f"N/A: {failure(error)}", "", "", "", "")], None

    def compared(name, ours):
        like, our_time, plain_time = ours_alike(ours)
        equal, how = rival.same(theirs, like)
        how = how if equal else f"NOT EQUAL: {how}"
        plain = "" if plain_time is None else plain_time.to(their_time)
        times = str(their_time), str(our_time), our_time.to(their_time), plain
        return (name, how, *times), our_time

    drawn = OF_TEN_DRAWS.get(rival.ours)
    if drawn is None:
        return [compared(name, rival.ours)[0]], their_time
    exact, our_time = compared(f"{name}; ours exact", rival.ours)
    if our_time.cpu < their_time.cpu:
        return [exact], their_time
    as_many, _ = compared(f"{name}; ours too", drawn)
    return [exact, as_many], their_time


FIRST = (
    "Model",
    "Size",
    "Response",
    "Seconds",
    "To ten permutations",
    "Aim",
    "Extra memory",
)
SECOND = (
    "Model",
    "Size",
    "Rival: estimand",
    "Agreement with ours",
    "Rival, seconds",
    "Ours alike, seconds",
    "Ours / rival",
    "In plain NumPy",
)


def text_table(title, header, rows):
    """A table of aligned columns, as text, under its title."""
    rows = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [title, "-" * len(title), "", ".. code-block:: text", ""]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths))
        lines.append(f"   {'  '.join(cells)}".rstrip())
    return [*lines, ""]


def as_rst(first, second, third, missing, versions):
    """The tables with machine and versions."""
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, one thread used; Python "
        f"{platform.python_version()}, {versions}. Seconds and ratios: CPU (wall).",
        "",
        *text_table("Four exact measures of every column in one walk", FIRST, first),
        *text_table("Like for like", SECOND, second),
        *text_table(TITLE, HEADER, third),
        *[f"- Not run: {name} ({reason})." for name, reason in missing],
        "",
    ]
    return "\n".join(lines)


def packages(rivals):
    """Versions of what took part."""
    names = ["scikit-learn", "numpy", "scipy"]
    names += [r.PACKAGE for r in rivals if hasattr(r, "PACKAGE")]
    return ", ".join(f"{name} {version(name)}" for name in names)


def main():
    """Print the tables as they grow; write them into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="problems whose name has this text")
    parser.add_argument("--rivals", nargs="*", help="names of rivals; default: all")
    parser.add_argument("--write", help="page whose generated part is replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # networks fitted for a few steps, and rivals'
    found = available()
    missing = [(name, reason) for module, name, reason in found if module is None]
    wanted = {
        name: module
        for module, name, _ in found
        if module is not None and (options.rivals is None or name in options.rivals)
    }
    threadpool_limits(1)
    versions, first, second, third = packages(wanted.values()), [], [], []

    def say(rows, spent):
        for line in rows:
            print(" | ".join(line), flush=True)
        print(f"{spent} s", flush=True)
        if options.write:  # again and again: a long run may break off
            page = Path(options.write)
            head = page.read_text().split(MARK)[0]
            tables = as_rst(first, second, third, missing, versions)
            page.write_text(f"{head}{MARK}\n\n{tables}")

    for problem in PROBLEMS:
        if options.only not in problem.name or not problem.available():
            continue
        try:
            (walks, rows), spent = once(run_problem, problem, wanted)
        except Exception as error:  # the others are still worth their time
            row = (problem.name, f"{problem.n} x {problem.p}", failure(error))
            walks, rows, spent = [row + ("",) * (len(FIRST) - len(row))], [], None
        first.extend(walks)
        second.extend(rows)
        say((*walks, *rows), spent)
    if options.only in TITLE:
        for row, spent in large_rows(four):
            third.append(row)
            say([row], spent)
    for name, reason in missing:
        print(f"not run: {name} ({reason})")


if __name__ == "__main__":
    main()
