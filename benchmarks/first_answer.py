"""What a newcomer waits for: the import, and the first importances of a forest.

    python benchmarks/first_answer.py    # with skvarimp installed

CPU seconds, each in a fresh process, the median of a few: the import of skvarimp on top
of what it needs, the first fit of a forest of 100 trees on 1000 x 10 rows, and the
script that the README runs first, imports and picture included.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

RUNS = 5
CLOCK = "import time; start = time.process_time()"
PRINT = "print('seconds', time.process_time() - start)"
IMPORT = f"""
import numpy, scipy.stats, joblib, narwhals.stable.v2
import sklearn.ensemble, sklearn.inspection, sklearn.linear_model
{CLOCK}
import skvarimp
{PRINT}
"""
FOREST = f"""
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from skvarimp import SensitivityImportance
X, y = make_friedman1(1000, noise=1.0, random_state=0)
model = RandomForestRegressor(100, random_state=0).fit(X, y)
{CLOCK}
SensitivityImportance(estimation="exact").fit(model, X, y)
{PRINT}
"""
QUICKSTART = f"""
{CLOCK}
import runpy
runpy.run_path({str(Path(__file__).parents[1] / "examples" / "quickstart.py")!r})
{PRINT}
"""


def seconds(script):
    """Median CPU seconds that a script prints in a fresh process."""
    found = []
    for _ in range(RUNS):
        with TemporaryDirectory() as folder:  # for the picture
            run = subprocess.run(
                [sys.executable, "-c", script],
                capture_output=True,
                text=True,
                check=True,
                cwd=folder,
            )
        found.append(float(run.stdout.split("seconds")[-1]))
    return median(found)


def main():
    """Print a line per wait."""
    print(f"import of skvarimp           {seconds(IMPORT):6.2f} s")
    print(f"first forest, 1000 x 10      {seconds(FOREST):6.2f} s (aim: at most 1)")
    print(f"the README's first script    {seconds(QUICKSTART):6.2f} s (aim: at most 5)")


if __name__ == "__main__":
    main()
