"""The report of an audit's last run, as its ledger keeps it: JSON text -> EarlierAudit."""

from json import JSONDecodeError

from eosctl.codecs.json_limits import load_json
from eosctl.model.earlier_audit import EarlierAudit, EarlierFinding
from eosctl.model.report import Severity


def decode_earlier_audit(text: str, run_number: int) -> EarlierAudit | None:
    """What the run concluded; None where the text is no report, so that nothing is taken for known."""
    try:
        document = load_json(text)
        data = document["data"]
        findings = tuple(
            EarlierFinding(each["id"], Severity(each["severity"]), each["subject"], dict(each["evidence"]))
            for each in data["findings"]
        )
        broken = frozenset(str(each["name"]) for each in data["connectors"] if each["verdict"] == "broken")
        return EarlierAudit(run_number, str(document["as_of"]), findings, broken)
    except (JSONDecodeError, KeyError, TypeError, ValueError):
        return None
