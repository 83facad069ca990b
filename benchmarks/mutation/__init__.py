"""Do the tests notice changes? Sampled mutants of single areas: `python -m benchmarks.mutation`."""
