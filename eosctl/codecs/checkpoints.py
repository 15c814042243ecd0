"""Records of MirrorMaker's checkpoints topic: where a consumer group of the source would go on in the target.

    key    group STRING, topic STRING, partition INT32   the topic is that of the target
    value  version INT16 (0), upstreamOffset INT64, offset INT64, metadata STRING

A STRING is an INT16 with its length in bytes, and UTF-8.
"""

from struct import Struct
from struct import error as StructError
from typing import Final

from eosctl.errors import Undecodable
from eosctl.model.mirror import Checkpoint

LENGTH: Final = Struct(">h")
PARTITION: Final = Struct(">i")
VALUE: Final = Struct(">hqq")


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    """The checkpoint; None for a tombstone. Raises Undecodable for what is none, or of a version other than 0."""
    if value is None:
        return None
    try:
        group, place = _text(key or b"", 0)
        topic, place = _text(key or b"", place)
        (partition,) = PARTITION.unpack_from(key or b"", place)
        version, upstream, downstream = VALUE.unpack_from(value)
    except (StructError, UnicodeDecodeError) as error:
        raise Undecodable("not a checkpoint of MirrorMaker") from error
    if version:
        raise Undecodable(f"a checkpoint of version {version}")
    return Checkpoint(group, topic, partition, upstream, downstream)


def _text(data: bytes, place: int) -> tuple[str, int]:
    (length,) = LENGTH.unpack_from(data, place)
    begin = place + LENGTH.size
    if length < 0 or begin + length > len(data):
        raise StructError("cut")
    return data[begin : begin + length].decode(), begin + length
