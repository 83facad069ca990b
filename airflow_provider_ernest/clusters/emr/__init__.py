"""Sample runs on Amazon EMR: a job flow for the time of the training, its runs as steps."""
