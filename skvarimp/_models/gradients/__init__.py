"""Derivatives of a model's response: formulas where the model has one."""
