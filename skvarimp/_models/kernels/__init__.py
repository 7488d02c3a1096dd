"""The terms that kernels are sums of."""
