"""What operators and triggers share of Airflow's connections."""
