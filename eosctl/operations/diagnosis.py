"""Answers `doctor` and `upgrade-check`: every rule on the present cluster."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.metrics import samples
from eosctl.analysis.rules.registry import diagnose
from eosctl.analysis.upgrade import check_feature, check_upgrade
from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.prometheus import encode_samples
from eosctl.errors import Unreachable
from eosctl.model.rules import Diagnosis, FeatureLevel, Phase, UpgradeCheck, Verdict
from eosctl.operations.evidence import EvidenceRequest, files_of, read_evidence
from eosctl.operations.session import Session


def diagnose_cluster(session: Session, request: EvidenceRequest, prometheus: Path | None = None) -> Diagnosis:
    """The answers of all rules, written to the file `prometheus` too where one is given."""
    evidence = read_evidence(session, request)
    diagnosis = replace(diagnose(evidence).under(session.options.triage), config_files=files_of(request, evidence))
    if prometheus is not None:
        lines = encode_samples(samples.finding_samples(diagnosis))
        write_atomic_file(prometheus, "".join(f"{line}\n" for line in lines))
    return diagnosis.covering(session.reader.coverage)


PAUSE_S: Final = 1.0


def wait_for_upgrade(
    session: Session, request: EvidenceRequest, target: Phase | FeatureLevel, wait_s: float
) -> UpgradeCheck:
    """The verdict as soon as it is yes, at the latest after wait_s; narrates changes meanwhile.

    It waits for restarting workers; the error of the last attempt is raised.
    """
    deadline, narrated = time.monotonic() + wait_s, ""
    while True:
        late = time.monotonic() + PAUSE_S > deadline
        try:
            evidence = read_evidence(session, request)
            coverage = session.reader.coverage
            if isinstance(target, FeatureLevel):
                check = check_feature(evidence, target, coverage)
            else:
                check = check_upgrade(evidence, target, coverage)
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
