"""The report: everything that a reader asks of a fitted model, in one file."""
