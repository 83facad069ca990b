"""Tasks that held their stages up: which, why, and what they cost."""
