"""Which inputs matter to a fitted model, how much, and which can go."""

from skvarimp._base import BaseImportance
from skvarimp._compare import compare_importances
from skvarimp._sensitivity import SensitivityImportance

__version__ = "0.1.0"

__all__ = [
    "SensitivityImportance",
    "compare_importances",
    "BaseImportance",
]
