"""The parts of a report: each answers one question about a fitted model."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.stats import t as student

from skvarimp._comparing.associations import correlated_groups
from skvarimp._comparing.ranks import rank_intervals
from skvarimp._data.base_table import is_missing
from skvarimp._data.sparse_table import SparseTable
from skvarimp._measures.joint.interaction import InteractionImportance
from skvarimp._measures.partial_dependence import PartialDependenceImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._models.model import Model
from skvarimp._refits.candidates import importance_across_candidates
from skvarimp._report.pictures import picture
from skvarimp._report.words import counted, listed, number, with_interval

LEVEL = 0.05  # of tests, all features together
ASSOCIATED = 0.7  # columns that are called correlated
STRONG = 0.2  # H from which two features are said to act together
N_BLOCKS, ROWS_OF_BLOCK, LEAST_IN_BLOCK = (
    10,
    200,
    8,
)  # from which intervals of H are computed
MOST_ACTING = 5  # features whose pairs are looked at
MOST_TESTED, ROWS_TESTED = 6, 2_000  # columns, given the others
MOST_MODELS = 5  # good candidates of a search
DRAWS = 6  # of each row, by which a measure moves a feature
ROWS_OF_CURVES, VALUES = 20_000, 20
ROWS_OF_ASSOCIATIONS, MOST_ASSOCIATED = 5_000, 1_000
MODEL = "model"  # names of the estimator and its rows in the code that is shown


@dataclass
class Part:
    """The answer to one question.

    Attributes
    ----------
    question : str
    statements : list of str
        Whole sentences.
    headings : list of str
        Of the table.
    table : list of list of str
    pictures : list of Picture
    made : str
        How the numbers were made.
    code : str
        Python that makes them again.
    """

    question: str
    statements: list[str]
    headings: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    pictures: list = field(default_factory=list)
    made: str = ""
    code: str = ""


def not_reached(question, asked, what):
    """The part in place of one that a limit does not allow."""
    limit = "twice what the importances take"
    if asked.limit is not None:
        limit = f"max_evaluations={asked.limit}"
    return Part(
        question,
        [f"{what} would ask the model for more predictions than {limit} allows."],
    )


def which_matter(asked):
    """Bars with intervals, and a table with ranks and directions."""
    imp, top = asked.importance, asked.names[: asked.top]
    lower, upper = imp.result_.ends()
    ranks, made = {}, [imp.result_.caption()]
    if imp.result_.influences is not None:
        found = rank_intervals(imp).to_frame()
        ends = zip(found["lowest_rank"], found["highest_rank"])
        ranks = dict(zip(found["feature"], ends))
        made.append("Ranks hold for all features together, with a probability of 95%.")
    directions = imp.directions_
    position = {name: e for e, name in enumerate(imp.features_)}
    table = []
    for name in top:
        e = position[name]
        low, high = ranks.get(name, (imp.ranking_[e],) * 2)
        rank = f"{low}" if low == high else f"{low} to {high}"
        known = directions is not None and imp.importances_[e] != 0.0
        way = direction_word(directions[e]) if known else ""
        value = with_interval(imp.importances_[e], lower[e], upper[e])
        table.append([name, value, rank, way])
    shown = picture(
        lambda: imp.plot(max_features=asked.top).figure_,
        f"Bars of the importance of {listed(top)}, with 95% intervals.",
    )
    return Part(
        "Which features matter?",
        [imp.result_.summary(top=min(3, asked.top))],
        ["feature", "importance (95% interval)", "rank", "direction"],
        table,
        [shown],
        " ".join(made),
        f"importance = {imp_code(imp)}.fit({MODEL}, X, y)\nimportance.plot()",
    )


def imp_code(measure):
    """The call that makes a measure."""
    given = {k: v for k, v in measure.get_params().items() if v is not None}
    default = type(measure)().get_params()
    shown = [f"{k}={v!r}" for k, v in given.items() if repr(v) != repr(default[k])]
    return f"{type(measure).__name__}({', '.join(shown)})"


def direction_word(direction):
    """What a direction says."""
    if not np.isfinite(direction):
        return ""
    if abs(direction) < 0.5:
        return "turns"
    way = "rises" if direction > 0 else "falls"
    return way if abs(direction) >= 0.9 else f"mostly {way}"


def how_each_acts(asked):
    """Curves of the most important features, with bands."""
    question = "How does each feature act?"
    single = {f.name for f in asked.features if len(f.columns) == 1}
    names = [name for name in asked.names if name in single][: asked.top]
    if not names:
        return Part(
            question, ["Each feature is a group of columns, which has no curve."]
        )
    rows = asked.some((VALUES + 1) * len(names) + 1, 0.4, ROWS_OF_CURVES)
    if rows is None:
        return not_reached(question, asked, "Curves")
    columns = [asked.columns(name) for name in names]
    measure = PartialDependenceImportance(
        features=dict(zip(names, columns)),
        grid=VALUES,
        statistic="std",
        curve_errors=True,
        n_jobs=asked.n_jobs,
    )
    rows.fitted(measure, asked.estimator)
    statements = []
    if len(measure.output_names_) == 1:
        what = watched(asked, measure)
        statements = [_acting(measure, name, what) for name in names[:MOST_ACTING]]
    else:
        n = len(measure.output_names_)
        statements = [f"The picture has a curve for each of {n} outputs."]
    shown = picture(
        lambda: measure.plot_curves().figure_,
        f"Curves of the mean prediction against {listed(names)}, with 95% bands.",
        "38rem",
    )
    made = (
        f"Partial dependence: the mean prediction over {counted(rows.n, 'row')} as one "
        f"feature takes up to {VALUES} of its values and all others keep theirs. The "
        "bands are 95% intervals of each mean. The curves do not follow correlations."
    )
    code = (
        f"curves = PartialDependenceImportance(\n    features={columns!r}, "
        f"grid={VALUES}, curve_errors=True\n).fit({MODEL}, X, y)\ncurves.plot_curves()"
    )
    return Part(question, statements, pictures=[shown], made=made, code=code)


def _acting(measure, name, what):
    """How one curve goes, in a sentence or two."""
    e = measure.features_.index(name)
    grid, curve = measure.curves_[name]
    curve, errors = np.ravel(curve), np.ravel(measure.curve_errors_[name])
    absent = np.array([is_missing(value) for value in grid.tolist()])
    reach = student.ppf(0.975, measure.result_.degrees_of_freedom) * errors

    def mean(k):
        return with_interval(curve[k], curve[k] - reach[k], curve[k] + reach[k])

    also = ""
    if absent.any():
        also = f" Where {name} is missing, it is {mean(np.flatnonzero(absent)[0])}."
    known = np.flatnonzero(np.isfinite(errors) & ~absent)
    if measure.importances_[e] == 0.0 or len(known) < 2:
        return f"The {what} does not change with {name}.{also}"
    first, last = known[[0, -1]]
    low, high = known[[curve[known].argmin(), curve[known].argmax()]]
    direction = measure.directions_[e]
    apart = abs(curve[last] - curve[first]) > reach[first] + reach[last]
    if np.isfinite(direction) and abs(direction) >= (0.5 if apart else 0.9):
        ends = [f"{mean(k)} at {value_word(grid[k])}" for k in (first, last)]
        way = direction_word(direction)
        return f"As {name} rises, the {what} {way}, from {' to '.join(ends)}.{also}"
    both = "changes with" if np.isnan(direction) else "both rises and falls with"
    lowest, highest = (f"{mean(k)} at {value_word(grid[k])}" for k in (low, high))
    return (
        f"The {what} {both} {name}: it is lowest, {lowest}, and highest, "
        f"{highest}.{also}"
    )


def watched(asked, measure):
    """What the curves of a measure with one output show, in words."""
    kind = Model(asked.estimator, measure.response_method).kind
    name = measure.output_names_[0]
    return {
        "probability": f"mean predicted probability of {name}",
        "label": f"share of rows predicted as {name}",
        "score": "mean score",
    }.get(kind, "mean prediction")


def value_word(value):
    """A value of a feature."""
    if isinstance(value, float | np.floating):
        return number(value)
    return str(value)


def which_act_together(asked):
    """Friedman's H of the pairs of the most important features, with intervals."""
    question = "Which features act together?"
    single = {f.name for f in asked.features if len(f.columns) == 1}
    names = [name for name in asked.names if name in single and asked.used(name)]
    names = names[:MOST_ACTING]
    if len(names) < 2:
        return Part(question, ["Fewer than two features are used: there is no pair."])
    size = _block_size(asked, len(names))
    while size < LEAST_IN_BLOCK and len(names) > 2:  # of fewer features, more rows
        names = names[:-1]
        size = _block_size(asked, len(names))
    if size < LEAST_IN_BLOCK:
        if asked.rows.n < N_BLOCKS * LEAST_IN_BLOCK:
            return Part(question, ["There are too few rows to look at pairs."])
        return not_reached(question, asked, "Pairs of features")
    pairs = list(combinations(range(len(names)), 2))
    asked.left -= N_BLOCKS * _curves_of(len(names)) * size**2
    rng = np.random.default_rng(asked.seed)
    order = rng.permutation(asked.rows.n)[: size * N_BLOCKS]
    columns = [asked.columns(name) for name in names]
    values = []
    for block in np.split(order, N_BLOCKS):
        rows = asked.rows.take(np.sort(block))
        measure = InteractionImportance(
            statistic="h",
            features=dict(zip(names, columns)),
            pairs=pairs,
            n_jobs=asked.n_jobs,
        )
        measure.fit(
            asked.estimator, rows.table.native, sample_weight=rows.sample_weight
        )
        values.append(measure.importances_)
    values = np.asarray(values)
    means = values.mean(axis=0)
    reach = student.ppf(0.975, N_BLOCKS - 1) * values.std(axis=0, ddof=1)
    reach /= np.sqrt(N_BLOCKS)
    lower, upper = np.maximum(means - reach, 0.0), means + reach
    order = np.argsort(-means, kind="stable")
    labels = [f"{names[a]} and {names[b]}" for a, b in pairs]
    table = [
        [labels[k], with_interval(means[k], lower[k], upper[k])] for k in order[:10]
    ]
    strong = [k for k in order if lower[k] > STRONG]
    statements = [
        f"{labels[k]} act together: H is {with_interval(means[k], lower[k], upper[k])}."
        for k in strong
    ]
    if not strong:
        statements = [
            f"No two of the features {listed(names)} clearly act together: no H is "
            f"above {STRONG}."
        ]
    made = (
        "Friedman's H: the root of the share of a pair's joint effect that is not the "
        f"sum of its two single effects. It is the mean over {N_BLOCKS} blocks of "
        f"{counted(size, 'row')}, whose differences give the 95% intervals."
    )
    code = (
        f"InteractionImportance(\n    statistic='h', features={columns!r}\n)"
        f".fit({MODEL}, X).plot()"
    )
    return Part(
        question, statements, ["pair", "H (95% interval)"], table, made=made, code=code
    )


