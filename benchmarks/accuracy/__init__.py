"""How near do predictions from a few runs come, and what are their intervals worth? See `__main__`."""
