"""Benchmarks, compared with other engines in the same run: `make bench`."""
