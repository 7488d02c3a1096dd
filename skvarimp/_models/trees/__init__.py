"""Trees and their ensembles as plain arrays, whichever library grew them.

`form` has the `Trees` form and its nodes, `encoders` the values that splits compare,
`losses` what boosting minimised, and `table` the nodes of all trees side by side.
"""

from skvarimp._models.trees.form import Tree, Trees

__all__ = ["Tree", "Trees"]
