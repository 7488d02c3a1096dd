"""Walks over partitions: counts first, then states that merge without rows."""
