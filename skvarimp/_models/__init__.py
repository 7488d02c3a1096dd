"""What a fitted model is and how it answers: `Model`, its links, its gradients.

Reads models; moves no feature and computes no importance. Imports `_data`, `_compiled`
and `_running`.
"""
