"""A model, or where the time of a run went, as one self-contained HTML page."""
