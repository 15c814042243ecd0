"""What `doctor` answers: every rule on what there is now."""

from pathlib import Path

from eosctl.analysis.rules.registry import diagnose
from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.prometheus import encode_diagnosis
from eosctl.model.rules import Diagnosis
from eosctl.operations.evidence.read import read_evidence
from eosctl.operations.evidence.request import EvidenceRequest
from eosctl.operations.session import Session


def diagnose_cluster(session: Session, request: EvidenceRequest, prometheus: Path | None) -> Diagnosis:
    """The answers of all rules, written to the file `prometheus` too where one is given."""
    diagnosis = diagnose(read_evidence(session, request)).under(session.options.triage)
    if prometheus is not None:
        write_atomic_file(prometheus, "".join(f"{line}\n" for line in encode_diagnosis(diagnosis)))
    return diagnosis.covering(session.reader.coverage)
