"""Whether a model still speaks for its job, and what it learns of production."""
