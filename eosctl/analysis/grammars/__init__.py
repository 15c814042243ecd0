"""What the records of a source connector say belongs together: one file for each family of connectors."""
