"""Is what an event log tells of a run true? Predictions against runs that were really made."""
