"""How fast, and in how much memory, event logs are read: ``python -m benchmarks.event_log``."""
