"""What do designs cost to solve, and what are they worth? See `__main__`."""
