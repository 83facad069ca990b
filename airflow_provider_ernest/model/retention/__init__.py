"""What of a store may go, and its removal."""
