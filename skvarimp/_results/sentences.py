"""Captions and summaries: what numbers say, as sentences."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from skvarimp._display.named_rows import STEADY
from skvarimp._results.ranks import MOST_FEATURES, careful_ranks, joint_ranks
from skvarimp._results.words import (
    capitalized,
    count,
    listed,
    named,
    ordinal,
    written,
)

TIE = 1e-12  # a relative difference that is rounding


def caption_of(found):
    """What a number is, which model and rows it is of, and what lines are.

    Parameters
    ----------
    found : Importances
    """
    first = capitalized(f"{definition_of(found)}, {setting_of(found)}.")
    return f"{first} {found._marks_in_words()}".rstrip()


def definition_of(found):
    """What one number is, with its unit and the outputs that it is a mean of."""
    quantity = found.quantity
    text = quantity.definition or quantity.label
    if quantity.share_of:
        text += f", as a share of {quantity.share_of}"
    elif quantity.unit:
        text += f", in {quantity.unit}"
    n_outputs = len(found.output_names)
    if n_outputs > 1:
        text += f" (mean over {n_outputs} outputs)"
    return text


def setting_of(found):
    """Such as "for Ridge (3 coefficients) on 40 rows"."""
    about, texts = found.circumstances, []
    if about.model:
        texts.append(f"for {about.model}")
    if about.n_samples is not None:
        rows = count(about.n_samples, about.rows)
        if about.weighted:
            rows = count(about.n_samples, f"weighted {about.rows}")
        texts.append(f"on {rows}")
        if about.n_groups is not None:
            texts.append(f"in {count(about.n_groups, 'independent group')}")
    return " ".join(texts) or f"for {count(len(found.features), found.quantity.noun)}"


def lines_of(found):
    """What the lines of a picture are; nothing where there are none."""
    lower, upper = found.ends()
    if not np.any(np.isfinite(lower) & np.isfinite(upper)):
        return ""
    return f"Lines are {found.confidence:.0%} intervals{rows_in_words(found)}."


def rows_in_words(found):
    """What intervals are over, and what they do not cover."""
    about = found.circumstances
    over = f"{about.rows}s" if about.n_groups is None else f"groups of {about.rows}s"
    text = f" over the {over}"
    if np.any(found.drawn > 0):
        text += ", with the error of drawing"
    return text + (f", and {about.fixed}" if about.model else "")


def summary_of(found, top):
    """A short paragraph; see `Importances.summary`.

    Parameters
    ----------
    found : Importances
    top : int
    """
    if not isinstance(top, Integral) or top < 1:
        raise ValueError(f"`top` must be an integer of at least 1, got {top!r}.")
    setting = f"Importance is {definition_of(found)}, {setting_of(found)}."
    said = [setting, *_findings(found, top), *found._conclusions()]
    return " ".join(filter(None, said))


def _findings(found, top):
    values, noun = found.importances, found.quantity.noun
    order = np.argsort(found.ranking, kind="stable")
    known = order[~np.isnan(values[order])]
    if len(values) == 0:
        return [f"There is no {noun}."]
    if len(known) == 0:
        return [f"The importance of no {noun} is known."]
    if found.quantity.nothing == 0.0 and not np.any(values[known]):
        if len(known) == 1:
            return [
                f"The importance of the only {noun}, {found.features[known[0]]}, is 0."
            ]
        return [f"The importance of each of the {count(len(known), noun)} is 0."]
    matter = known[values[known] != found.quantity.nothing]  # the others are said below
    shown = (matter if len(matter) else known)[: int(top)]
    noise = _noise(found, known)
    return [
        _largest(found, known, shown),
        _settled(found, known, shown),
        _noise_sentence(found, known, noise),
        _directions(found, [e for e in shown if e not in set(noise)]),
        _unknown(found, len(values) - len(known)),
    ]


def _largest(found, known, shown):
    """The most important features with their intervals; equal ones together."""
    texts, noun = number_texts(found, shown), found.quantity.noun
    if len(found.features) == 1:
        only = f", the only {noun}" if noun else ""
        return f"It is {texts[0]} for {found.features[shown[0]]}{only}."
    largest, *others = _with_ties(found, shown, texts)
    several = "s are those" if largest.endswith(" each") else " is that"
    text = f"The largest importance{several} of {largest}"
    if others:
        text += f", followed by {listed(others)}"
    equal = int(np.sum(_equal(found.importances[known], found.importances[shown[-1]])))
    equal -= int(np.sum(_equal(found.importances[shown], found.importances[shown[-1]])))
    if equal:
        text += f" and {count(equal, f'other {noun}')} with the same"
    if len(shown) + equal < len(known):
        text += f", out of {count(len(known), noun)}"
    return f"{text}."


def _with_ties(found, shown, texts):
    """Such as "a with 3.0 (2.0 to 4.0)", or "a and b with 3.0 (2.0 to 4.0) each"."""
    groups = []
    for e, text in zip(shown, texts):
        if groups and _equal(found.importances[e], groups[-1][0]):
            groups[-1][1].append(found.features[e])
        else:
            groups.append((found.importances[e], [found.features[e]], text))
    return [
        f"{listed(names)} with {text}{' each' if len(names) > 1 else ''}"
        for _, names, text in groups
    ]


def _equal(values, value):
    """Whether numbers differ by no more than rounding."""
    return np.isclose(values, value, rtol=TIE, atol=0.0)


def number_texts(found, shown, noun=None):
    """Each importance with its interval, in words; the first says what that is.

    By default that is what the result calls its intervals; "" says nothing.
    """
    noun = found._interval_noun if noun is None else noun
    shown = np.asarray(shown, dtype=np.intp)
    lower, upper = found.ends()
    values = found.importances[shown]
    numbers = np.array([values, lower[shown], upper[shown]])
    texts = written(numbers, values, bool(found.quantity.share_of))
    result = []
    for e, (value, low, high) in zip(shown, texts.T):
        text = value
        if np.isfinite(lower[e]) and np.isfinite(upper[e]):
            first = noun and not result
            what = f"{found.confidence:.0%} {noun} " if first else ""
            text += f" ({what}{low} to {high})"
        result.append(text)
    return result


def _settled(found, known, shown):
    """Which ranks hold for all features together."""
    if len(known) < 2 or found.standard_errors is None:
        return ""
    lowest, highest = ranks_of(found, shown)
    if lowest is None:
        return ""
    names = [found.features[e] for e in shown]
    fixed = [
        f"{name} is {ordinal(int(low))}"
        for name, low, high in zip(names, lowest, highest)
        if low == high
    ]
    open_ranks = [
        f"{name} from {low} to {high}"
        for name, low, high in zip(names, lowest, highest)
        if low < high
    ]
    if not fixed:
        return (
            f"At a joint confidence of {found.confidence:.0%} no rank is settled: the "
            f"data allow ranks for {listed(open_ranks)}."
        )
    text = f"At a joint confidence of {found.confidence:.0%} {listed(fixed)}"
    if not open_ranks:
        return f"{text}."
    return f"{text}, while the data allow ranks for {listed(open_ranks)}."


def ranks_of(found, shown):
    """Lowest and highest rank of some features, for all features together.

    Parameters
    ----------
    found : Importances
    shown : ndarray of int

    Returns
    -------
    lowest, highest : ndarray of the shape of `shown`, or None
    """
    n, rows = len(found.importances), found.rows
    drawn = found.drawn
    errors = np.hypot(found.standard_errors, drawn)
    if not np.isfinite(errors[shown]).any():
        return None, None
    if rows is not None and n <= MOST_FEATURES:
        freedom, terms = rows.units.freedom, rows.terms(rows.influences)
        ranks = joint_ranks(found.importances, terms, drawn, freedom, found.confidence)
        return ranks["lowest_rank"][shown], ranks["highest_rank"][shown]
    freedom = found.degrees_of_freedom
    return careful_ranks(found.importances, errors, freedom, found.confidence, shown)


def _noise(found, known):
    """Features whose interval reaches down to what does not matter."""
    lower, _ = found.ends()
    nothing = found.quantity.nothing
    return [e for e in known if lower[e] <= nothing or found.importances[e] == nothing]


def _noise_sentence(found, known, noise):
    """Which features cannot be told from noise, and which have exactly 0."""
    noun, nothing, texts = found.quantity.noun, found.quantity.nothing, []
    without = [found.features[e] for e in noise if found.importances[e] == nothing]
    names = [found.features[e] for e in noise if found.importances[e] != nothing]
    what = "noise" if found.quantity.zero else f"{nothing:g}"
    reach = "interval reaches" if len(names) == 1 else "intervals reach"
    because = f"because the {found.confidence:.0%} {reach} down to {nothing:g}"
    if names and len(names) == len(known) > 1:
        texts.append(f"None of the {noun}s can be told from {what}, {because}.")
    elif names:
        texts.append(
            f"The data cannot tell {named(names, noun=noun)} from {what}, {because}."
        )
    if without:
        verb = "importance of {} is" if len(without) == 1 else "importances of {} are"
        texts.append(
            f"The {verb} exactly {nothing:g}.".format(named(without, noun=noun))
        )
    return " ".join(texts)


def _directions(found, shown):
    """Which way predictions go as the values of some features rise."""
    if found.directions is None:
        return ""
    directions = found.directions
    rising = [found.features[e] for e in shown if directions[e] >= STEADY]
    falling = [found.features[e] for e in shown if directions[e] <= -STEADY]
    both = [found.features[e] for e in shown if 0.0 < abs(directions[e]) < STEADY]
    clauses = []
    if rising:
        clauses.append(f"rises with {listed(rising)}")
    if falling:
        verb = "rises" if len(falling) == 1 else "rise"
        clauses.append(f"falls as {listed(falling)} {verb}")
    if both:
        clauses.append(f"goes both up and down with {listed(both)}")
    if not clauses:
        return ""
    several = ", and ".join([", ".join(clauses[:-1]), clauses[-1]])
    return f"The {found.quantity.moves} {several if len(clauses) > 1 else clauses[0]}."


def _unknown(found, n):
    """How many features have no number."""
    if n == 0:
        return ""
    verb = "is" if n == 1 else "are"
    noun = found.quantity.noun
    return (
        f"The importances of {count(n, noun)} {verb} not known."
        if n > 1
        else (f"The importance of {count(n, noun)} {verb} not known.")
    )
