"""Change the code in one place at a time and see whether a test notices.

    python -m pytest -m '' --cov=skvarimp --cov-context=test --cov-report=   # once
    python benchmarks/studies/mutants.py 50 1   # a number, a seed

changes constants (by 1 or twofold), comparisons, signs, terms and arguments, by chance,
runs the tests of each changed line in a copy, and prints the changes that none noticed.

Left out is what no test ought to notice: texts (``raise`` and f-strings), stack levels,
arguments of ``SYMMETRIC`` functions, what is rounding (numbers below 1e-5, <= for < at
``ROUNDING``), -2 for -1 (alike to ``reshape``), what decides about time or memory.
"""

import ast
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from itertools import accumulate, product
from pathlib import Path

import pytest
from coverage import CoverageData
from sklearn.utils import all_estimators

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("_measures", "_response", "_comparing", "_refits")
OTHERS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Add: ast.Sub}
OTHERS |= {other: operator for operator, other in OTHERS.items()}
SIZES = r"CACHE|(BLOCK|HELD)\b|\b(numbers_)?at_once\(|_bytes|bytes_|n_tasks|TASK_"
SIZES += "|NODES_A_CELL|TYPICAL_NODES|LEAST_CELLS|GUESSES|visits_of|KEPT_ELEMENTS|LOOKS"
SIZES += r"|MOST_(SETS|VALUES|KEPT)|ROWS_OF_LEAF|QUICK|SKETCH|(?i:affordable)|\bcost\("
ROUNDING = r"TOLERANCE|ROUND|VANISH|EXACT|_UNSEEN|FLAT|rounding|tied|allowed|1e-\d\d"
SYMMETRIC = "(max|min|imum|array_equal|union1d|clip|multiply|swapaxes|close)$"


def places(node):
    """Yield the nodes that may be changed."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.keyword(arg="stacklevel"):
            return
        case ast.Call(ast.Name("slices" | "even_slices")) | ast.Constant(bool()):
            return
        case ast.FunctionDef(name=name) if re.search("bytes|cost|fastest|memory", name):
            return
        case ast.Assign() | ast.Compare() | ast.BinOp():
            if re.search(SIZES, ast.unparse(node)):
                return
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            return (yield node)
    yield node
    for child in ast.iter_child_nodes(node):
        yield from places(child)


def changes(node):
    """Yield (kind, new node) of what may be changed in a node."""
    match node:
        case ast.Constant(int() | float() as value) if not 0 < value < 1e-5:
            new = value + 1 if type(value) is int and value < 10 else 2 * value or 0.5
            yield "constant", ast.Constant(new)
        case ast.Compare(left, [op, *ops], right) if other := OTHERS.get(type(op)):
            if not re.search(ROUNDING, ast.unparse(node)):
                yield "comparison", ast.Compare(left, [other(), *ops], right)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op):
            yield "dropped term", node.left
            if type(op) in OTHERS:
                yield "sign", ast.BinOp(node.left, OTHERS[type(op)](), node.right)
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", node.operand
        case ast.Call(func, [a, b, *rest], words) if ast.dump(a) != ast.dump(b):
            if not re.search(SYMMETRIC, ast.unparse(func)):
                yield "arguments", ast.Call(func, [b, a, *rest], words)


def mutants(path):
    """Yield (path, line, what changes, the changed text)."""
    text = path.read_bytes()
    begins = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    for node in places(ast.parse(text)):
        for kind, new in changes(node):
            begin = begins[node.lineno - 1] + node.col_offset
            end = begins[node.end_lineno - 1] + node.end_col_offset
            new = f"({ast.unparse(ast.fix_missing_locations(new))})".encode()
            change = f"{kind}: {text[begin:end].decode()} -> {new.decode()}"
            yield path, node.lineno, change, text[:begin] + new + text[end:]


def tests_of(path, line, record):
    """The tests that run a line, and the files where fixtures do."""
    contexts = {0: []} | record.contexts_by_lineno(str(path))
    ran = set(contexts[max(known for known in contexts if known <= line)])
    ran = (set().union(*contexts.values()) if "" in ran else ran) - {""}  # on import
    shared = {test.split("::")[0] for test in ran if test.endswith("|setup")}
    return shared | {test.rpartition("|")[0] for test in ran}


def run(files, tests, marker):
    """Run tests that have a marker; end with pytest's code, and wait for no worker."""

    def choose(items):
        items[:] = [i for i in items if {i.nodeid, i.nodeid.split("::")[0]} & tests]

    signal.alarm(60 + 5 * len(tests))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    hooks = {"pytest_collection_modifyitems": choose}
    hooks["pytest_sessionfinish"] = lambda exitstatus: os._exit(exitstatus)
    plugin = type("", (), {name: staticmethod(hook) for name, hook in hooks.items()})
    pytest.main(["-xqm", marker, "-n", "0", *files], plugins=[plugin])


def survives(place, text, tests):
    """Whether tests pass with another text: first those of files with few of them."""
    kept, _ = place.read_bytes(), place.write_bytes(text)
    count = Counter(test.split("::")[0] for test in tests)
    files, code = sorted(count, key=count.get), 0
    for marker, some in product(("not thorough", "thorough"), (files[:4], files[4:])):
        if some and code in (0, 5):  # 5: no such tests
            (child := os.fork()) or run(some, tests, marker)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    place.write_bytes(kept)
    return code in (0, 5)


def main(number, seed):
    """Draw mutants and print those that survive."""
    all_estimators()  # imports scikit-learn, once for all processes
    (record := CoverageData(ROOT / ".coverage")).read()
    paths = (p for room in ROOMS for p in (ROOT / "skvarimp" / room).rglob("*.py"))
    everything = [mutant for path in sorted(paths) for mutant in mutants(path)]
    with tempfile.TemporaryDirectory() as temporary:
        folder, n_alive = Path(temporary, "checkout"), 0
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*"))
        os.chdir(folder)
        os.environ["PYTHONPATH"] = sys.path[0] = str(folder)
        for path, line, change, text in random.Random(seed).sample(everything, number):
            name = path.relative_to(ROOT)
            if survives(folder / name, text, tests_of(path, line, record)):
                n_alive += 1
                print(f"{name}:{line}: {change}", flush=True)
    print(f"{number - n_alive} of {number} mutants killed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
