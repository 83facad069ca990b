"""What the demonstration and the tests need to run DAGs in a real Airflow of their own."""
