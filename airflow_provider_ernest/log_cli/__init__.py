"""Commands about what Spark wrote of its runs. They need its event logs, and neither Airflow nor Spark."""
