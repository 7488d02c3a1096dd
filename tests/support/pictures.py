"""Every display with made-up numbers, for names and values that are hard to draw.

A function takes the names of features and their values, the largest first, and returns
a display that is not drawn yet. `drawn(picture, n, names, values)` makes them by name.
"""

from functools import partial
from itertools import pairwise

import numpy as np
from scipy.cluster.hierarchy import average

from skvarimp import (
    AllRelevantDisplay,
    AssociationDisplay,
    CandidatesDisplay,
    ComparisonDisplay,
    CurvesDisplay,
    DendrogramDisplay,
    DifferencesDisplay,
    FoldsDisplay,
    ImportanceDisplay,
    MatrixDisplay,
    NullDisplay,
    RanksDisplay,
    RowsDisplay,
    SelectionPathDisplay,
)
from skvarimp.sequence import (
    MotifDisplay,
    MotifProfile,
    OligomerHeatmapDisplay,
    SequenceLogoDisplay,
)

LONG = "region = north + urban, as the register of dwellings has it"
JAPANESE = "血清総コレステロール濃度の平均値第{}回"

# kind of names -> forms of them, of which each feature takes the next
NAMES = {
    "mixed": ("x{}", "total_serum_cholesterol_{}", LONG + " {}"),
    "sixty": ("mean concentration of lipoproteins in serum at visit {:02d} (mg)",),
    "words": ("concentrationoflipoproteinsinserumandplasmaatthevisitnumber{:02d}",),
    "japanese": (JAPANESE, "年齢{}", "地域"),
    "literal": ("price in $ of x_{}", "$y_{}$ and $", "a_b_c_{}"),
}


def names_of(n, kind="mixed"):
    """So many names of a kind, all different."""
    forms = NAMES[kind]
    names = [forms[j % len(forms)] for j in range(n)]
    return [
        name.format(j) if "{" in name else f"{name}{j}" for j, name in enumerate(names)
    ]


def values_of(n, kind="spread"):
    """So many importances of a kind."""
    values = np.linspace(1.0, 0.01, n)
    if kind == "negative":
        return 2.0 * values - 1.4
    if kind == "missing":
        return np.where(np.arange(n) % 3 == 2, np.nan, values)
    if kind == "equal":
        return np.full(n, 0.25)
    if kind == "huge":
        return np.where(np.arange(n) == 1, np.inf, 1e12 * values)
    if kind == "unknown":
        return np.full(n, np.nan)
    return values


VALUES = ["spread", "negative", "missing", "equal", "huge", "unknown"]


def drawn(picture, n, names="mixed", values="spread", **keywords):
    """A picture by its name, of n features with a kind of names and of values."""
    return PICTURES[picture](names_of(n, names), values_of(n, values)).plot(**keywords)


def bars(names, values):
    """Bars with parts, intervals and p-values."""
    n = len(names)
    return ImportanceDisplay(
        values,
        names,
        intervals=np.multiply.outer(values, [0.8, 1.2]),
        label="standard deviation of accumulated local effect",
        own=0.5 * values,
        pvalues=np.linspace(0.0, 1.0, n),
    )


def dots(names, values):
    """Dots with marks of direction."""
    directions = np.resize([1.0, -1.0, np.nan, 0.5], len(names))
    intervals = np.multiply.outer(values, [0.8, 1.2])
    given = {"intervals": intervals, "directions": directions, "label": "importance"}
    display = ImportanceDisplay(values, names, **given)
    display.plot = partial(display.plot, kind="dots")
    return display


def comparison(names, values, measures=("increase of the squared error",)):
    """Three models under each measure."""
    models = "Ridge", "RandomForestRegressor", "HistGradientBoostingRegressor"
    of_measure = dict.fromkeys(models, values)
    intervals = {models[0]: np.multiply.outer(values, [0.8, 1.2])}
    return ComparisonDisplay(
        dict.fromkeys(measures, of_measure),
        names,
        intervals=dict.fromkeys(measures, intervals),
    )


