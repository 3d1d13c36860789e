"""Benchmarks: ``scripts/bench NAME`` runs one; its last line is one JSON object."""
