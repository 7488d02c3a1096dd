"""The response engine: how a model's output moves as one feature of X moves.

The contract, the grid, the walk, the sampled estimates. Knows of no measure.
"""
