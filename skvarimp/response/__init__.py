"""The response engine: how a model's output moves as one entry of X moves."""
