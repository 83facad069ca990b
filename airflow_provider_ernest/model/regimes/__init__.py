"""What Spark reports of the runs, used to foresee changes of regime: cache, spill, idle slots."""
