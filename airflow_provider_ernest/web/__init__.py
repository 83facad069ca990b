"""The pages inside Airflow, and the JSON that they draw."""
