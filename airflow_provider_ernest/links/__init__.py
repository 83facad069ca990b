"""Links of task instances in Airflow's UI. DAG files import them with the operators: they are light."""
