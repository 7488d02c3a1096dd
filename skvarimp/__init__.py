"""Which inputs matter to a fitted model, how much, and which can go."""

from skvarimp._base import BaseImportance

__version__ = "0.1.0"

__all__ = [
    "BaseImportance",
]
