"""Bindings written for other tools: whatever the names are, the tool reads the same bindings."""

import csv
import io
import json
import re
import shlex

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from eosctl.analysis.catalogue.plans import COLLISION
from eosctl.errors import Unsupported
from eosctl.model.acl_plan import AclDifference, AclPlan, AclReport, LeftOut, PlannedBinding, Reason, no_kafka_user
from eosctl.model.acls import CLUSTER, AclBinding, Operation, PatternType, group, topic, transactional_id
from eosctl.model.client_roles import ClientRole
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import UNSEEN
from eosctl.render.answers import acls
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acl_plan, emit_acls, leaving_out
from tests.planning.test_acl_difference import NEEDED, PLAN, compare

PREFIXED = PatternType.PREFIXED
AROUND = EmitOptions("broker:9092", "admin client.properties", "prod", "arn:aws:kafka:eu:1:cluster/prod/u-1")
NASTY = "a b'c\"d$e`f;g\\h*?#ü😀-"
BINDINGS = (
    AclBinding("User:worker", Operation.READ, topic("configs")),
    AclBinding("User:worker", Operation.WRITE, topic("configs")),
    AclBinding("User:worker", Operation.READ, group("connect")),
    AclBinding("User:CN=orders,O=Example", Operation.WRITE, transactional_id("connect-orders-", PREFIXED)),
    AclBinding("User:tool", Operation.DESCRIBE, CLUSTER),
)
ODD = st.text(
    st.one_of(st.sampled_from("${%}\\\"' \n\r\t\x85\u2028"), st.characters(exclude_categories=["Cs"])), min_size=1
)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
SEEN = TEXTS.filter(lambda text: UNSEEN.search(text) is None)
"""Names that Python's shlex reads, which has no `$'...'`, and CSV, which has no escapes."""


def emit(form: AclFormat, *bindings: AclBinding) -> str:
    return emit_acls(bindings or BINDINGS, form, AROUND)


@given(SEEN.filter(lambda text: text == text.strip(" ")), SEEN.filter(lambda text: text == text.strip(" ")))
def test_a_shell_reads_every_name_as_it_is(principal, name):
    text = emit(AclFormat.KAFKA_ACLS, AclBinding(f"User:{principal}", Operation.WRITE, transactional_id(name)))
    assert shlex.split(text) == [
        *("kafka-acls.sh", "--bootstrap-server", "broker:9092", "--command-config", "admin client.properties"),
        *("--add", f"--allow-principal=User:{principal}", "--operation=Write", f"--transactional-id={name}"),
    ]


@pytest.mark.parametrize(
    ("principal", "name"), [("User:x", "connect-s "), ("User:x", "\n connect-s"), ("User:x ", "s")]
)
def test_a_name_that_kafkas_tool_would_trim_is_refused(principal, name):
    with pytest.raises(Unsupported, match=r"kafka-acls\.sh drops the blanks around"):
        emit(AclFormat.KAFKA_ACLS, AclBinding(principal, Operation.READ, group(name)))


def test_one_line_holds_all_operations_of_a_principal_on_a_resource():
    lines = emit(AclFormat.KAFKA_ACLS).splitlines()
    assert len(lines) == 4
    assert "--operation=Read --operation=Write --topic=configs" in lines[0]
    assert lines[2].endswith("--transactional-id=connect-orders- --resource-pattern-type=prefixed")
    assert lines[3].endswith("--operation=Describe --cluster")


def test_confluent_takes_dashed_operations_and_a_prefix_flag():
    lines = emit(AclFormat.CONFLUENT, *BINDINGS, AclBinding("User:x", Operation.DESCRIBE_CONFIGS, topic("t")))
    assert "--operations=read,write --topic=configs" in lines
    assert "--transactional-id=connect-orders- --prefix" in lines
    assert "--operations=describe --cluster-scope" in lines
    assert "--operations=describe-configs --topic=t" in lines


