"""Profiles and contexts on the command line."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from eosctl.operations.session import Session
from eosctl.shell.options import GlobalOptions

FILE = """# my clusters
profiles:
  staging:
    bootstrap-server: staging:9092
    command-config: staging.properties
    connect-url: http://worker:8083
    group-id: connect-staging
    timeout: 7
    properties: {client.rack: profile, ssl.key.password: "env:EOSCTL_TEST_CANARY"}
  prod: {bootstrap-server: "prod:9092", protected: true, cluster-id: abc}
"""


@pytest.fixture
def home(eosctl, tmp_path, monkeypatch):
    """The directory of the user's file, with two profiles in it."""
    home = Path(os.environ["XDG_CONFIG_HOME"], "eosctl")
    home.mkdir()
    (home / "config.yaml").write_text(FILE)
    (home / "staging.properties").write_text("client.rack=file\nclient.id=file\nssl.keystore.password=geheim\n")
    monkeypatch.setenv("EOSCTL_TEST_CANARY", "geheim")
    monkeypatch.chdir(tmp_path)
    return home


def data(ran):
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]


def explained(eosctl, *args):
    ran = eosctl("profile", "explain", "-o", "json", *args)
    return {each["setting"]: (each["value"], each["source"]) for each in data(ran)["settings"]}


@pytest.mark.usefixtures("home")
def test_profiles_are_listed_and_shown_without_values(eosctl):
    listed = data(eosctl("profile", "list", "-o", "json"))
    assert [(each["name"], each["protected"]) for each in listed["profiles"]] == [("prod", True), ("staging", False)]
    ran = eosctl("profile", "show", "staging", "-o", "json")
    assert data(ran)["properties"] == ["client.rack", "ssl.key.password"]
    assert "geheim" not in ran.stdout


def test_use_changes_one_line_of_the_file(eosctl, home):
    for name in ("prod", "staging"):
        assert eosctl("profile", "use", name).exit_code == 0
        assert (home / "config.yaml").read_text() == f"current: '{name}'\n{FILE}"
    assert data(eosctl("profile", "list", "-o", "json"))["current"] == "staging"
    assert (home / "config.yaml").stat().st_mode & 0o077 == 0


def test_each_value_names_its_origin(eosctl, home):
    label = f"profile staging ({home}/config.yaml)"
    settings = explained(eosctl, "--profile", "staging")
    assert settings["profile"] == ("staging", "--profile")
    assert settings["bootstrap.servers"] == ("staging:9092", label)
    assert settings["group-id"] == ("connect-staging", label)
    assert settings["connect-url"] == ("http://worker:8083", label)
    assert settings["timeout"] == ("7 s", label)
    assert settings["client.rack"] == ("profile", label)
    assert settings["client.id"] == ("file", f"{home}/staging.properties")
    assert settings["ssl.key.password"] == ("[hidden]", label)
    assert settings["ssl.keystore.password"][0] == "[hidden]"


def test_the_order_is_option_then_x_then_environment_then_profile(eosctl, home, monkeypatch):
    monkeypatch.setenv("EOSCTL_GROUP_ID", "env")
    monkeypatch.setenv("EOSCTL_BOOTSTRAP_SERVER", "env:1")
    monkeypatch.setenv("EOSCTL_PROFILE", "staging")
    settings = explained(eosctl, "--timeout", "3", "-X", "client.rack=typed")
    assert settings["profile"] == ("staging", "EOSCTL_PROFILE")
    assert settings["group-id"] == ("env", "EOSCTL_GROUP_ID")
    assert settings["bootstrap.servers"] == ("env:1", "EOSCTL_BOOTSTRAP_SERVER")
    assert settings["timeout"] == ("3 s", "--timeout")
    assert settings["client.rack"] == ("typed", "-X")
    assert explained(eosctl, "-b", "typed:1")["bootstrap.servers"] == ("typed:1", "--bootstrap-server")


@pytest.mark.usefixtures("home")
def test_a_file_on_the_command_line_wins_over_the_profile_s(eosctl, tmp_path):
    (tmp_path / "own.properties").write_text("client.rack=own\n")
    settings = explained(eosctl, "--profile", "staging", "--command-config", tmp_path / "own.properties")
    assert settings["client.rack"] == ("own", f"{tmp_path}/own.properties")
    assert "client.id" not in settings
    assert settings["bootstrap.servers"][0] == "staging:9092"


