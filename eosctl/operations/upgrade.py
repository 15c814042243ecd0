"""Asking until the answer is yes."""

import time
from typing import Final

from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import Unreachable
from eosctl.model.evidence import Evidence
from eosctl.model.upgrade import Phase, UpgradeCheck, Verdict
from eosctl.operations.evidence.read import read_evidence
from eosctl.operations.evidence.request import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.render.views.upgrade import summary

PAUSE_S: Final = 1.0


def check_now(
    session: Session, request: EvidenceRequest, target: Phase, wait_s: float
) -> tuple[UpgradeCheck, Evidence]:
    """The verdict now, or as soon as it is yes, or as it is after wait_s; what changes meanwhile is narrated.

    Workers that do not answer while they restart are waited for; the error of the last attempt is raised.
    """
    deadline, told = time.monotonic() + wait_s, ""
    while True:
        late = time.monotonic() + PAUSE_S > deadline
        try:
            evidence = read_evidence(session, request)
            check = check_upgrade(evidence, target)
            words = summary(check)
            if check.verdict is Verdict.YES or late:
                return check, evidence
        except Unreachable as error:
            if late:
                raise
            words = error.message
        if words != told:
            told = words
            session.options.console.narrate(f"waiting: {words}")
        time.sleep(PAUSE_S)
