"""Ordinary user-level differential privacy for the same questions: what EMD-DP has to beat, and releasable itself."""
