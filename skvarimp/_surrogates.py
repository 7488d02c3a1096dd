"""Surrogate splits of fitted trees, by the engine at hand."""

from skvarimp._surrogates_numpy import search_levels

BLOCK_SIZE = 2**18  # (column, slot) pairs worked on at once


def find_surrogates(grove, columns, rules):
    """All surrogate splits of a few trees.

    Parameters
    ----------
    grove : Grove
    columns : SortedColumns
    rules : Rules

    Returns
    -------
    Surrogates
        By node and rank.
    """
    return search_levels(grove, columns, rules, BLOCK_SIZE)