def test_strimzi_has_one_user_for_each_principal():
    users = list(yaml.safe_load_all(emit(AclFormat.STRIMZI)))
    assert [user["metadata"]["name"] for user in users] == ["worker", "orders,O=Example", "tool"]
    assert users[0]["metadata"]["labels"] == {"strimzi.io/cluster": "prod"}
    assert users[0]["spec"]["authorization"]["acls"][0] == {
        "resource": {"type": "topic", "name": "configs", "patternType": "literal"},
        "operations": ["Read", "Write"],
        "host": "*",
    }
    assert users[1]["spec"]["authorization"]["acls"][0]["resource"] == {
        "type": "transactionalId",
        "name": "connect-orders-",
        "patternType": "prefix",
    }
    assert users[2]["spec"]["authorization"]["acls"][0]["resource"] == {"type": "cluster"}


@pytest.mark.parametrize(
    ("principal", "is_none"),
    [("User:CN=orders-1.eu", False), ("User:Connect", True), ("User:CN=orders,O=Example", True), ("User:a_b", True)],
)
def test_a_principal_whose_name_kubernetes_does_not_take_is_no_kafka_user(principal, is_none):
    assert no_kafka_user(principal) is is_none


def test_jikkou_has_one_authorization_for_each_principal():
    first, second, _ = yaml.safe_load_all(emit(AclFormat.JIKKOU))
    assert first["metadata"]["name"] == "User:worker"
    assert first["spec"]["acls"][0]["operations"] == ["READ", "WRITE"]
    resource = {"type": "transactional_id", "pattern": "connect-orders-", "patternType": "PREFIXED"}
    assert second["spec"]["acls"][0]["resource"] == resource


@given(ODD)
@example(NASTY)
@example("a\x85b'")
def test_yaml_reads_every_name_as_it_is(name):
    [user] = yaml.safe_load_all(emit(AclFormat.JIKKOU, AclBinding("User:x", Operation.READ, topic(name))))
    assert user["spec"]["acls"][0]["resource"]["pattern"] == name


