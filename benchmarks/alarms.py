"""False alarms of a monitor that compares each month's importances with last year's.

    python benchmarks/alarms.py [--years 200]

Customers have ten columns, of which four enter the model, a ridge regression. Nothing
changes, so every alarm is false. There are 500 rows a month: of 500 customers, or of
100 with five rows each, who are others in each month or stay for all months. The
permutation importances of each month are compared with those of the reference month by
`importance_difference`. In the last part one effect falls from 3 to 2.5 in the seventh
month: is there an alarm?
"""

import argparse

import numpy as np
from sklearn.linear_model import RidgeCV

from skvarimp import PermutationImportance, importance_difference

EFFECTS = np.array([3.0, 2.0, 1.0, 0.5, 0, 0, 0, 0, 0, 0])
CHANGED = np.where(EFFECTS == 3.0, 2.5, EFFECTS)
MONTHS, ROWS, CUSTOMERS = 12, 500, 100


def month(random, customers=None, effects=EFFECTS):
    """X, y and labels of customers, who have `(columns, errors)` if rows share them."""
    noise = random.normal(size=(ROWS, len(effects)))
    if customers is None:
        return noise, noise @ effects + 2 * random.normal(size=ROWS), None
    who = np.repeat(np.arange(CUSTOMERS), ROWS // CUSTOMERS)
    columns, errors = customers
    X = np.sqrt(0.8) * columns[who] + np.sqrt(0.2) * noise
    own = np.sqrt(0.5) * errors[who] + np.sqrt(0.5) * random.normal(size=ROWS)
    return X, X @ effects + 2 * own, who


def hundred(random):
    """What the rows of each of so many customers have in common."""
    columns = random.normal(size=(CUSTOMERS, len(EFFECTS)))
    return columns, random.normal(size=CUSTOMERS)


def year(random, kind, named, change=None):
    """The smallest p-values of twelve months: of each feature alone, and adjusted."""
    model = RidgeCV().fit(*month(random)[:2])
    staying = hundred(random)
    draw = {
        "single": lambda: None,
        "new": lambda: hundred(random),
        "stay": lambda: staying,
    }
    reference = fitted(model, month(random, draw[kind]()), named)
    plain, adjusted = [], []
    for m in range(MONTHS):
        effects = CHANGED if change is not None and m >= change else EFFECTS
        rows = month(random, draw[kind](), effects)
        if kind == "new" and named:
            rows = *rows[:2], rows[2] + (m + 1) * CUSTOMERS  # nobody has come before
        found = importance_difference(fitted(model, rows, named), reference)
        table = found.to_frame()
        plain.append(table["p_value"].min())
        adjusted.append(table["adjusted_p_value"].min())
    return np.array(plain), np.array(adjusted)


def fitted(model, rows, named):
    """Importances with their rows; customers are `named` as groups, or not."""
    X, y, who = rows
    measure = PermutationImportance(keep_rows=True)
    return measure.fit(model, X, y, groups=who if named else None)


def rules(plain, adjusted):
    """Months with an alarm, by each rule."""
    twice = adjusted < 0.05
    twice[1:] &= twice[:-1].copy()
    twice[0] = False
    return {
        "any p-value below 0.05": plain < 0.05,
        "any adjusted p-value below 0.05": adjusted < 0.05,
        "the same, two months in a row": twice,
        "any adjusted p-value below 0.05 / 12": adjusted < 0.05 / 12,
    }


def main():
    """Print alarms per year, and months until a change is seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=200)
    n = parser.parse_args().years
    cases = {
        "500 customers": ("single", False),
        "100 new customers every month, not named": ("new", False),
        "100 new customers every month, named as groups": ("new", True),
        "100 customers stay, not named": ("stay", False),
        "100 customers stay, named as groups": ("stay", True),
    }
    for title, (kind, named) in cases.items():
        random, counts = np.random.default_rng(0), {}
        for _ in range(n):
            for rule, alarms in rules(*year(random, kind, named)).items():
                counts.setdefault(rule, []).append(alarms.sum())
        print(f"{title}: alarms per year, years without one")
        for rule, alarms in counts.items():
            quiet = np.mean(np.equal(alarms, 0))
            print(f"    {rule:38}{np.mean(alarms):6.2f}{quiet:6.2f}")
    print("one effect falls in month 7: share of years with an alarm in 7, in 7 or 8")
    random, counts = np.random.default_rng(1), {}
    for _ in range(n):
        for rule, alarms in rules(*year(random, "single", False, change=6)).items():
            counts.setdefault(rule, []).append([alarms[6], alarms[6:8].any()])
    for rule, alarms in counts.items():
        print(f"    {rule:38}", np.mean(alarms, axis=0).round(2))


if __name__ == "__main__":
    main()