def two_measures(names, values):
    """Two panels."""
    measures = "increase of the squared error", "relative range of the prediction"
    return comparison(names, values, measures)


def outputs(names, values):
    """Ten outputs, as of digits."""
    of_outputs = {f"class {o}": values * (1.0 + 0.1 * o) for o in range(10)}
    return ComparisonDisplay({"mean change of the prediction": of_outputs}, names)


def rows(names, values):
    """Points of numbers, some missing, of few and many categories, of dates."""
    random, n = np.random.default_rng(0), len(names)
    numbers = np.where(random.random(60) < 0.1, np.nan, random.random(60))
    levels = random.choice(["male", "female"], 60)
    many = random.choice([f"region number {k} of the register" for k in range(9)], 60)
    dates = np.datetime64("2020-01-01") + random.integers(0, 900, 60)
    shown = random.normal(values, 0.1 * np.abs(values) + 0.01, (60, n))
    of_features = [(numbers, levels, many, dates)[j % 4] for j in range(n)]
    return RowsDisplay(shown, names, values=of_features)


def effects(names, values):
    """Points on both sides of 0, some features without values."""
    random, n = np.random.default_rng(0), len(names)
    shown, numbers = random.normal(0.0, np.abs(values), (60, n)), random.random(60)
    of_features = [None if j % 3 == 2 else numbers for j in range(n)]
    label = "effect of the row's own value on the prediction"
    return RowsDisplay(shown, names, values=of_features, label=label, signed=True)


def folds(names, values):
    """Boxes with ranks."""
    of_folds = np.outer(np.linspace(0.8, 1.2, 5), values)
    ranks = np.arange(1, len(names) + 1) + np.arange(5)[:, np.newaxis]
    return FoldsDisplay(of_folds, names, ranks=ranks)


def candidates(names, values):
    """Ranges with ranks, some features dispensable."""
    by_model = np.outer(np.linspace(1.2, 0.7, 5), values)
    ranks = np.arange(1, len(names) + 1) + np.arange(5)[:, np.newaxis]
    dispensable = np.arange(len(names)) % 2 == 1
    return CandidatesDisplay(by_model, names, ranks=ranks, dispensable=dispensable)


