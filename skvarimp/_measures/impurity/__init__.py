"""Impurity importance of trees, with surrogate splits."""
