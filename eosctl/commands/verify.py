"""`eosctl verify`: is an evidence file unaltered, and does the cluster still have the records it covers?"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.operations.session import Session
from eosctl.render.answers.evidence_file import CHECKED_RANGES, view_verified
from eosctl.shell.options import GlobalOptions, answer, gating, showing

app = typer.Typer()

File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The file that `audit --evidence` wrote.")]
SignerKey: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Public key of the signer (.pub), or allowed signers of ssh-keygen: no other key may sign."
    ),
]


@app.command()
@showing(CHECKED_RANGES)
@gating
def verify(options: GlobalOptions, file: File, signer_key: SignerKey = None) -> int:
    """Check an evidence file, its signature, and its records.

    Use it to check the result of an audit that somebody sent you. It refuses a file in which a byte was altered, and a
    signature in FILE.sig that is not that of the file. Without a signature, a forger can write a matching digest. With
    --signer-key, the file must be signed by that key; ssh-keygen -Y verify -n eosctl-evidence checks the same. With -b,
    it reads the audited ranges again and compares their SHA-256: ranges that were deleted or compacted since are named,
    and the answer is cannot-tell. Nothing is written.

    Examples:
      eosctl verify audit.json
      eosctl verify audit.json --signer-key auditor.pub
      eosctl verify audit.json --signer-key auditor.pub -b broker:9092
    """
    from eosctl.operations.evidence_file import verify_evidence

    with Session(options) as session:
        return answer(options, verify_evidence(session, file, signer_key), view_verified)
