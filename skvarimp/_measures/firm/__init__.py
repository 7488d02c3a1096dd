"""The feature importance ranking measure."""
