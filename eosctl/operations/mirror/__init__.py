"""Auditing a mirror: two clusters, read together."""
