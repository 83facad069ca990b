"""A decision in the words of those that run Spark jobs: YARN, Kubernetes, EMR, Glue, Databricks."""
