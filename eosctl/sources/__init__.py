"""I/O that reads: each source returns model values or raises an EosctlError."""
