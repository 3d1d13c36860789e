"""Planning: from what must be kept to the most accurate mechanism that keeps it, from public numbers only."""
