"""Decoders: from noisy statistics to histograms. They see released values only, so they cost no privacy."""
