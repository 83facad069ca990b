"""Makes the event logs that tests/unit/spark/event_logs holds, by real Spark."""
