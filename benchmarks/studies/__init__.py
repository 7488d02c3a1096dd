"""The studies of `coverage.py`."""
