"""The steps of an Ernest DAG, one operator a module. Importing them loads nothing heavy."""
