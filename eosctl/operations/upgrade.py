"""What `upgrade-check` answers, now or as soon as the next rolling step may start."""

import time
from dataclasses import replace
from typing import Final

from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import Unreachable
from eosctl.model.upgrade import Phase, UpgradeCheck, Verdict
from eosctl.operations.evidence.read import read_evidence
from eosctl.operations.evidence.request import EvidenceRequest, files_of
from eosctl.operations.session import Session

PAUSE_S: Final = 1.0


def wait_for_upgrade(session: Session, request: EvidenceRequest, target: Phase, wait_s: float) -> UpgradeCheck:
    """The verdict now, or as soon as it is yes, or as it is after wait_s; what changes meanwhile is narrated.

    Workers that do not answer while they restart are waited for; the error of the last attempt is raised.
    """
    deadline, narrated = time.monotonic() + wait_s, ""
    while True:
        late = time.monotonic() + PAUSE_S > deadline
        try:
            evidence = read_evidence(session, request)
            check = check_upgrade(evidence, target, session.reader.coverage)
            check = replace(check, config_files=files_of(request, evidence))
            summary = check.summary
            if check.verdict is Verdict.YES or late:
                return check
        except Unreachable as error:
            if late:
                raise
            summary = error.message
        if summary != narrated:
            narrated = summary
            session.options.console.narrate(f"waiting: {summary}")
        time.sleep(PAUSE_S)
        session.ask_again()
