"""The version of eosctl, in a module that imports nothing: each room may import it."""

__version__ = "0.1.0"
