"""What passes between the tasks of an Ernest DAG and into the model store: JSON documents, by subject."""
