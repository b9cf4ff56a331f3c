"""What is fast, against whom, in one run: `make bench`."""
