"""What each stage needs of each resource at least, and what the run would take on other machines."""
