"""Messages to people, through Airflow's notifiers."""
