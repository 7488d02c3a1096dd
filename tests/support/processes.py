"""Whether the processes that a test started are gone."""

import os
import time


def group_is_gone(group, seconds=60.0):
    """Whether every process of a group ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
