"""How work is run: shared data of tasks, one fit at a time, warnings, compiled or not.

The ground floor: imports no other room.
"""
