"""Replaying a run from its event log: tasks on slots, stages after their parents, the driver between."""
