"""Surrogate splits of fitted trees, by the engine at hand."""

from skvarimp._measures.impurity.surrogates.numpy_search import search_levels


def find_surrogates(grove, columns, rules, compiled=False):
    """All surrogate splits of a few trees.

    Both engines find the same splits, and numbers that agree to rounding.

    Parameters
    ----------
    grove : Grove
    columns : SortedColumns
    rules : Rules
    compiled : bool
        Whether compiled kernels search. They do not know criteria that sort the rows
        of every split.

    Returns
    -------
    Surrogates
        By node and rank.
    """
    if compiled and (rules.criterion is None or rules.criterion.of_sums):
        from skvarimp._measures.impurity.surrogates.compiled_search import search_trees

        return search_trees(grove, columns, rules)
    return search_levels(grove, columns, rules)
