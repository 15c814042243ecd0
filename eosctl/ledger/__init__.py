"""The audit's ledger, whole."""
