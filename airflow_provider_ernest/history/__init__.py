"""A job's history from event logs that exist: finding and reading them, recognising jobs, surveying them."""
