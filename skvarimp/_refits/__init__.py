"""Models are refitted: importances over refits, and selection of columns."""
