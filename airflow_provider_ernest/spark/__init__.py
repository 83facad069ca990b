"""What speaks Spark: submission, event logs, input sampling, the standalone master's state."""
