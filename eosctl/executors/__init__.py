"""I/O that writes: each executor takes Steps and returns Outcomes."""
