"""A real Kafka and Kafka Connect on this machine."""

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec

__all__ = ["Sandbox", "SandboxSpec"]
