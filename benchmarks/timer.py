"""The one clock of the benchmarks: CPU and wall seconds of a call."""

import time
from dataclasses import dataclass

MOST_RUNS, ENOUGH_SECONDS = 3, 1.0


@dataclass
class Timing:
    """Smallest CPU and wall seconds of a few runs."""

    cpu: float = float("inf")
    wall: float = float("inf")

    def __str__(self):
        return f"{self.cpu:.3g} ({self.wall:.3g})"

    def times(self, factor):
        """The time of so many times the work."""
        return Timing(factor * self.cpu, factor * self.wall)

    def to(self, other):
        """Ratio to another, CPU and wall, as text."""
        cpu, wall = self.cpu / max(other.cpu, 1e-9), self.wall / max(other.wall, 1e-9)
        return f"{cpu:.3g} ({wall:.3g})"


def timed(function, *arguments, runs=MOST_RUNS, enough=ENOUGH_SECONDS):
    """(result, `Timing`) of a call, repeated until `enough` wall seconds are spent."""
    timing, start = Timing(), time.perf_counter()
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function(*arguments)
        timing.cpu = min(timing.cpu, time.process_time() - cpu)
        timing.wall = min(timing.wall, time.perf_counter() - wall)
        if time.perf_counter() - start > enough:
            break
    return result, timing


def once(function, *arguments):
    """(result, `Timing`) of a single call."""
    return timed(function, *arguments, runs=1)


def best(runs, function, *arguments):
    """(result, `Timing`) of exactly so many runs."""
    return timed(function, *arguments, runs=runs, enough=float("inf"))
