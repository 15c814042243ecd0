"""Files: modes, sizes, CSV formulas, what cannot be seen in them."""

import csv
import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

import eosctl
from eosctl.analysis.catalogue.audit import OFFSET_SET_BACK
from eosctl.cli import root_command
from eosctl.clients.kerberos import keytab_of
from eosctl.codecs.plan import JournalEvent
from eosctl.codecs.yaml_text import Address, append_document, append_items, decode_kubernetes_yaml, set_value
from eosctl.errors import ConfigError
from eosctl.executors.apply import Journal, write_plan_file
from eosctl.executors.files import cache_names, set_current, write_snapshot_file
from eosctl.files import IDS, PROFILES, PROVIDED, RECORDS, FileKind, open_lines, read_content
from eosctl.ledger.sqlite import SqliteStore
from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.names import CachedNames
from eosctl.model.plan import Plan
from eosctl.model.report import Finding, Severity, gate_of
from eosctl.model.text import UNSEEN
from eosctl.operations import completion
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acls
from eosctl.render.cells import Page, cell
from eosctl.render.console import write_output_file
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output, pieces_of, yaml_text
from eosctl.render.gates import junit, sarif
from eosctl.render.watch_files import kubernetes_objects
from eosctl.shell.completion import complete
from tests.attack.test_terminal import HOSTILE
from tests.render.audit_reports import rich_report

DRIVER = """
import sys, time
from eosctl.codecs.client_properties import client_properties
from eosctl.spark.executor_access import executor_access

given = client_properties(bootstrap_server="b:9092", extra=["ssl.key.password=canary"])
with executor_access(given, 1, master="local[2]") as access:
    print(access.file, "canary" in open(access.file).read(), flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_only_its_owner_may_read_a_file_under_every_umask(umask: int, tmp_path: Path):
    home = tmp_path / "state" / "eosctl"
    tmp_path.chmod(0o755)
    write_plan_file(home / "plans" / "a.plan", Plan("undo", 1, ()))
    with Journal(home / "plans" / "a.plan.journal", "d") as journal:
        journal.write(1, JournalEvent.BEGUN)
    write_snapshot_file(home / "plans" / "a.snapshot", ["{}"])
    write_output_file(home / "plans" / "page.html", ["report"])
    cache_names(home / "cache" / "names.json", CachedNames((), 1, 1))
    set_current(home / "config" / "profiles.yaml", "a")
    SqliteStore(home / "plans" / "ledger.db").connect(create=True).__exit__()
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert len(found) >= 11
    assert {path for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()


def test_directories_that_are_there_keep_their_permissions(tmp_path: Path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    write_plan_file(tmp_path / "shared" / "mine" / "a.plan", Plan("undo", 1, ()))
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "shared" / "mine").stat().st_mode) == 0o700


def test_a_driver_of_spark_that_is_killed_leaves_no_secret_behind(tmp_path: Path):
    pytest.importorskip("pyspark")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", DRIVER], env=environment, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        file, there = driver.stdout.readline().split()
        assert there == "True"
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        driver.send_signal(signal.SIGKILL)
    assert not Path(file).exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


WORKER = "bootstrap.servers=127.0.0.1:1\ngroup.id=g\n" + "".join(
    f"{each}.storage.topic=x\n" for each in ("config", "offset", "status")
)
PACKAGE = Path(eosctl.__file__).parent
NOBODY = ("-b", "127.0.0.1:1", "--timeout", "1")
PROVIDERS = "org.apache.kafka.common.config.provider."
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def _with(protocol, *properties):
    """A question to brokers, with these properties of the client."""
    given = (f"security.protocol={protocol}", *properties)
    return ["transactions", "list", *NOBODY, *[word for each in given for word in ("-X", each)]]


@pytest.fixture(scope="module")
def comment(tmp_path_factory):
    file = tmp_path_factory.mktemp("huge") / "huge"
    file.write_bytes(b"#" + b"x" * 50_000_000)
    return file


@pytest.fixture
def place(comment, tmp_path, monkeypatch):
    """`place(name)`: the file of 50 MB under this name."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def linked(name):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.hardlink_to(comment)
        path.chmod(0o600)
        return path

    (tmp_path / "worker.properties").write_text(WORKER)
    return linked


