"""Pictures; matplotlib is imported when drawing."""
