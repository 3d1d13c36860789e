"""Exactly rounded Laplace, Gaussian and K-norm noise (docs/proofs/exact-noise.md)."""
