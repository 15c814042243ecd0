"""The report of an audit's last run, as its ledger keeps it: JSON text -> EarlierAudit."""

import json

from eosctl.model.earlier_audit import EarlierAudit, EarlierFinding
from eosctl.model.report import Severity


def decode_earlier_audit(text: str, run_number: int) -> EarlierAudit | None:
    """What the run concluded; None where the text is no report, so that nothing is taken for known."""
    findings: dict[tuple[str, str], tuple[EarlierFinding, ...]] = {}
    try:
        document = json.loads(text)
        data = document["data"]
        for each in data["findings"]:
            found = EarlierFinding(Severity(each["severity"]), dict(each["evidence"]))
            place = each["id"], each["subject"]
            findings[place] = (*findings.get(place, ()), found)
        broken = frozenset(str(each["name"]) for each in data["connectors"] if each["verdict"] == "broken")
        return EarlierAudit(run_number, str(document["as_of"]), findings, broken)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