def all_relevant(names, values):
    """Columns of all three states."""
    of_rounds, n = np.outer(np.linspace(0.8, 1.2, 9), values), len(names)
    states = [["selected", "tentative", "rejected"][3 * j // n] for j in range(n)]
    return AllRelevantDisplay(of_rounds, np.linspace(0.4, 0.6, 9), names, states)


def matrix(names, values):
    """A symmetric matrix."""
    cells = np.add.outer(values, values)
    np.fill_diagonal(cells, np.nan)
    return MatrixDisplay(cells, names, "importance of one given the other")


def association(names, values):
    """A matrix that is not symmetric."""
    random = np.random.default_rng(0).random((len(names), len(names)))
    return AssociationDisplay(random * values, names)


def dendrogram(names, values):
    """Groups of three columns, which join far from each other."""
    n = len(names)
    places = np.repeat(np.arange(n), 3)[:n] * 10.0 + np.linspace(0.0, 1.0, n)
    linkage = average(places[:, np.newaxis] / (places.max() + 1.0))
    return DendrogramDisplay(linkage, names, threshold=0.9)


def null(names, values):
    """Bands and p-values, the first features significant."""
    band = np.linspace(-0.1, 0.1, 19)
    pvalues = np.linspace(0.001, 0.9, len(names))
    panels = zip(names, values, [band] * len(names), pvalues, np.sqrt(pvalues))
    return NullDisplay([*panels])


def ranks(names, values):
    """Lines over ranks, each wider than its neighbour's distance."""
    ranking = np.argsort(np.argsort(-values, kind="stable"), kind="stable") + 1
    low, high = np.maximum(ranking - 2, 1), np.minimum(ranking + 2, len(names))
    return RanksDisplay(ranking, low, high, names, label="rank by increase of the loss")


def differences(names, values):
    """Points on either side of 0, some of whose lines reach it."""
    signed = values * np.resize([1.0, -1.0], len(names))
    ends = signed[:, np.newaxis] + [-0.2, 0.2]
    label = "difference of increase of the squared error"
    return DifferencesDisplay(signed, ends, names, label=label)


def path(names, values):
    """As many steps as features."""
    sizes = np.arange(1, len(names) + 1)
    of_folds = values[::-1, np.newaxis] + [-0.02, 0.0, 0.02]
    score = of_folds.mean(axis=1)
    given = {"n_features": sizes, "score": score, "fold_scores": of_folds}
    return SelectionPathDisplay(chosen=len(names), needed=0.6, **given)


def curves(names, values):
    """Lines with bands, over numbers, dates and durations, and over levels."""
    grid = np.linspace(0.0, 1.0, 9)
    levels = np.array(["north", "south", "the far east of the country", "west"])
    many = np.array([f"the region of the register with number {k}" for k in range(17)])
    dates = np.datetime64("2020-01-01") + 90 * np.arange(9)
    durations = np.timedelta64(36, "h") * np.arange(9)
    kinds = grid, levels, dates, many, durations
    every, deciles = [], {}
    for j, (name, value) in enumerate(zip(names, values)):
        at = kinds[j % 5]
        heights = value * np.linspace(0.01, 1.0, len(at))
        every.append((name, at, np.column_stack([heights, 0.5 * heights])))
        if at is grid or at is dates:
            deciles[name] = at
    display = CurvesDisplay(every, ["class benign", "class malignant"], deciles)
    display.intervals = {
        name: (0.8 * mean - 0.1, 1.2 * mean + 0.1) for name, _, mean in every
    }
    return display


def single_rows(names, values):
    """Curves of rows behind their means."""
    grid = np.linspace(0.0, 1e6, 9)
    levels = np.array(["male", "female"])
    every, individual, deciles = [], {}, {}
    for j, (name, value) in enumerate(zip(names, values)):
        at = levels if j % 3 == 1 else grid
        mean = value * np.linspace(1.0, 1e6, len(at))[:, np.newaxis]
        shares = np.linspace(0.5, 1.5, 12)[:, np.newaxis, np.newaxis]
        every.append((name, at, mean))
        individual[name] = at, shares * mean
        if at is grid:
            deciles[name] = at
    return CurvesDisplay(every, ["y"], deciles, individual)


def surfaces(names, values):
    """Neighbouring features in pairs."""
    grid = np.linspace(0.0, 1.0, 9)
    names = [*names, "last"]
    of_pairs = [
        (
            (a, b),
            grid,
            grid,
            value * (0.01 + np.add.outer(grid, grid))[:, :, np.newaxis],
        )
        for (a, b), value in zip(pairwise(names), values)
    ]
    return CurvesDisplay([], ["class malignant"], surfaces=of_pairs)


def motif(names, values):
    """A profile over as many positions."""
    n = len(names)
    lines = values, 0.5 * values, 0.2 * values, np.zeros(n), np.full(n, 0.1)
    return MotifDisplay(MotifProfile("GATTACA", "weight", np.arange(n), *lines))


def oligomers(names, values):
    """As many words of letters."""
    n = len(names)
    words = ["".join("ACGT"[k // 4**d % 4] for d in range(5)) for k in range(n)]
    return OligomerHeatmapDisplay(
        np.random.default_rng(0).normal(size=(30, n)) * values, words
    )


def logo(names, values):
    """Four letters at as many positions."""
    signs = np.resize([[1.0, -0.5, 0.3, -0.1], [-0.2, 0.6, 0.1, 0.4]], (len(names), 4))
    return SequenceLogoDisplay(signs * values[:, np.newaxis], "ACGT")


PICTURES = {
    picture.__name__: picture
    for picture in (
        bars,
        dots,
        comparison,
        two_measures,
        outputs,
        rows,
        effects,
        folds,
        candidates,
        all_relevant,
        matrix,
        association,
        dendrogram,
        null,
        ranks,
        differences,
        path,
        curves,
        single_rows,
        surfaces,
        motif,
        oligomers,
        logo,
    )
}
