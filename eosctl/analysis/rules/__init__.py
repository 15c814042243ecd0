"""What doctor and upgrade-check ask: one file per theme, put together in `registry`."""
