"""One text in portable SQL from columns to items and counts, and a small dialect for each engine."""
