"""Reading the evidence that the rules ask for."""
