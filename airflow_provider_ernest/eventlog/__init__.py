"""What a run did: reading Spark's event logs, from files and their compression to tables."""
