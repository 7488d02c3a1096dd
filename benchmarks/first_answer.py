"""What a newcomer waits for: the import, the first importances, and a small fit.

    python benchmarks/first_answer.py    # with skvarimp installed

CPU seconds, each in a fresh process, the median of a few: the import of skvarimp on top
of what it needs, the first fit of a forest of 100 trees on 1000 x 10 rows, and the
script that the README runs first, imports and picture included. Then milliseconds of a
further fit on 500 x 5 rows, which is what every fit costs: the least of many.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

RUNS, FITS = 5, 40
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
    return median(float(printed(script).split("seconds")[-1]) for _ in range(RUNS))


FURTHER = f"""
import time
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor
from skvarimp import SensitivityImportance
random = np.random.default_rng(0)
X = random.standard_normal((500, 5))
y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.5 * random.standard_normal(500)
for model in (
    Ridge(), LogisticRegression(), DecisionTreeRegressor(), GradientBoostingRegressor()
):
    target = (y > 0) * 1 if hasattr(model, "predict_proba") else y
    model.fit(X, target)
    spent = []
    for _ in range({FITS}):
        start = time.process_time()
        SensitivityImportance().fit(model, X, target)
        spent.append(time.process_time() - start)
    print(f"further fit, {{type(model).__name__:26}} {{1000 * min(spent):6.1f}} ms")
"""


def printed(script):
    """What a script prints in a fresh process."""
    with TemporaryDirectory() as folder:  # for the picture
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    return run.stdout


def main():
    """Print a line per wait."""
    print(f"import of skvarimp           {seconds(IMPORT):6.2f} s")
    print(f"first forest, 1000 x 10      {seconds(FOREST):6.2f} s (aim: at most 1)")
    print(f"the README's first script    {seconds(QUICKSTART):6.2f} s (aim: at most 5)")
    print(printed(FURTHER), end="")


if __name__ == "__main__":
    main()
