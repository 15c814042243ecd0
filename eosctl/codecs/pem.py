"""PEM text as Java clients take it (KIP-651): certificates and a private key, also on one line."""

import base64
import re
from dataclasses import dataclass, field

from eosctl.errors import Undecodable

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PemBlock:
    """What stands between BEGIN and END: the label, such as `CERTIFICATE`, and the DER bytes."""

    label: str
    der: bytes = field(repr=False)

    @property
    def is_key(self) -> bool:
        """Whether it is a private key, encrypted or not."""
        return self.label.endswith("PRIVATE KEY")


def decode_pem(text: str) -> tuple[PemBlock, ...]:
    """The blocks of PEM text in order; what stands between blocks is passed over.

    Line ends within a block may be any blanks, so that it can be a value in a properties file. Raises Undecodable, not
    quoting the text, where a block is not base64 or is encrypted in OpenSSL's old way (`Proc-Type`).
    """
    return tuple(_block(match[1], match[2]) for match in _BLOCK.finditer(text))


def encode_pem(label: str, der: bytes) -> str:
    """The PEM text of one block, with a line end after it."""
    text = base64.encodebytes(der).decode().replace("\n", "")
    lines = "\n".join(text[place : place + 64] for place in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _block(label: str, body: str) -> PemBlock:
    if "Proc-Type" in body:
        raise Undecodable(f"the {label} is encrypted in a form that Kafka does not take; convert it to PKCS #8")
    try:
        return PemBlock(label, base64.b64decode("".join(body.split()), validate=True))
    except ValueError as error:  # binascii.Error is one, and so is what letters outside ASCII raise
        raise Undecodable(f"the {label} is not base64") from error
