"""Reading Spark's event logs: files and their compression, events, and the tables that they make."""
