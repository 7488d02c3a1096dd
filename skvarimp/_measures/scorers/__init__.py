"""Scores of shuffled columns, and their errors from scores of resampled rows."""
