"""Importances read from the weights of linear models and networks."""
