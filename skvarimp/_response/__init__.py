"""The response engine: how a model's output moves as one entry of X moves.

The contract, the grid, the walk, the sampled estimates. Knows of no measure.
"""
