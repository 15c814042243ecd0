"""A certificate for others: one HTML page without scripts, and JUnit's XML with a test case for each round."""

from collections.abc import Iterable
from html import escape
from typing import Final

from eosctl.model.certification import Certificate, RoundResult, RoundVerdict, Witness
from eosctl.model.times import rfc3339
from eosctl.render.cells import escape_controls
from eosctl.version import __version__

STYLE: Final = """
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.3rem .6rem;
border-bottom:1px solid #8886}td.n{text-align:right}.certified,.held{color:#15803d}.failed{color:#dc2626}
.cannot-tell{color:#b45309}code,pre{font:14px ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
"""
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def certificate_page(certificate: Certificate) -> str:
    """The whole page. It needs no network, and every text in it is escaped."""
    claim, versions, verdict = certificate.claim, certificate.versions, certificate.verdict
    facts = (
        ("Connector", claim.connector_class),
        ("Plugin", ", ".join(certificate.plugins) or "the workers' own"),
        ("Plugin version", versions.plugin),
        ("Kafka", f"brokers {versions.kafka}, workers {versions.connect}, exactly-once {certificate.exactly_once}"),
        ("exactlyOnceSupport", claim.exactly_once),
        ("canDefineTransactionBoundaries", claim.transaction_boundaries),
        ("Methods that matter", "; ".join(f"{name} in {owner}" for name, owner in claim.overridden.items())),
        ("Identity of a record", certificate.identity),
        ("Truth", certificate.truth),
        ("Seed", str(certificate.seed)),
        ("Rounds", f"{len(certificate.rounds)} in {sum(each.elapsed_s for each in certificate.rounds):.0f} s"),
        ("Faults", ", ".join(certificate.faults) or "none"),
        ("Records", f"{certificate.delivered:,} delivered to read_committed consumers"),
        ("Made", f"{rfc3339(certificate.as_of)} by eosctl {__version__}"),
    )
    parts = (
        f'<h1 class="{verdict}">{_text(verdict)}: {_text(claim.connector_class.rpartition(".")[2])}</h1>',
        f"<p>{_text(certificate.sentence)}</p>",
        _list([*certificate.reasons, *certificate.notes]),
        _table((), [(_text(name), _text(value)) for name, value in facts]),
        "<h2>Rounds</h2>",
        _table(ROUND_HEADERS, map(_round, certificate.rounds)),
        "<h2>Witnesses</h2>" if certificate.witnesses else "",
        _table(WITNESS_HEADERS, map(_witness, certificate.witnesses)) if certificate.witnesses else "",
        "<h2>Config</h2>",
        _table((), [(_text(key), _text(str(value))) for key, value in certificate.config.items()]),
        f"<h2>Repeat it</h2><pre>{_text(certificate.repeat)}</pre>",
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{_text(verdict)}: {_text(claim.connector_class)}</title><style>{STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{"".join(parts)}\n</body></html>\n'


ROUND_HEADERS: Final = (
    "Round", "Fault", "Boundary", "Verdict", "Seconds", "Delivered", "Lost", "Doubled", "Reordered", "Acts",
)  # fmt: skip
WITNESS_HEADERS: Final = ("Harm", "Source record", "Round", "Just before", "Records")


def _round(result: RoundResult) -> tuple[str, ...]:
    figures = (round(result.elapsed_s), result.delivered, result.lost, result.doubled, result.reordered)
    verdict = f'<span class="{result.verdict}">{_text(result.verdict)}</span> {_text(result.reason)}'
    acts = _list(f"{rfc3339(at)} {what}" for at, what in result.happened)
    round_ = result.round
    return (
        str(round_.number), _text(round_.fault), _text(round_.boundary or ""), verdict, *map(str, figures), acts,
    )  # fmt: skip


def _witness(witness: Witness) -> tuple[str, ...]:
    anomaly = witness.anomaly
    places = [str(each.place) for each in (anomaly.before, anomaly.after) if each is not None]
    if anomaly.aborted is not None:
        places.append(f"{anomaly.aborted}, in an aborted transaction")
    return (
        _text(anomaly.harm), _text(anomaly.identity), str(witness.round), _text(witness.fault_act), _list(places),
    )  # fmt: skip


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in headers)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{_text(each)}</li>" for each in items)
    return f"<ul>{lines}</ul>" if lines else ""


def _text(text: str) -> str:
    return escape(escape_controls(text)).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def certificate_junit(certificate: Certificate) -> str:
    """The whole file: a failed round is a failure, one that cannot tell an error; so is missing evidence of the
    verdict."""
    cases = [_case(each, certificate.witnesses) for each in certificate.rounds]
    if not certificate.rounds or certificate.complete is False:
        cases.append(_claim_case(certificate))
    failures, errors = (sum(f"<{name} " in each for each in cases) for name in ("failure", "error"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    properties = "".join(
        f'<property name="{name}" value="{_text(value)}"/>'
        for name, value in (
            ("connector.class", certificate.claim.connector_class),
            ("plugin.version", certificate.versions.plugin),
            ("kafka.version", certificate.versions.kafka),
            ("connect.version", certificate.versions.connect),
            ("exactly.once.source.support", certificate.exactly_once),
            ("eosctl.version", __version__),
            ("verdict", certificate.verdict),
            ("faults", ", ".join(certificate.faults)),
            ("delivered", str(certificate.delivered)),
            ("seed", str(certificate.seed)),
            ("repeat", certificate.repeat),
        )
    )
    suite = f'<testsuite name="eosctl certify" {counts}><properties>{properties}</properties>\n'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n{suite}'
        + "\n".join(cases)
        + "\n</testsuite>\n</testsuites>\n"
    )


def _case(result: RoundResult, witnesses: Iterable[Witness]) -> str:
    name = f"round {result.round.number} {result.round.fault}"
    head = f'<testcase classname="eosctl certify" name="{_text(name)}" time="{result.elapsed_s:.1f}">'
    if result.verdict is RoundVerdict.FAILED:
        figures = f"{result.lost} lost, {result.doubled} doubled, {result.reordered} reordered"
        seen = [" ".join(_plain(each)) for each in witnesses if each.round == result.round.number]
        return f'{head}<failure type="failed" message="{figures}">{_text(chr(10).join(seen))}</failure></testcase>'
    if result.verdict is RoundVerdict.CANNOT_TELL:
        return f'{head}<error type="cannot-tell" message="{_text(result.reason)}"/></testcase>'
    return f"{head}</testcase>"


def _plain(witness: Witness) -> tuple[str, ...]:
    anomaly = witness.anomaly
    places = (str(each.place) for each in (anomaly.before, anomaly.after) if each is not None)
    return anomaly.harm, anomaly.identity, *places, f"after: {witness.fault_act}"


def _claim_case(certificate: Certificate) -> str:
    """The verdict itself, where no round says why it is not certified."""
    kind = "failure" if certificate.found else "error"
    message = _text(certificate.sentence)
    return f'<testcase classname="eosctl certify" name="verdict"><{kind} type="{kind}" message="{message}"/></testcase>'
