"""The numbers behind the bars of a table in a notebook."""

from unittest.mock import patch

import numpy as np

from skvarimp._display import html


def bars_behind(shown):
    """Heading -> values, lower and upper ends, of shape (3, n_features, ...)."""
    with patch.object(html, "bars", wraps=html.bars) as drawn:
        shown._repr_html_()
    return {call.args[0]: np.array(call.args[1:4]) for call in drawn.call_args_list}
