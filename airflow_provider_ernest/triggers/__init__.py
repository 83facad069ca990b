"""Triggers: what waits in Airflow's triggerer while a task is deferred."""
