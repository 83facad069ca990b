"""The command line: `ernest`, and `airflow ernest`."""
