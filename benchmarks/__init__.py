"""Benchmarks: ``scripts/bench NAME`` prints a table and, as its last line, one JSON object."""
