"""Are the decisions right: do runs keep their deadlines and budgets, and at what price? See `__main__`."""
