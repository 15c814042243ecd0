"""What source offsets say in connectors' own terms, and which of two is further: one file for each kind of source."""