@given(SEEN)
def test_csv_reads_every_name_as_it_is(name):
    text = emit(AclFormat.CSV, AclBinding("User:x", Operation.READ, topic(name)))
    assert [row["resource_name"] for row in csv.DictReader(io.StringIO(text, newline=""))] == [name]


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\x1b[2J", "a\u202eb"], ids=ascii)
def test_csv_refuses_a_name_that_it_has_no_escape_for(name):
    with pytest.raises(Unsupported, match="CSV has no escape for a character of 'a"):
        emit(AclFormat.CSV, AclBinding("User:x", Operation.READ, topic(name)))


@given(ODD)
@example("$${a}")
@example("%%%{")
def test_terraform_reads_every_name_as_it_is(name):
    text = emit(AclFormat.TERRAFORM, AclBinding("User:x", Operation.WRITE, transactional_id(name)))
    [quoted] = re.findall(r'resource_name +=[ ]"(.*)"\n', text)
    assert unquoted(quoted) == name


def unquoted(text: str) -> str:
    """The value of a quoted template of HCL:
    https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md#template-expressions."""
    found = re.findall(r'\\(?:u([0-9a-f]{4})|U([0-9a-f]{8}))|\\(["\\])|([$%])\4\{|([^"\\\n])', text)
    return "".join(
        chr(int(short or long, 16)) if short or long else escaped or (sign and sign + "{") or char
        for short, long, escaped, sign, char in found
    )


def test_terraform_escapes_what_it_would_interpolate():
    text = emit(AclFormat.TERRAFORM, AclBinding("User:x", Operation.WRITE, transactional_id('a"b${c}%{d}\\')))
    assert 'resource_name                = "a\\"b$${c}%%{d}\\\\"' in text
    assert 'resource_type                = "TransactionalID"' in text


def test_an_iam_policy_names_describing_beside_what_implies_it_in_kafka():
    policies = json.loads(emit(AclFormat.MSK))
    statements = policies["User:CN=orders,O=Example"]["Statement"]
    actions = {action: statement["Resource"] for statement in statements for action in statement["Action"]}
    assert actions == {
        "kafka-cluster:Connect": [AROUND.msk_cluster],
        "kafka-cluster:AlterTransactionalId": ["arn:aws:kafka:eu:1:transactional-id/prod/u-1/connect-orders-*"],
        "kafka-cluster:DescribeTransactionalId": ["arn:aws:kafka:eu:1:transactional-id/prod/u-1/connect-orders-*"],
        "kafka-cluster:WriteDataIdempotently": [AROUND.msk_cluster],
    }


def test_an_iam_policy_takes_a_star_in_a_name_for_itself():
    text = emit(AclFormat.MSK, AclBinding("User:x", Operation.WRITE, transactional_id("a*$-0")))
    assert "transactional-id/prod/u-1/a${*}${$}-0" in text


def test_a_binding_that_iam_cannot_express_is_refused_by_name():
    with pytest.raises(Unsupported, match="DescribeConfigs on Group"):
        emit(AclFormat.MSK, AclBinding("User:x", Operation.DESCRIBE_CONFIGS, group("g")))


def test_csv_has_a_line_for_each_binding():
    rows = list(
        csv.DictReader(io.StringIO(emit(AclFormat.CSV, *BINDINGS, AclBinding("User:x", Operation.READ, topic(NASTY)))))
    )
    assert len(rows) == 6
    assert rows[-1]["resource_name"] == NASTY
    assert rows[3] == {
        "principal": "User:CN=orders,O=Example",
        "permission": "Allow",
        "operation": "Write",
        "resource_type": "TransactionalId",
        "resource_name": "connect-orders-",
        "pattern_type": "prefixed",
        "host": "*",
    }


# A plan for another tool

HERE, THERE = frozenset({"broker:9092", "other:9092"}), frozenset({"elsewhere:9092"})


def planned(binding: AclBinding, cluster: frozenset[str] = HERE, loss: str | None = None) -> PlannedBinding:
    return PlannedBinding(binding, cluster, (Reason(ClientRole.PRODUCER, "c", "why", "source", "symptom", loss),))


def of_plan(*bindings: PlannedBinding, **more) -> AclReport:
    fields = {"group_ids": ("g",), "as_of": 0, "cluster_id": "k", "cluster": HERE, "planned_for": ()}
    difference = AclDifference((), (), more.pop("findings", ()))
    return AclReport(**{**fields, "plan": AclPlan(bindings, ()), "difference": difference, **more})


def emitted(report: AclReport, form=AclFormat.KAFKA_ACLS, servers: str = "") -> tuple[str, list[str]]:
    """The text, and the warnings."""
    warned: list[str] = []
    around = EmitOptions(bootstrap_servers=servers)
    return emit_acl_plan(report, form, around, lambda _: None, warned.append), warned


def test_only_bindings_of_the_present_cluster_are_written_and_the_others_are_counted():
    text, warned = emitted(of_plan(planned(BINDINGS[0]), planned(BINDINGS[2], THERE)))
    assert ("--topic" in text, "--group" in text) == (True, False)
    assert warned == ["1 binding belongs to other clusters: see --cluster"]
    assert emitted(of_plan(planned(BINDINGS[0])))[1] == []
    shared = planned(BINDINGS[2], frozenset({"other:9092", "third:9092"}))
    assert "--group" in emitted(of_plan(shared))[0]


def test_the_addresses_are_the_given_ones_or_the_cluster_s_or_this_machine_s():
    report = of_plan(planned(BINDINGS[0]))
    assert "--bootstrap-server given:1 " in emitted(report, servers="given:1")[0]
    assert "--bootstrap-server broker:9092,other:9092 " in emitted(report)[0]
    nowhere = of_plan(planned(BINDINGS[0], frozenset()), cluster=frozenset())
    assert "--bootstrap-server localhost:9092 " in emitted(nowhere)[0]


@pytest.mark.parametrize(("severity", "warned"), [(Severity.ERROR, ["g-c-: two use it"]), (Severity.INFO, [])])
def test_findings_that_count_are_warned_of_before_the_text_is_used(severity, warned):
    report = of_plan(planned(BINDINGS[0]), findings=(COLLISION.finding("g-c-", "two use it", {}, severity=severity),))
    assert emitted(report)[1] == warned


@pytest.mark.parametrize("form", [AclFormat.STRIMZI, AclFormat.KAFKA_ACLS])
def test_a_principal_that_no_kafka_user_can_have_is_warned_of_for_strimzi_alone(form):
    _, warned = emitted(of_plan(planned(BINDINGS[0]), planned(BINDINGS[3])), form)
    said = [each for each in warned if "is no KafkaUser's principal" in each]
    assert [each.partition(" is no")[0] for each in said] == (
        ["User:CN=orders,O=Example"] if form is AclFormat.STRIMZI else []
    )


def test_a_binding_that_a_format_cannot_say_is_left_out_with_its_reason_and_what_is_lost():
    odd = AclBinding("User:x", Operation.READ, group("g "))
    report = of_plan(planned(BINDINGS[0]), planned(odd, loss="no lag is shown"))
    left = leaving_out(report, AclFormat.KAFKA_ACLS)
    assert [each.planned.binding for each in left.left_out] == [odd]
    text, warned = emitted(left)
    assert "--group" not in text
    assert warned[0].startswith("omitted, ")
    assert warned[0].endswith(f"{odd} (no lag is shown)")
    required = of_plan(planned(odd), left_out=(LeftOut(planned(odd), "why", None),))
    assert emitted(required)[1] == [f"omitted, why: {odd}"]
    assert leaving_out(report, None) == report
    assert leaving_out(report, AclFormat.STRIMZI) == report


def test_given_kafka_users_with_the_plan_s_acls_are_the_text():
    assert emitted(of_plan(planned(BINDINGS[0]), merged="kind: KafkaUser\n"))[0] == "kind: KafkaUser\n"


def test_a_script_has_the_client_properties_that_were_given_as_its_default():
    assert "\nconfig=${1:-'admin client.properties'}\n" in emit(AclFormat.SHELL)
    assert "\nconfig=${1:-}\n" in emit_acls(BINDINGS, AclFormat.SHELL, EmitOptions())


GONE = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
UNREAD = Skipped("Describe is missing")
ALL = len(PLAN.bindings)
OPTIONAL = sum(each.is_optional for each in PLAN.bindings)


def half_known() -> AclDifference:
    unknown, present = compare(UNREAD).compared[0], compare(NEEDED).compared[0]
    return AclDifference((unknown, present), (), ())


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (
            compare(UNREAD),
            f"{ALL} bindings are needed; whether the cluster has them was not read (Describe is missing).",
        ),
        (compare(NEEDED), f"{ALL} bindings are planned: {ALL} present, 0 missing."),
        (
            compare(frozenset()),
            f"{ALL} bindings are planned: 0 present, {ALL - OPTIONAL} missing, {OPTIONAL} optional ones missing.",
        ),
        (compare(NEEDED | {GONE}), f"{ALL} bindings are planned: {ALL} present, 0 missing, 1 extra."),
        (half_known(), "2 bindings are planned: 1 present, 0 missing, 1 unknown."),
        (AclDifference((), (), ()), "0 bindings are planned: 0 present, 0 missing."),
    ],
)
def test_a_difference_is_counted_by_what_is_present_missing_and_unknown(difference: AclDifference, words: str) -> None:
    assert acls._verdict(difference) == words


def test_reasons_beyond_the_third_are_counted() -> None:
    assert acls._sentences(["a", "b", "a", "c"]) == "a; b; c"
    assert acls._sentences(["a", "b", "c", "d", "e"]) == "a; b; c; and 2 more reasons"


@pytest.mark.parametrize("form", AclFormat)
def test_the_first_lines_say_what_the_text_is_about_where_the_format_has_no_other_place(form: AclFormat) -> None:
    around = EmitOptions(about="of connector orders")
    assert emit_acls(BINDINGS, form, around).startswith("# of connector orders") is (
        form not in {AclFormat.SHELL, AclFormat.MSK}
    )
