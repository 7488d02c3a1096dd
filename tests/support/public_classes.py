"""The classes of the public modules whose parameters are validated."""

import importlib
import inspect

MODULES = [
    "skvarimp",
    "skvarimp.filters",
    "skvarimp.feature_functions",
    "skvarimp.sequence",
]

VALIDATED = sorted(
    {
        kind
        for module in map(importlib.import_module, MODULES)
        for kind in vars(module).values()
        if inspect.isclass(kind) and hasattr(kind, "_parameter_constraints")
    },
    key=lambda kind: kind.__name__,
)
