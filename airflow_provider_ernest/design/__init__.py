"""Which sample runs to make: optimal experiment design, from candidates to whole runs."""
