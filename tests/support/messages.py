"""What a message must tell, in whichever words."""

import re


def says(parts):
    """The pattern of messages with these parts in this order, for `match`.

    " … " separates them: the parameter, what was got, the way out. Each begins
    and ends where a word does; anything may stand between them.
    """
    return "(?s)" + ".*".join(map(_whole, parts.split(" … ")))


def _whole(part):
    begin = r"(?<!\w)" if re.match(r"\w", part) else ""
    end = r"(?!\w)" if re.search(r"\w$", part) else ""
    return begin + re.escape(part) + end