@pytest.mark.usefixtures("home")
def test_a_name_that_is_no_profile_is_reported_with_the_nearest(eosctl):
    ran = eosctl("profile", "explain", "--profile", "stagin")
    assert ran.exit_code == 2
    assert "there is no profile stagin" in ran.stderr
    assert "did you mean staging?" in ran.stderr


@pytest.mark.usefixtures("home")
def test_an_empty_name_is_no_profile(eosctl):
    assert eosctl("profile", "use", "staging").exit_code == 0
    assert explained(eosctl, "--profile", "")["profile"][0] is None


@pytest.mark.usefixtures("home")
def test_yes_alone_does_not_do_on_a_protected_profile(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_PROFILE", "prod")
    args = ["fence", "--transactional-id", "x", "--yes", "--timeout", "0.1"]
    ran = eosctl(*args)
    assert ran.exit_code == 8
    assert "profile prod is protected: --yes needs --profile" in ran.stderr
    named = eosctl(*args, "--profile", "prod", "-b", "127.0.0.1:1")
    assert named.exit_code == 4


def test_a_secret_in_the_file_is_refused_and_not_shown(eosctl, home):
    (home / "config.yaml").write_text("profiles: {a: {properties: {ssl.key.password: geheim}}}")
    ran = eosctl("profile", "list")
    assert ran.exit_code == 2
    assert "ssl.key.password is a secret" in ran.stderr
    assert "geheim" not in ran.stderr


def test_a_profile_s_worker_files_and_store_are_explained(eosctl, home):
    (home / "w1.properties").write_text("group.id=from-file\n")
    files = "{worker-config: [w1.properties, w2.properties], audit-store: 'sqlite:///audit.db'}"
    (home / "config.yaml").write_text(f"profiles: {{several: {files}}}")
    settings = explained(eosctl, "--profile", "several")
    label = f"profile several ({home}/config.yaml)"
    assert settings["worker-config"] == (f"{home}/w1.properties {home}/w2.properties", label)
    assert settings["group-id"] == ("from-file", f"{home}/w1.properties")
    assert settings["audit-store"] == ("sqlite:///audit.db", label)


def test_a_password_in_the_store_is_refused_and_not_shown(eosctl, home):
    (home / "config.yaml").write_text("profiles: {a: {audit-store: 'postgresql://audit:geheim@db/ledger'}}")
    ran = eosctl("profile", "list")
    assert ran.exit_code == 2
    assert "audit-store holds a password" in ran.stderr
    assert "geheim" not in ran.stderr
    for store in ("postgresql://audit:${env:X}@db/ledger", "postgresql://audit@db:5432/ledger", "sqlite:///a.db"):
        (home / "config.yaml").write_text(f"profiles: {{a: {{audit-store: '{store}'}}}}")
        assert eosctl("profile", "list").exit_code == 0


def test_add_writes_a_profile_and_changes_no_other_line(eosctl, home):
    (home / "config.yaml").write_text(FILE.replace("profiles:", "profiles:   # mine"))
    added = eosctl("profile", "add", "lab", "-b", "lab:9092", "--connect-url", "http://w1:8083", "--group-id", "g")
    assert added.exit_code == 0, added.stderr
    text = (home / "config.yaml").read_text()
    assert text == FILE.replace("profiles:", "profiles:   # mine") + (
        "  lab:\n    bootstrap-server: lab:9092\n    connect-url:\n    - http://w1:8083\n    group-id: g\n"
    )
    assert (home / "config.yaml").stat().st_mode & 0o077 == 0
    settings = explained(eosctl, "--profile", "lab")
    assert settings["bootstrap.servers"][0] == "lab:9092"
    assert settings["connect-url"][0] == "http://w1:8083"


def test_add_replaces_no_profile_unless_it_is_reported_and_keeps_what_is_not_named(eosctl, home):
    again = eosctl("profile", "add", "prod", "-b", "other:9092")
    assert again.exit_code == 2
    assert "profile prod exists" in again.stderr
    assert (home / "config.yaml").read_text() == FILE
    assert eosctl("profile", "add", "prod", "-b", "other:9092", "--update").exit_code == 0
    shown = data(eosctl("profile", "show", "prod", "-o", "json"))
    assert (shown["bootstrap_server"], shown["protected"], shown["cluster_id"]) == ("other:9092", True, "abc")
    assert eosctl("profile", "add", "staging", "--connect-url", "http://w:1", "--update").exit_code == 0
    shown = data(eosctl("profile", "show", "staging", "-o", "json"))
    assert (shown["connect_urls"], shown["timeout_s"]) == (["http://w:1"], 7)


def test_the_first_profile_is_added_by_the_command_that_the_empty_list_names(eosctl, tmp_path, monkeypatch):
    file = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    listed = eosctl("profile", "list")
    assert "eosctl profile add NAME -b HOST:PORT" in listed.stderr
    assert str(file) in listed.stderr
    (tmp_path / "client.properties").write_text("client.rack=file\n")
    monkeypatch.chdir(tmp_path)
    assert eosctl("profile", "add", "lab", "-b", "lab:9092", "--command-config", "client.properties").exit_code == 0
    assert data(eosctl("profile", "show", "lab", "-o", "json"))["command_config"] == f"{tmp_path}/client.properties"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-b", "lab:9092", "--connect-url", "http://me:geheim@worker:8083"], "connect-url holds a user and password"),
        (["-b", "lab:9092", "--command-config", "nonesuch.properties"], "nonesuch.properties is no file"),
        (["--group-id", "g"], "a profile needs brokers to start from"),
    ],
)
def test_add_writes_nothing_where_what_is_given_makes_no_profile(eosctl, home, args, said):
    ran = eosctl("profile", "add", "lab", *args)
    assert ran.exit_code == 2
    assert said in ran.stderr
    assert "geheim" not in ran.stderr
    assert (home / "config.yaml").read_text() == FILE


