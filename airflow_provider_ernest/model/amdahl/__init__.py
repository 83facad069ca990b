"""The extended Amdahl model, online and in batch."""
