"""Measures of rows in partitions, as of a Dask DataFrame."""
