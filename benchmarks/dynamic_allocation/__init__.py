"""See `benchmarks.dynamic_allocation.__main__`."""
