"""Change the code in one place at a time and see whether a test notices.

    python benchmarks/studies/mutants.py --record       # once: which test runs what
    python benchmarks/studies/mutants.py --number 50 --seed 1

changes constants, comparisons and signs, drops terms, and swaps arguments, in places
drawn by chance, in a copy of the checkout. The tests that run the block around the
place (the body of a function or of a branch) run until one fails: first the default
tests, then the thorough ones. The mutants that survive are printed. Options of pytest
behind ``--record`` choose the tests that are added to the record. (mutmut and
cosmic-ray do not draw samples.)

Left out are places that no test ought to notice: texts of errors (``raise``),
``stacklevel``, type hints, and what decides about time alone, which are sizes of blocks
(``SIZES``, and how many rows ``SLICES`` take at once) and functions named cost.
"""

import argparse
import ast
import builtins
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("_measures", "_response", "_comparing", "_refits")
OTHERS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Add: ast.Sub}
OTHERS |= {other: operator for operator, other in OTHERS.items()}
SIZES = {"CACHE", "BLOCK", "HELD", "numbers_at_once", "working_bytes"}
SLICES = {"slices", "even_slices"}
RECORD = ROOT / "build" / "tests_of_blocks.pickle"


class Source:
    """A module's text, its nodes with their blocks, and where the blocks begin."""

    def __init__(self, path):
        self.name, self.text = str(path.relative_to(ROOT)), path.read_bytes()
        self.begins, self.nodes, self.blocks = [0], [], []
        for line in self.text.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))
        self.numbers = Counter()
        self.visit(ast.parse(self.text), f"{self.name}::", "")

    def visit(self, node, block, function):
        """Note the block of each node; what runs on import has the module's name."""
        if is_left_out(node):
            return
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        function = f"{function}.{node.name}" if named else function
        if isinstance(node, ast.FunctionDef):
            block = self.new_block(node.body, function)
        self.nodes.append((node, block))
        for field, value in ast.iter_fields(node):
            inner, children = block, value if isinstance(value, list) else [value]
            if function and not named and isinstance((*children, None)[0], ast.stmt):
                inner = self.new_block(children, function) or block
            if field == "args" and name_of(getattr(node, "func", None)) in SLICES:
                children = children[:1]
            for child in children:
                if isinstance(child, ast.AST) and field not in (
                    "annotation",
                    "returns",
                ):
                    self.visit(child, inner, function)

    def new_block(self, statements, function):
        """The name of a block, unless it is an `elif`, whose test precedes it."""
        is_text = isinstance(getattr(statements[0], "value", None), ast.Constant)
        first = statements[1] if is_text and len(statements) > 1 else statements[0]
        line = min(n.lineno for n in [first, *getattr(first, "decorator_list", ())])
        if self.text[self.ends(first)[0] :].startswith(b"elif"):
            return None
        self.numbers[function] += 1
        name = f"{self.name}::{function}:{self.numbers[function]}"
        self.blocks.append((name, self.begins[line - 1], first.col_offset))
        return name

    def ends(self, node):
        """The first byte of a node and the one behind its last."""
        first = self.begins[node.lineno - 1] + node.col_offset
        return first, self.begins[node.end_lineno - 1] + node.end_col_offset

    def probed(self, number):
        """The text in which each block notes that it runs; its blocks have numbers."""
        text = self.text
        for name, at, indent in sorted(self.blocks, key=lambda block: -block[1]):
            note = b" " * indent + b"_reached[%d] = 1\n" % number[name]
            text = text[:at] + note + text[at:]
        return text

    def mutants(self):
        """Yield (module, block, line, what changes, the changed text)."""
        for node, block in self.nodes:
            for kind, new in changes(node):
                begin, end = self.ends(node)
                new = f"({ast.unparse(ast.fix_missing_locations(new))})".encode()
                change = f"{kind}: {self.text[begin:end].decode()} -> {new.decode()}"
                text = self.text[:begin] + new + self.text[end:]
                yield self.name, block, node.lineno, change, text


def name_of(node):
    """The name that a node is, or None."""
    return getattr(node, "id", None)


def is_left_out(node):
    """Whether nothing in a node is changed, see above."""
    match node:
        case ast.Raise() | ast.keyword(arg="stacklevel"):
            return True
        case ast.FunctionDef(name=name):
            return name.endswith("cost")
        case ast.Assign() | ast.Compare() | ast.BinOp():
            return any(name_of(part) in SIZES for part in ast.walk(node))
    return False


