"""How much memory the records of one batch may take once they are unpacked.

`eosctl.batch.max.bytes` among the client properties says so. Beside the bytes it counts RECORD_BYTES for each record:
each is an object of a few hundred bytes, whatever it holds.
"""

from typing import Final

from eosctl.errors import ConfigError
from eosctl.model.client_keys import MOST_BATCH_BYTES
from eosctl.model.client_properties import ClientProperties

MOST_BYTES: Final = 1 << 26
RECORD_BYTES: Final = 256
RAISE_LIMIT: Final = f"is the batch what a producer of yours would write? Then give -X {MOST_BATCH_BYTES}=<bytes>"


def most_batch_bytes(properties: ClientProperties) -> int:
    """The limit that the properties set, in bytes, otherwise MOST_BYTES. Raises ConfigError for what is no number."""
    given = properties.get(MOST_BATCH_BYTES)
    if given is None:
        return MOST_BYTES
    if not given.isascii() or not given.isdigit() or not 0 < len(given) < 16 or not int(given):
        raise ConfigError(f"{properties.origin(MOST_BATCH_BYTES)}: {MOST_BATCH_BYTES}={given} is no number of bytes")
    return int(given)
