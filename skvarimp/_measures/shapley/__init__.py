"""The Shapley values of what a response explains."""
