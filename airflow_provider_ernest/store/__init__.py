"""Documents as files: whole files, their catalogue, pruning."""
