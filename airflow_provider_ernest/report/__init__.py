"""A model as one self-contained HTML page: no script, no network, nothing but the file."""
