"""A store as one file, to move it or to send it to somebody else."""
