"""From ICE curves to numbers: pairs, observed, range, flatness, losses."""
