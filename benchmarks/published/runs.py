"""Runs of a simulation in a file: those that it does not have yet are added."""

import json
import time
from pathlib import Path


def added(path, cases, simulate, runs):
    """All lines of a file, after one was added for each run that it did not have.

    Parameters
    ----------
    path : str
        One JSON object per line.
    cases : list of dict
        What tells runs apart besides their seed.
    simulate : callable
        (seed, case) -> dict of numbers.
    runs : int
        Seeds are 0, 1, ..., runs - 1.
    """
    path = Path(path)
    lines = []
    if path.exists():
        lines = [json.loads(line) for line in path.read_text("utf8").splitlines()]
    for seed in range(runs):
        for case in cases:
            named = {"seed": seed} | case
            if any(named.items() <= line.items() for line in lines):
                continue
            start = time.process_time()
            found = simulate(seed, case)
            line = named | found | {"cpu": time.process_time() - start}
            lines.append(line)
            with path.open("a", encoding="utf8") as file:
                file.write(json.dumps(line) + "\n")
    return lines


def by_case(lines, *names):
    """Values of these names -> the lines that have them, in the order of the file."""
    cases = {}
    for line in lines:
        cases.setdefault(tuple(line[name] for name in names), []).append(line)
    return cases