def _curves_of(n):
    """How many curves Friedman's H of all pairs of n features takes."""
    return n * (n - 1) // 2 + n + 1


def _block_size(asked, n):
    """Rows of a block for the pairs of n features.

    A block of m rows costs m predictions a row of each pair and of each feature.
    """
    most = np.sqrt(0.35 * asked.left / N_BLOCKS / _curves_of(n))
    return int(min(ROWS_OF_BLOCK, asked.rows.n // N_BLOCKS, most))


def which_are_entangled(asked):
    """Correlated columns: their importance together, and of each given the others."""
    question = "Which features are entangled?"
    table = asked.rows.table
    if isinstance(table, SparseTable):
        return Part(question, ["Associations of sparse columns are not computed."])
    if table.n_columns > MOST_ASSOCIATED:
        return Part(
            question,
            [
                f"Associations of more than {MOST_ASSOCIATED} columns are not computed "
                f"here; X has {table.n_columns}. correlated_groups(X) computes them."
            ],
        )
    some = asked.sample(ROWS_OF_ASSOCIATIONS)
    found = correlated_groups(some.table.native, threshold=ASSOCIATED)
    groups = {name: group for name, group in found.items() if len(group) > 1}
    if not groups:
        return Part(
            question,
            [f"No two columns are correlated above {ASSOCIATED}."],
            made=f"Spearman's correlation in {counted(some.n, 'row')}.",
            code="correlated_groups(X)",
        )
    names = table.column_names()
    members = {
        name: [one if isinstance(one, str) else names[one] for one in group]
        for name, group in groups.items()
    }
    statements = [
        f"{listed(group)} are correlated: the mean correlation is above {ASSOCIATED}."
        for group in members.values()
    ]
    part = Part(question, statements, made=_associations_made(some.n))
    if asked.rows.y is None:
        return part
    cost = DRAWS * len(groups) + 1
    shares = asked.some(cost, 0.5, ROWS_OF_CURVES)
    if shares is None:
        part.statements += not_reached(
            question, asked, "Their joint importance"
        ).statements
        return part
    together = PermutationImportance(
        features=groups, random_state=asked.seed, n_jobs=asked.n_jobs
    )
    shares.fitted(together, asked.estimator)
    part.headings = ["columns", "moved together (95% interval)"]
    lower, upper = together.result_.ends()
    for e, name in enumerate(together.features_):
        value = with_interval(together.importances_[e], lower[e], upper[e])
        part.table.append([listed(members[name]), value])
    part.code = (
        "groups = correlated_groups(X)\n"
        f"PermutationImportance(features=groups).fit({MODEL}, X, y).plot()\n"
        f"PermutationImportance(conditional='residuals').fit({MODEL}, X, y).plot()"
    )
    tested = [name for group in members.values() for name in group][:MOST_TESTED]
    rows = asked.some(DRAWS * len(tested) + 1, 1.0, ROWS_TESTED)
    if rows is None:
        part.statements += not_reached(
            question, asked, "The conditional test"
        ).statements
        return part
    given = PermutationImportance(
        features=[names.index(name) for name in tested],
        conditional="residuals",
        random_state=asked.seed,
        n_jobs=asked.n_jobs,
    )
    rows.fitted(given, asked.estimator)
    p_values = given.result_.pvalues(adjust="holm")
    lower, upper = given.result_.ends()
    for e, name in enumerate(tested):
        value = with_interval(given.importances_[e], lower[e], upper[e])
        says = "adds something" if p_values[e] < LEVEL else "adds nothing measurable"
        part.statements.append(
            f"Given the other columns, {name} {says}: its importance is {value}."
        )
    part.made += (
        " The importance of correlated columns moved together is what they carry "
        "jointly. Given the other columns, only the part of a column that they do not "
        f"predict is moved ({counted(rows.n, 'row')}; Holm's adjustment)."
    )
    return part


def _associations_made(n):
    """How groups of columns were found."""
    return (
        f"Groups by average linkage of Spearman's correlations in {counted(n, 'row')}."
    )


def what_other_models_need(asked):
    """Whether other good candidates of a search need the features; else None."""
    if not hasattr(asked.estimator, "cv_results_") or asked.rows.y is None:
        return None
    question = "Does another good model need it?"
    per_model = 2 * (DRAWS * len(asked.features) + 1)
    rows = asked.some(MOST_MODELS * per_model, 1.0, ROWS_OF_CURVES)
    if rows is None:
        return not_reached(question, asked, "Other good models of the search")
    found = importance_across_candidates(
        asked.estimator,
        rows.table.native,
        rows.y,
        max_models=MOST_MODELS,
        sample_weight=rows.sample_weight,
        random_state=asked.seed,
        n_jobs=asked.n_jobs,
    )
    shown = picture(
        lambda: found.plot().figure_,
        "The range of each importance over all good models behind the best one's bar.",
    )
    return Part(
        question,
        [found.summary()],
        pictures=[shown],
        made=(
            f"Up to {MOST_MODELS} candidates whose score is within one standard error "
            f"of the best, refitted and measured on {counted(rows.n, 'row')}."
        ),
        code="importance_across_candidates(model, X, y).plot()",
    )


def which_are_noise(asked):
    """Features whose importance cannot be told from 0."""
    question = "Which features cannot be told from noise?"
    imp = asked.importance
    if not isinstance(imp, PermutationImportance):
        return Part(
            question,
            [
                "This measure is not 0 for noise. Give `y` and leave `measure` out to "
                "test the features."
            ],
        )
    if imp.standard_errors_ is None:
        return Part(question, ["No standard errors are known."])
    p_values = imp.result_.pvalues(adjust="holm")
    still = (imp.importances_ == 0.0) & (imp.standard_errors_ == 0.0)
    still = [name for name, one in zip(imp.features_, still) if one]
    by_name = dict(zip(imp.features_, p_values))
    noise = [
        name for name in asked.names if by_name[name] >= LEVEL and name not in still
    ]
    above = [name for name in asked.names if by_name[name] < LEVEL]
    statements = []
    if above:
        several = "importance of {} is" if len(above) == 1 else "importances of {} are"
        statements.append(f"The {several.format(listed(above))} above noise.")
    if noise:
        statements.append(f"{listed(noise)} cannot be told from noise.")
    if still and imp.monte_carlo_errors_ is None:
        statements.append(f"The model does not use {listed(still)}.")
    elif still:
        statements.append(f"No draw of {listed(still)} changed a prediction.")
    if not noise and not still:
        statements = ["The importance of every feature is above noise."]
    return Part(
        question,
        statements,
        made=(
            "One-sided tests of an importance of 0, with Holm's adjustment at 5% for "
            "all features together. They hold for rows that the model was not fitted "
            "to: on its own training rows a model seems to use noise."
        ),
        code="importance.result_.pvalues(adjust='holm')",
    )


def what_the_data_are(asked):
    """Rows, missing values, constant and duplicated columns."""
    table = asked.rows.table
    names, n = table.column_names(), table.n_samples
    missing, constant, same = {}, [], defaultdict(list)
    for j, name in enumerate(names):
        column = table.column(j)
        if column.dtype.kind in "fiubc":
            absent = int(np.isnan(column).sum()) if column.dtype.kind in "fc" else 0
            same[column.astype(np.float64, copy=False).tobytes()].append(name)
        else:
            values = column.tolist()
            absent = sum(is_missing(value) for value in values)
            same[repr(values)].append(name)
        if absent:
            missing[name] = absent
        if len(table.factorize([j])[1]) == 1:
            constant.append(name)
    statements = [
        f"X has {counted(asked.n_samples, 'row')} and {counted(len(names), 'column')}."
    ]
    if n < asked.n_samples:
        statements.append(f"The report is about {counted(n, 'row')}, drawn at random.")
    for name, absent in sorted(missing.items(), key=lambda one: -one[1])[:5]:
        statements.append(f"{name} is missing in {100 * absent / n:.2g}% of the rows.")
    if len(missing) > 5:
        more = counted(len(missing) - 5, "further column")
        statements.append(f"{more} miss values.")
    if not missing:
        statements.append("No value is missing.")
    if constant:
        statements.append(f"{listed(constant)} {_is(constant)} constant.")
    for group in same.values():
        if len(group) > 1 and group[0] not in constant:
            statements.append(f"{listed(group)} hold the same values.")
    if asked.rows.groups is not None:
        n_groups = len(np.unique(asked.rows.groups))
        statements.append(
            f"The rows come in {counted(n_groups, 'group')} whose rows may depend on "
            "each other; intervals allow for that."
        )
    if asked.rows.sample_weight is not None:
        statements.append("Rows are weighted.")
    return Part("What are the data?", statements, made=f"From {counted(n, 'row')}.")


def _is(names):
    """The verb of a list of names."""
    return "is" if len(names) == 1 else "are"
