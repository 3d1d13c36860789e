"""Exact counts and uniform whole numbers: binomial, Poisson, multinomial (docs/proofs/exact-counts.md)."""
