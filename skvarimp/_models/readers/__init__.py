"""Readers of fitted models, one file per library or kind.

The only place that touches the insides of scikit-learn's and other libraries' models.
"""
