"""Documents as files: whole files, their catalogue, archives, pruning."""
