"""Rows in the partitions of a Dask collection, which no one place holds.

A table of at most 100 000 rows, the *donors*, is fitted as any table is. Where there
are more rows, each partition is a fit of its own, whose rows move to the donors'
values; importances are weighted means over the partitions.

No other room imports this one. `skvarimp` itself adds `Partitions` to `ROWS_APART` of
`_data/table.py`, by which measures meet it.
"""
