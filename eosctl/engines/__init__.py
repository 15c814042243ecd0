"""Engines: what carries the audit's folds over offset ranges, on this machine or elsewhere. They decide nothing."""
