"""Predictions across a change of regime (memory runs short, joins change), by real runs of Spark."""
