"""Surrogate splits: the cuts that best imitate a split, and predicting by them.

`find` searches whole trees, with `numpy_search` or `compiled_search`, over the `levels`
of a tree; `splits` holds the rules and what was found; `predictor` uses it.
"""
