"""Sensors: tasks that wait for something outside of Airflow."""