def test_add_writes_to_the_file_that_a_link_means(eosctl, home, tmp_path):
    (home / "config.yaml").rename(tmp_path / "kept.yaml")
    (home / "config.yaml").symlink_to(tmp_path / "kept.yaml")
    assert eosctl("profile", "add", "lab", "-b", "lab:9092").exit_code == 0
    assert (home / "config.yaml").is_symlink()
    assert (tmp_path / "kept.yaml").read_text() == f"{FILE}  lab:\n    bootstrap-server: lab:9092\n"


@pytest.fixture
def said():
    return []


@pytest.fixture
def session(said, tmp_path):
    def make(text="", **options):
        path = tmp_path / "client.properties"
        path.write_bytes(text.encode("latin-1"))
        console = SimpleNamespace(warn=said.append, waiting=said.append)
        return Session(GlobalOptions(console, command_config=path, **options))

    return make


def test_unknown_keys_are_warned_of_once_and_by_name(session, said):
    made = session("linger.ms=5\nfoo.bar=1\nssl.provider=X\n" + "".join(f"key{n}=geheim\n" for n in range(9)))
    assert made.client_properties is made.client_properties
    file = made.options.command_config
    assert said == [
        f"{file}: no Kafka client knows foo.bar, key0, key1, key2, key3 and 5 more; not used",
        f"{file}: ssl.provider can only be followed in Java; not used",
    ]


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("ssl.enabled.protocols=TLSv1.3", None),
        ("ssl.enabled.protocols=TLSv1.2,TLSv1.3,TLSv1.1", None),
        ("ssl.enabled.protocols=SSLv9", None),
        ("ssl.protocol=TLSv1.2", "librdkafka, which writes offsets and topics, offers TLSv1.3 too"),
        ("ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "with TLSv1.3 every suite is offered"),
    ],
)
def test_tls_that_is_offered_although_it_is_excluded_is_warned_of(session, said, line, warning):
    for protocol in ("SSL", "SASL_PLAINTEXT\nsasl.mechanism=GSSAPI"):
        made = session(f"security.protocol={protocol}\n{line}")
        assert made.client_properties.get(line.partition("=")[0]) is not None
    assert len(said) == (0 if warning is None else 1)
    assert warning is None or (warning in said[0] and said[0].startswith(f"{made.options.command_config}: "))


def test_values_of_config_providers_are_resolved_and_trimmed(session, tmp_path, said):
    (tmp_path / "password").write_text("geheim\n")
    made = session(f"ssl.key.password=${{dir:{tmp_path}:password}}", properties={"client.id": "${env:PATH}x"})
    assert made.client_properties.get("ssl.key.password") == "geheim"
    assert str(made.client_properties.get("client.id")).endswith("x")
    assert "geheim" not in repr(made.client_properties)
    assert said == []


def test_the_file_is_read_in_java_s_encoding(session):
    assert session("client.rack=\xfc").client_properties.get("client.rack") == "\xfc"


def test_brokers_without_a_port_are_refused_before_the_profile_is_written(eosctl, home):
    ran = eosctl("profile", "add", "x", "-b", "broker")
    assert (ran.exit_code, "-b: 'broker' is not HOST:PORT" in ran.stderr) == (2, True)
    assert (home / "config.yaml").read_text() == FILE
