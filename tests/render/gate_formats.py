"""The required form of the files for pipelines: SARIF 2.1.0 as JSON Schema, and JUnit's XML.

The schema is written from the named sections of the standard, for the parts that eosctl writes. It is closed: a part
that it does not name is an error.
"""

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema

LEVEL = {"enum": ["none", "note", "warning", "error"]}
TEXT = {"type": "string", "minLength": 1}
ELEMENTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def _unique(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True}


MESSAGE = _object("text", text=TEXT)  # 3.11
RULE = _object(  # 3.49
    "id name shortDescription",
    id={"type": "string", "pattern": r"^EOS\d{3}$"},
    name={"type": "string", "pattern": "^[a-z0-9-]+$"},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=_object("level", level=LEVEL),
)
NOTIFICATION = _object(  # 3.58
    "message level", message=MESSAGE, level=LEVEL, associatedRule=_object("id", id=RULE["properties"]["id"])
)
INVOCATION = _object(  # 3.20
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    exitCode={"type": "integer", "minimum": 0, "maximum": 255},
    toolExecutionNotifications={"type": "array", "items": NOTIFICATION},
)
LOCATION = _object(  # 3.28, 3.29, 3.33
    "logicalLocations",
    physicalLocation=_object(
        "artifactLocation",
        artifactLocation=_object("uri", uri={"type": "string", "pattern": r"^[A-Za-z0-9%:/._~-]+$"}),
    ),
    logicalLocations=_unique(
        _object("fullyQualifiedName", fullyQualifiedName={"type": "string"}, kind={"const": "resource"})
    ),
)
RESULT = _object(  # 3.27, 3.35
    "ruleId ruleIndex level message locations",
    ruleId=RULE["properties"]["id"],
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION, "minItems": 1},
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    suppressions=_unique(
        _object(
            "kind",
            kind={"enum": ["inSource", "external"]},
            status={"enum": ["accepted", "underReview", "rejected"]},
            justification=TEXT,
        )
    ),
)
RUN = _object(  # 3.14, 3.17, 3.19
    "tool results",
    tool=_object("driver", driver=_object("name version", name=TEXT, version=TEXT, rules=_unique(RULE))),
    automationDetails=_object("id", id=TEXT),
    invocations={"type": "array", "items": INVOCATION, "minItems": 1, "maxItems": 1},
    results={"type": "array", "items": RESULT},
)
SARIF = _object(  # 3.13
    "version runs",
    version={"const": "2.1.0"},
    runs={"type": "array", "items": RUN, "minItems": 1, "maxItems": 1},
    **{"$schema": {"type": "string", "pattern": "sarif-schema-2.1.0.json$"}},
)


def sarif_run(text: str) -> dict[str, Any]:
    """The one run of a valid file; the rules that results name are there."""
    text.encode("utf-8")
    log = json.loads(text)
    jsonschema.Draft202012Validator(SARIF).validate(log)
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    assert [each for each in run["results"] if rules[each["ruleIndex"]] != each["ruleId"]] == []
    return run


def junit_cases(text: str) -> dict[str, tuple[str, str]]:
    """Each test case of a valid file by name: its result (passed, failure, error or skipped) and its text."""
    root = ET.fromstring(text.encode("utf-8"))
    [suite] = root
    cases = {}
    assert (root.tag, suite.tag, len(suite)) == ("testsuites", "testsuite", int(suite.attrib["tests"]))
    for case in suite:
        assert (case.tag, set(case.attrib)) == ("testcase", {"classname", "name"})
        children = {child.tag: child for child in case}
        assert len(children) == len(case)
        assert children.keys() <= {"system-out", *ELEMENTS.values()}
        [outcome] = [tag for tag in children if tag != "system-out"] or ["passed"]
        said = "\n".join(child.attrib.get("message") or child.text or "" for child in children.values())
        assert case.attrib["name"] not in cases
        cases[case.attrib["name"]] = (outcome, said)
    count = Counter(outcome for outcome, _ in cases.values())
    for counter, outcome in ELEMENTS.items():
        assert int(suite.attrib[counter]) == count[outcome]
    return cases
