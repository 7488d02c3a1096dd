"""Change the code in one place at a time and see whether a test notices.

    python benchmarks/studies/mutants.py --record  # once: which test covers which line
    python benchmarks/studies/mutants.py --number 50 --seed 1

changes constants, comparisons and signs, drops terms, and swaps arguments, in places
drawn by chance. The tests that cover the changed line run in a copy of the checkout
until one fails. The mutants that survive are printed. (mutmut and cosmic-ray do not
draw samples.)
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("_measures", "_response", "_comparing", "_refits")
OTHERS = dict(Lt="< <=", LtE="<= <", Gt="> >=", GtE=">= >", Eq="== !=", NotEq="!= ==")
SECONDS = 900  # a mutant whose tests take longer hangs, and counts as killed


class Source:
    """A module's text, in which nodes are found by their place."""

    def __init__(self, path):
        self.path, self.text = path, path.read_bytes()
        begins = [0]
        for line in self.text.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        self.begins = begins

    def ends(self, node):
        """The first byte of a node and the one behind its last."""
        first = self.begins[node.lineno - 1] + node.col_offset
        return first, self.begins[node.end_lineno - 1] + node.end_col_offset

    def of(self, node):
        """The text of a node, in brackets that keep it one operand."""
        return b"(" + self.text[slice(*self.ends(node))] + b")"

    def changes(self, node):
        """Yield (kind, first byte, end, new text) of what may be changed in a node."""
        begin, end = self.ends(node) if hasattr(node, "lineno") else (0, 0)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            new = (
                node.value + 1 if isinstance(node.value, int) else node.value * 2 or 0.5
            )
            yield "constant", begin, end, repr(new).encode()
        elif isinstance(node, ast.Compare) and type(node.ops[0]).__name__ in OTHERS:
            first, last = self.ends(node.left)[1], self.ends(node.comparators[0])[0]
            signs = OTHERS[type(node.ops[0]).__name__].encode().split()
            yield "comparison", first, last, self.text[first:last].replace(*signs, 1)
        elif isinstance(node, ast.BinOp):
            left, right = self.of(node.left), self.of(node.right)
            if isinstance(node.op, ast.Add | ast.Sub):
                sign = b" - " if isinstance(node.op, ast.Add) else b" + "
                yield "sign", begin, end, b"(" + left + sign + right + b")"
            if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield "dropped term", begin, end, left
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield "sign", begin, end, self.of(node.operand)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            first, second = node.args[:2]
            if not isinstance(first, ast.Starred) and not isinstance(
                second, ast.Starred
            ):
                swapped = self.of(second) + b", " + self.of(first)
                yield "arguments", self.ends(first)[0], self.ends(second)[1], swapped


def all_mutants():
    """Every possible mutant: (source, line, kind, first byte, end, new text)."""
    paths = [p for room in ROOMS for p in (ROOT / "skvarimp" / room).rglob("*.py")]
    for source in map(Source, sorted(paths)):
        for node in ast.walk(ast.parse(source.text)):
            for kind, *change in source.changes(node):
                yield source, node.lineno, kind, *change


def tests_of(data, source, line):
    """The tests that run a line; those of the whole module if it runs on import."""
    by_line = data.contexts_by_lineno(str(source.path))
    found = {test for test in by_line.get(line, ()) if test}
    if not found:
        found = {test for tests in by_line.values() for test in tests if test}
    return sorted({test.split("|")[0].split("[")[0] for test in found})


def passes(folder, *options, seconds=SECONDS):
    """Whether pytest ends in time, and without a failure, in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "MPLBACKEND": "Agg"}
    how = {"cwd": folder, "env": environment, "capture_output": True}
    try:
        return not subprocess.run(
            [*command, *options], timeout=seconds, check=False, **how
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def survives(folder, data, mutant):
    """Whether all tests of a mutant pass."""
    source, line, _, begin, end, new = mutant
    tests = tests_of(data, source, line)
    path = folder / source.path.relative_to(ROOT)
    path.write_bytes(source.text[:begin] + new + source.text[end:])
    try:
        return not tests or passes(folder, "-x", *tests)
    finally:
        path.write_bytes(source.text)


def main():
    """Record coverage, or draw mutants and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    if given.record:
        passes(
            ROOT, "--cov=skvarimp", "--cov-context=test", "--cov-report=", seconds=None
        )
        return
    data, n_alive = CoverageData(str(ROOT / ".coverage")), 0
    data.read()
    drawn = random.Random(given.seed).sample(list(all_mutants()), given.number)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkout"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*"))
        for mutant in drawn:
            source, line, kind, begin, end, new = mutant
            if survives(folder, data, mutant):
                n_alive += 1
                where = f"{source.path.relative_to(ROOT)}:{line}"
                print(f"{where}: {kind}: {source.text[begin:end]} -> {new}", flush=True)
    print(f"{given.number - n_alive} of {given.number} mutants killed")


if __name__ == "__main__":
    main()
