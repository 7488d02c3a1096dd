"""Rows in the partitions of a Dask collection, which no one place holds.

No other room imports this one. `skvarimp` itself adds `Partitions` to `ROWS_APART` of
`_data/table.py`, by which measures meet it.
"""
