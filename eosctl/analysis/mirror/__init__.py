"""Comparing a mirror's source with its target: records by their digests, and what the differences mean."""
