"""The mathematics: experiment design, regression, choice. Knows nothing of Airflow, Spark or clusters."""
