"""Spark standalone clusters on machines of Amazon EC2, booted from user-data."""
