"""Makes the event logs that tests/unit/eventlog/event_logs holds, by real Spark."""
