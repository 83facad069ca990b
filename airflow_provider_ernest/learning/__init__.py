"""Production: whether a stored model holds for a run, and what it learns from the run."""