READ = [
    ("eosctl/config.yaml", ["profile", "list"], "1 MiB"),
    (".eosctl.yaml", ["profile", "trust"], "1 MiB"),
    ("client.properties", ["transactions", "list", *NOBODY, "--command-config", "FILE"], "4 MiB"),
    ("worker.properties.huge", ["acl-plan", "--worker-config", "FILE"], "4 MiB"),
    ("connect.yaml", ["acl-plan", "--worker-config", "FILE"], "4 MiB"),
    ("connector.yaml", ["acl-plan", "--worker-config", "worker.properties", "--connector-config", "FILE"], "4 MiB"),
    (
        "users.yaml",
        ["acl-plan", "--worker-config", "worker.properties", "--emit", "strimzi", "--merge-with", "FILE"],
        "4 MiB",
    ),
    ("ids", ["fence", "--ids-file", "FILE", *NOBODY, "--dry-run"], "64 KiB"),
    ("a.plan", ["apply", "FILE", "--yes", *NOBODY], None),
    ("a.snapshot", ["doctor", "--snapshot", "FILE"], None),
    ("records", ["inspect-config", "--records", "FILE"], None),
    ("offsets.json", ["offsets", "diff", "FILE", "FILE"], None),
    ("trust.p12", _with("SSL", "ssl.truststore.location=FILE"), "4 MiB"),
    ("trust.pem", _with("SSL", "ssl.truststore.type=PEM", "ssl.truststore.location=FILE"), "4 MiB"),
    ("keys.jks", _with("SSL", "ssl.keystore.location=FILE"), "4 MiB"),
    (
        "token",
        _with(
            *("SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=file://FILE"),
            f"sasl.jaas.config={BEARER} required;",
        ),
        "1 MiB",
    ),
]


@pytest.mark.parametrize(("name", "words", "limit"), READ)
def test_fifty_megabytes_of_one_comment_are_refused_in_seconds(eosctl, place, name, words, limit):
    path, begun = place(name), monotonic()
    ran = eosctl(*[word.replace("FILE", str(path)) for word in words])
    assert monotonic() - begun < 10
    assert ran.exit_code in {2, 7}, ran.stderr
    assert str(path) in ran.stderr
    if limit is not None:
        assert f"has more than {limit}" in ran.stderr


