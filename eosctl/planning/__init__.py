"""Snapshot and request to Plan, pure."""
