"""What the displays share: matplotlib when it is needed, names that fit."""

import textwrap


def pyplot():
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib. Install it with `pip install matplotlib`."
        ) from None
    return plt


def wrapped(name, longest):
    """A name in lines of at most so many characters, never cut off."""
    return "\n".join(textwrap.wrap(str(name), longest)) or str(name)


def plain(texts):
    """Show texts as they are: a "$" in a name is a dollar."""
    for text in texts:
        text.set_parse_math(False)
