"""X, y and weights as the user passes them: containers, features, values, checks.

Nothing here knows of a model. Imports only `_running`.
"""
