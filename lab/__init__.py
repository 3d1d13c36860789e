"""What is in the repository and not in the wheel."""
