"""Commands about machines in a cloud. They need credentials of the cloud, and no Airflow."""
