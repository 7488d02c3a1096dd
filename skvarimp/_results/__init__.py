"""What a fit or a function has found: numbers with their errors, tables and words."""
