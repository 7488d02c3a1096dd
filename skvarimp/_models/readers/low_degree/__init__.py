"""Readers of polynomials, quadratic discriminants and adaptive splines."""
