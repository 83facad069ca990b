"""What listing, reading and writing cost in a store that holds very much."""
