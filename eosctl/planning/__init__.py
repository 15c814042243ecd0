"""Snapshot and wish to Plan, pure."""
