"""Sizes Spark clusters from Airflow by optimal experiment design (Ernest, NSDI 2016)."""

__version__ = "0.1.0"
