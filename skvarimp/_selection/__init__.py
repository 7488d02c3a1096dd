"""Feature selection driven by any importance."""
