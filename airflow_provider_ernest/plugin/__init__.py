"""What Ernest did, shown inside Airflow: pages, and the JSON that they draw."""
