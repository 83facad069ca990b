"""The command line: the models without a DAG, as ``ernest`` and as ``airflow ernest``."""
