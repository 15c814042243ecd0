"""Bytes to model and back, pure: topics, record batches, properties, snapshot files."""
