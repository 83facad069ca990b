"""Programs that measure this package: each prints a table. Run them as ``python -m benchmarks.<name>``."""
