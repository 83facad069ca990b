"""What learning from production is worth, and how soon drift is noticed; see `__main__`."""
