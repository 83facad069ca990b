"""OptEx: job profiles, their closed form, and the cheapest composition of a cluster."""
