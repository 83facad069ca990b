"""The profile of a run: all analyses of its event log, put together."""
