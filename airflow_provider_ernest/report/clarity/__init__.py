"""Where the time of one run went, as one self-contained HTML page."""
