"""Importances over refits: folds and null models."""
