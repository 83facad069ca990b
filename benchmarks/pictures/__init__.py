"""Draws the pictures of the documentation. See `__main__`."""