def test_a_file_of_profiles_below_its_limit_is_read(eosctl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "eosctl" / "config.yaml"
    file.parent.mkdir()
    text = "profiles:\n  known: {bootstrap-server: 'a:1'}\n#"
    file.write_text(text + "x" * (PROFILES.most_bytes - len(text)))
    ran = eosctl("profile", "list")
    assert (ran.exit_code, "known" in ran.stdout) == (0, True)
    with file.open("a") as more:
        more.write("x")
    assert eosctl("profile", "list").exit_code == 2


MORE_READ = [
    ("undo", ["undo", "FILE", *NOBODY]),
    ("a.snapshot", ["snapshot", "show", "FILE"]),
    ("audit.json", ["verify", "FILE"]),
    ("export.json", ["offsets", "restore", "FILE", "--connector", "a", *NOBODY, "--group-id", "g", "--dry-run"]),
    ("renamed.json", ["offsets", "diff", "a", "b", "--rename-map", "FILE"]),
    ("listed", ["transactions", "leftovers", "--prefix", "a", "--commit-listed", "FILE", *NOBODY]),
    ("chk-42", ["transactions", "leftovers", "--prefix", "a", "--flink-checkpoint", "FILE", *NOBODY]),
    ("a-0/00000000000000000000.log", ["transactions", "log", "--segment", "FILE"]),
    ("key.pem", _with("SSL", "ssl.keystore.type=PEM", "ssl.keystore.location=FILE")),
    (
        "secrets",
        _with(
            *("PLAINTEXT", "config.providers=f", "client.id=${f:FILE:a}"),
            "config.providers.f.class=org.apache.kafka.common.config.provider.FileConfigProvider",
        ),
    ),
    (
        "comparison.db",
        [
            *("audit", "source", "--source-dsn", "postgresql://u@127.0.0.1:1/d", "--table", "s.t=t"),
            "--state",
            "FILE",
            *NOBODY,
        ],
    ),
    ("ledger.db", ["audit", "history", "--store", "sqlite:///FILE"]),
]
ELSEWHERE = {
    *("--config", "--expected", "--prepare"),  # of a connector that `certify` starts in a sandbox
    *("--to-command-config", "--source-command-config", "--mapping"),  # after a cluster answered
    *("--sign-key", "--signer-key"),  # of evidence
    *("--executor-properties", "--source-executor-properties"),  # read by executors of Spark
}
WRITTEN = {
    "--emit",
    "--evidence",
    "--junit",
    "--output-file",
    "--plan-file",
    "--prometheus",
    "--report",
    "--sarif",
    "--plugin",
}


@pytest.fixture(params=["pipe", "socket", "directory", "device"])
def no_file(request, tmp_path, monkeypatch):
    """`no_file(name)`: it is there under this name, and no regular file. Waiting for it is ended after 20 s."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "worker.properties").write_text(WORKER)
    handled = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits for somebody who writes"))
    signal.alarm(20)

    def made(name):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        match request.param:
            case "pipe":
                os.mkfifo(path, 0o600)
            case "socket":
                with socket.socket(socket.AF_UNIX) as bound:
                    bound.bind(name)
            case "directory":
                path.mkdir()
            case _:
                path.symlink_to("/dev/zero")
        return path

    yield made
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handled)


@pytest.mark.parametrize(("name", "words"), [*((name, words) for name, words, _ in READ), *MORE_READ])
def test_a_file_that_is_not_regular_is_refused_without_waiting(eosctl, no_file, name, words):
    path = no_file(name)
    if path.is_dir() and "diff" in words:  # of exports, which it compares
        return
    ran = eosctl(*[word.replace("FILE", str(path)) for word in words])
    assert ran.exit_code in {2, 8}, ran.stderr
    assert str(path) in ran.stderr or name == ".eosctl.yaml"


def test_each_option_that_takes_a_file_is_tried():
    def parameters(command):
        yield from command.params
        for name in command.list_commands(None) if hasattr(command, "commands") else ():
            yield from parameters(command.get_command(None, name))

    options = {each.opts[0] for each in parameters(root_command()) if "FILE" in (each.metavar or "")}
    tried = {word for _, words in [*(each[:2] for each in READ), *MORE_READ] for word in words}
    assert {each for each in options if each.startswith("--")} - tried - WRITTEN == ELSEWHERE


def test_files_of_others_are_opened_in_one_place():
    """The rest opens files that eosctl itself wrote, or that come with it."""
    opens = re.compile(r"""\.read_text\((?!\w+, )|\.read_bytes\(|\.open\("rb"\)""")
    found = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if opens.search(path.read_text("utf-8"))
    }
    assert {each for each in found if not each.startswith("sandbox/")} == {
        "engines/local.py",
        "executors/apply.py",
        "executors/audit_export.py",
        "executors/files.py",
        "operations/certified_site.py",
        "render/audit_page/__init__.py",
        "render/watch_files.py",
        "sources/profiles.py",
        "spark/session.py",
    }


def test_a_pipe_of_the_shell_is_read(tmp_path):
    file = tmp_path / "ids"
    file.write_text("a\nb\n")
    imports = "import sys; from pathlib import Path; from eosctl.files import read_ids"
    command = f"{imports}; print(read_ids(Path(sys.argv[1])))"
    shell = f"{sys.executable} -c '{command}'"
    for words in (f"{shell} <(sleep 0.3; cat {file})", f"cat {file} | {shell} /dev/stdin", f"{shell} - < {file}"):
        ran = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=True)
        assert ran.stdout == "('a', 'b')\n"


def test_a_keytab_that_is_a_pipe_is_refused_before_the_library_opens_it(tmp_path):
    os.mkfifo(tmp_path / "keytab")
    jaas = f'a.Krb5LoginModule required useKeyTab=true principal="a" keyTab="{tmp_path / "keytab"}";'
    properties = ClientProperties((), properties={"sasl.jaas.config": Property(jaas, "-X")})
    with pytest.raises(ConfigError, match="it is a pipe, and no regular file"):
        keytab_of(properties)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("client.id=${file:/a\\u0000b:c}",), "cannot read the provider's file"),
        (("client.id=${dir:/a:b\\u0000c}",), "cannot read the provider's file"),
        (("security.protocol=SSL", "ssl.truststore.location=/a\\u0000b"), "its name has a NUL character"),
        (
            (
                *("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER"),
                *("sasl.oauthbearer.token.endpoint.url=file:///a\\u0000b", f"sasl.jaas.config={BEARER} required;"),
            ),
            "cannot read the token of",
        ),
        *(
            (
                ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.jaas.config=a.B required {login};"),
                "has a NUL character",
            )
            for login in ('username="a\\\\000b" password="c"', 'username="a" password="b\\u0000canary"')
        ),
    ],
    ids=["file", "directory", "truststore", "token", "user", "password"],
)
def test_a_nul_character_in_a_path_or_a_login_is_refused(eosctl, tmp_path, given, said):
    """C ends a text there: in properties it is \\u0000, in JAAS \\000 as well."""
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{line}\n" for line in given))
    ran = eosctl("transactions", "list", *NOBODY, "--command-config", str(file))
    assert (ran.exit_code, said in ran.stderr, "NUL character" in ran.stderr) == (2, True, True), ran.stderr
    assert "canary" not in ran.stderr
    assert "\0" not in ran.stderr


def test_a_keytab_with_a_nul_character_is_refused():
    jaas = 'a.Krb5LoginModule required useKeyTab=true principal="a" keyTab="/a\\000b";'
    properties = ClientProperties((), properties={"sasl.jaas.config": Property(jaas, "-X")})
    with pytest.raises(ConfigError, match="its name has a NUL character"):
        keytab_of(properties)


def test_another_file_names_no_pipe_of_the_shell():
    reading, writing = os.pipe()
    try:
        with pytest.raises(ConfigError, match="it is a pipe, and no regular file"):
            read_content(Path(f"/dev/fd/{reading}"), PROVIDED)
    finally:
        os.close(reading)
        os.close(writing)


def test_no_reference_of_another_user_s_worker_file_is_resolved_and_no_token_is_fetched(eosctl, tmp_path):
    secrets, worker = tmp_path / "secrets", tmp_path / "worker.properties"
    secrets.write_text("a=canary\n")
    with socket.create_server(("127.0.0.1", 0)) as endpoint:
        given = (
            "config.providers=f,e,d",
            f"config.providers.f.class={PROVIDERS}FileConfigProvider",
            f"config.providers.e.class={PROVIDERS}EnvVarConfigProvider",
            f"config.providers.d.class={PROVIDERS}DirectoryConfigProvider",
            "security.protocol=SASL_PLAINTEXT",
            "sasl.mechanism=OAUTHBEARER",
            f"sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:{endpoint.getsockname()[1]}/",
            f'sasl.jaas.config={BEARER} required clientId="a" clientSecret="${{f:{secrets}:a}}";',
            *(f"{key}=${{f:{secrets}:a}}" for key in ("client.id", "rest.advertised.host.name", "producer.client.id")),
            "consumer.client.id=${e:HOME}",
            f"admin.client.id=${{d:{tmp_path}:secrets}}",
        )
        worker.write_text(WORKER + "".join(f"{line}\n" for line in given))
        ran = eosctl("acl-plan", "--worker-config", str(worker), "--phase", "enabled", "--principal", "worker=User:w")
        endpoint.setblocking(False)
        with pytest.raises(BlockingIOError):
            endpoint.accept()
    assert ran.exit_code in {0, 1, 2, 3}, ran.stderr
    assert "canary" not in ran.stdout + ran.stderr


def test_a_hole_of_a_terabyte_and_a_device_that_never_ends_are_refused_by_name(tmp_path):
    hole = tmp_path / "hole"
    with hole.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ConfigError, match=f"cannot read --f {hole}: it has more than 4 MiB"):
        read_content(hole, FileKind("--f"))
    for kind in (RECORDS, IDS):
        with open_lines(hole, kind) as lines, pytest.raises(ConfigError, match=f"{hole}: line 1 has more"):
            next(lines)
    with pytest.raises(ConfigError, match="cannot read --f /dev/zero: it is a device, and no regular file"):
        read_content(Path("/dev/zero"), FileKind("--f"))
    assert read_content(Path(os.devnull), FileKind("--f")) == b""


def test_lines_up_to_the_limit_are_read_with_their_ends(tmp_path):
    file = tmp_path / "lines"
    file.write_bytes(b"abc\n\nabcd")
    with open_lines(file, FileKind("--f", 4)) as lines:
        assert list(lines) == [b"abc\n", b"\n", b"abcd"]
    with (
        open_lines(file, FileKind("--f", 3)) as lines,
        pytest.raises(ConfigError, match="line 1 has more than 3 bytes"),
    ):
        list(lines)


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "'=1", "'", "''a", "\uff1d1", "=cmd|' /C calc'!A0")
BEGINNINGS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
CELLS = st.sampled_from(FORMULAS) | st.text(st.sampled_from("=+-@'\t\r\n a,\"") | st.characters(codec="utf-8"))


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def value_of(content):
    """The rule of docs/scripting.md: one apostrophe is removed."""
    return content.removeprefix("'")


@given(CELLS)
@example("=1+1")
@example("'=1")
def test_no_cell_of_an_answer_is_a_formula_and_each_reads_back(name):
    table = Table("rows", (Column("NAME", "name"), Column("COUNT", "count"), Column("NONE", "none")))
    document = Document("x", {"rows": [{"name": name, "count": -1, "none": None}]}, blocks=(table,))
    [_, [found, count, none]] = rows("".join(pieces_of(document, Output.CSV, Page(80, False), text_cells=True)))
    assert not found.lstrip(" ").startswith(BEGINNINGS)
    assert value_of(found) == cell(name)
    assert (count, none) == ("-1", "")


@pytest.mark.parametrize("name", [name for name in FORMULAS if name.isprintable()])
def test_no_cell_of_emitted_acls_is_a_formula_and_each_reads_back(name):
    binding = AclBinding(f"={name}", Operation.READ, topic(name))
    text = emit_acls((binding,), AclFormat.CSV, EmitOptions(text_cells=True))
    [found] = rows(text)[1:]
    assert [value_of(each) for each in found] == [f"={name}", "Allow", "Read", "Topic", name, "literal", "*"]
    assert not any(each.lstrip(" ").startswith(BEGINNINGS) for each in found)


HERE = Address(0)
PARTS = ("a", "ö", "{", "](", ", x: 1", "# x", "<", "&", "\n", "\x85", "'", "\\")
NAMES = st.lists(st.sampled_from((*HOSTILE, *PARTS))).map("".join)
WRITABLE = NAMES.map(lambda name: name.encode("utf-8", "ignore").decode())
BLOCK = "kind: K\nmetadata:\n  name: o\nspec:\n  config: {}\n  list:\n  - a\n"
FLOW = "kind: K\nmetadata: {name: o}\nspec: {config: {a: b}, list: [a]}\n"
JSON = '{"kind": "K", "metadata": {"name": "o"}, "spec": {"config": {"a": "b"}, "list": ["a"]}}'


def unseen(text, but=""):
    return [ascii(char) for char in UNSEEN.findall(text) if char not in "\n" + but]


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
@given(name=WRITABLE)
def test_an_edited_resource_shows_every_character_and_reads_back(text, name):
    edited = set_value(text, HERE, ("metadata", "name"), f"x{name}")
    edited = set_value(edited, HERE, ("spec", "config", f"k{name}"), f"v{name}")
    edited = append_items(edited, HERE, ("spec", "list"), [{f"i{name}": f"w{name}"}])
    edited = append_document(edited, {f"d{name}": [name]})
    assert unseen(edited) == []
    first, second = decode_kubernetes_yaml(edited, "f")
    assert first["metadata"]["name"] == f"x{name}"
    assert first["spec"]["config"][f"k{name}"] == f"v{name}"
    assert first["spec"]["list"] == ["a", {f"i{name}": f"w{name}"}]
    assert second == {f"d{name}": [name]}


@given(name=WRITABLE)
def test_an_edited_resource_in_json_stays_json(name):
    edited = set_value(JSON, HERE, ("metadata", "name"), f"x{name}")
    edited = append_items(edited, HERE, ("spec", "list"), [f"w{name}"])
    assert unseen(edited, but="\U000e0041") == []
    for read in (json.loads(edited), decode_kubernetes_yaml(edited, "f")[0]):
        assert (read["metadata"]["name"], read["spec"]["list"]) == (f"x{name}", ["a", f"w{name}"])


@given(name=NAMES)
def test_findings_with_hostile_names_are_safe_in_files_for_pipelines(name):
    finding = Finding(OFFSET_SET_BACK, Severity.ERROR, f"s{name}", f"m{name}", f"c{name}")
    report = replace(rich_report(), findings=(finding, finding), kinds=(OFFSET_SET_BACK,))
    gate = gate_of("audit", report)
    found = json.loads(sarif(gate))["runs"][0]["results"]
    assert [unseen(sarif(gate)), unseen(junit(gate))] == [[], []]
    assert len(found) == 2
    assert len({each["partialFingerprints"]["primaryLocationLineHash"] for each in found}) == 2
    assert len(ElementTree.fromstring(junit(gate)).findall(".//failure")) == 1


@given(name=NAMES)
def test_objects_of_kubernetes_for_watch_show_every_character(name):
    file = SimpleNamespace(profiles=(f"p{name}",), program="eosctl", address="a:1", every_s=1, version="1")
    text = yaml_text(kubernetes_objects(file, {"groups": []}), explicit_start=True)
    assert unseen(text) == []
    *_, nightly = yaml.safe_load_all(text)
    container = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["eosctl", "audit", "--profile", f"p{name}"]


@pytest.mark.parametrize("char", HOSTILE, ids=ascii)
def test_a_tab_offers_no_name_with_a_character_that_is_not_seen(char, monkeypatch):
    monkeypatch.setattr(completion, "profile_names", lambda: ("seen", f"a{char}b"))
    offers = complete(root_command(), "eosctl profile use ")
    assert offers == ["seen"]
