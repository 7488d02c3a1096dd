"""How well a budget of predictions ranks the inputs of a model that is not read.

Boosting is fitted to Friedman's function with columns of noise beside its five inputs.
For each budget the program prints the rows that the model was asked for, the calls and
the rank correlation with the exact importances: of all columns, and of the ten most
important ones. They are means over seeds; the smallest of the ten's is in brackets.

    python benchmarks/budget_accuracy.py [--rows 1000] [--columns 70] [--seeds 1]
"""

import argparse

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from skvarimp import PermutationImportance, SensitivityImportance

BUDGETS = 75_000, 150_000, 300_000, 600_000
MEASURES = {
    "sensitivity": SensitivityImportance(),
    "sensitivity, observed": SensitivityImportance(contrast="observed"),
    "permutation": PermutationImportance(),
}


class BlackBox:
    """Counts the rows and the calls of a model that the package cannot read."""

    def __init__(self, model):
        self.model, self.rows, self.calls = model, 0, 0

    def predict(self, X):
        """As the model does."""
        self.rows += len(X)
        self.calls += 1
        return self.model.predict(X)


def drawn(measure, budget, model, data, exact):
    """Rows, calls, and both rank correlations of the importances of one fit."""
    box, top = BlackBox(model), np.argsort(-exact)[:10]
    found = measure.set_params(max_evaluations=budget, n_draws=50)
    found = found.fit(box, *data).importances_
    assert box.rows <= budget
    every = spearmanr(exact, found).statistic
    return box.rows, box.calls, every, spearmanr(exact[top], found[top]).statistic


def main():
    """Print a table for each measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=70)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    shape = {"n_samples": given.rows, "n_features": given.columns}
    data = make_friedman1(**shape, noise=1.0, random_state=0)
    model = HistGradientBoostingRegressor(random_state=0).fit(*data)
    for name, measure in MEASURES.items():
        measure.set_params(max_evaluations=None)
        exact = measure.fit(model, *data).importances_
        print(f"{name}\n  budget     rows  calls    all         top 10")
        for budget in BUDGETS:
            found = []
            try:
                for seed in range(given.seeds):
                    measure.set_params(random_state=seed)
                    found.append(drawn(measure, budget, model, data, exact))
            except ValueError:
                print(f"{budget:8} too few for one draw per row and column")
                continue
            rows, calls, every, top = np.mean(found, axis=0)
            least = min(one[-1] for one in found)
            print(
                f"{budget:8} {rows:8.0f} {calls:6.0f} {every:6.2f} {top:6.2f} "
                f"({least:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
