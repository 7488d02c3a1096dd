"""Interactions of two and more entries."""
