"""The applications whose event logs are recorded; each is given to spark-submit as it is."""
