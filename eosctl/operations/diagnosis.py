"""What `doctor` answers: every rule on what there is now."""

from dataclasses import replace
from pathlib import Path

from eosctl.analysis.metrics.diagnosis import finding_samples
from eosctl.analysis.rules.registry import diagnose
from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.prometheus import encode_samples
from eosctl.model.rules import Diagnosis
from eosctl.operations.evidence.read import read_evidence
from eosctl.operations.evidence.request import EvidenceRequest, files_of
from eosctl.operations.session import Session


def diagnose_cluster(session: Session, request: EvidenceRequest, prometheus: Path | None = None) -> Diagnosis:
    """The answers of all rules, written to the file `prometheus` too where one is given."""
    evidence = read_evidence(session, request)
    diagnosis = replace(diagnose(evidence).under(session.options.triage), config_files=files_of(request, evidence))
    if prometheus is not None:
        lines = encode_samples(finding_samples(diagnosis))
        write_atomic_file(prometheus, "".join(f"{line}\n" for line in lines))
    return diagnosis.covering(session.reader.coverage)
