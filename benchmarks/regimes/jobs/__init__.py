"""Applications that take another course when memory runs short; `pacing` is that of the history's jobs."""
