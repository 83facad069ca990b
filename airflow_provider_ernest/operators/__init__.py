"""The operators of an Ernest DAG. Importing them loads nothing heavy."""