def changes(node):
    """Yield (kind, new node) of what may be changed in a node."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            new = value + 1 if isinstance(value, int) else value * 2 or 0.5
            yield "constant", ast.Constant(new)
        case ast.Compare() if type(node.ops[0]) in OTHERS:
            ops = [OTHERS[type(node.ops[0])](), *node.ops[1:]]
            yield "comparison", ast.Compare(node.left, ops, node.comparators)
        case ast.BinOp(op=ast.Add() | ast.Sub() as sign):
            other = OTHERS[type(sign)]()
            yield "sign", ast.BinOp(node.left, other, node.right)
            yield "dropped term", node.left
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            yield "dropped term", node.left
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", node.operand
        case ast.Call(args=[first, second, *rest]):
            if not {type(first), type(second)} & {ast.Starred, ast.GeneratorExp}:
                swapped = [second, first, *rest]
                yield "arguments", ast.Call(node.func, swapped, node.keywords)


def sources():
    """The modules whose code is changed."""
    paths = [p for room in ROOMS for p in (ROOT / "skvarimp" / room).rglob("*.py")]
    return [Source(path) for path in sorted(paths)]


class Recorder:
    """Notes for each test that passes its seconds, its marker and its blocks."""

    def __init__(self, names):
        self.names, self.tests = names, {}

    def blocks(self):
        """The names of the blocks that have run."""
        return {name for name, ran in zip(self.names, builtins._reached) if ran}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """One test with its fixtures."""
        builtins._reached[:] = bytes(len(self.names))
        self.failed, begin = False, time.perf_counter()
        done = yield
        if not self.failed:
            slow = item.get_closest_marker("thorough") is not None
            seconds = time.perf_counter() - begin
            self.tests[item.nodeid] = seconds, slow, self.shared, self.blocks()
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self):
        """Other tests of the file may use what its fixtures have made."""
        self.shared = self.blocks()

    def pytest_runtest_logreport(self, report):
        """A test that fails or is skipped notices nothing."""
        self.failed |= not report.passed


class Chosen:
    """Leaves all tests out but the chosen ones."""

    def __init__(self, tests):
        self.tests = set(tests)

    def pytest_collection_modifyitems(self, items):
        """Keep the order, in which the tests of a file share fixtures."""
        items[:] = [item for item in items if item.nodeid in self.tests]


def run(folder, plugin, *options):
    """Run pytest in a folder, in this process."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    how = {"PYTHONPATH": str(folder), "MPLBACKEND": "Agg"}
    os.environ.update(how, HYPOTHESIS_PROFILE="suite")
    how = ["-q", "-n", "0", "-m", "", "-p", "no:cacheprovider"]
    return pytest.main([*how, *options], plugins=[plugin])


def record(folder, options):
    """Run tests once and note which blocks they run."""
    names = sorted({block[0] for source in sources() for block in source.blocks})
    number = {name: i for i, name in enumerate(names)}
    for source in sources():
        (folder / source.name).write_bytes(source.probed(number))
    builtins._reached = bytearray(len(names))
    define = f"import builtins\nbuiltins._reached = bytearray({len(names)})\n"
    (folder / "sitecustomize.py").write_text(define)  # for processes that tests start
    recorder = Recorder(names)
    run(folder, recorder, *options)
    tests = pickle.loads(RECORD.read_bytes()) if RECORD.exists() else {}
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_bytes(pickle.dumps(tests | recorder.tests))


def tests_of(block, tests):
    """Yield the default tests that run a block and then the thorough ones, by file.

    Where the block runs on import, all that run any block of its module.
    """

    def ran(names):
        on_import = block.endswith("::") and any(n.startswith(block) for n in names)
        return on_import or block in names

    shared = {
        test.split("::")[0] for test, (*_, names, _) in tests.items() if ran(names)
    }
    for marker in (False, True):
        files = defaultdict(list)
        for test, (_, slow, _, names) in tests.items():
            file = test.split("::")[0]
            if slow == marker and (ran(names) or file in shared):
                files[file].append(test)
        yield sorted(files.items(), key=lambda file: sum(tests[t][0] for t in file[1]))


def passes(folder, files, seconds):
    """Whether tests pass in time, in a process of their own."""

    def apart():
        os.setpgrp()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        chosen = Chosen(test for _, tests in files for test in tests)
        os._exit(run(folder, chosen, "-x", *(file for file, _ in files)))

    process = multiprocessing.get_context("fork").Process(target=apart)
    process.start()
    process.join(seconds)
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode in (0, 5)  # 5: no test was found


def survives(folder, mutant, tests):
    """Whether all tests that run the changed block pass."""
    name, block, _, _, text = mutant
    (folder / name).write_bytes(text)
    try:
        for files in tests_of(block, tests):
            seconds = sum(tests[test][0] for _, chosen in files for test in chosen)
            if files and not passes(folder, files, 60 + 5 * seconds):
                return False
        return True
    finally:
        shutil.copy(ROOT / name, folder / name)


def main():
    """Record which test runs what, or draw mutants and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkout"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*"))
        if given.record is not None:
            record(folder, given.record)
            return
        tests, n_alive = pickle.loads(RECORD.read_bytes()), 0
        mutants = [mutant for source in sources() for mutant in source.mutants()]
        for mutant in random.Random(given.seed).sample(mutants, given.number):
            if survives(folder, mutant, tests):
                n_alive += 1
                print(f"{mutant[0]}:{mutant[2]}: {mutant[3]}", flush=True)
    print(f"{given.number - n_alive} of {given.number} mutants killed")


if __name__ == "__main__":
    main()
