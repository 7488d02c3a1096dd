"""How a block of ICE curves is represented: steps, lines, Chebyshev nodes."""
