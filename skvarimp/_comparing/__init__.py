"""Several models and measures side by side."""
