"""A file of 50 MB, of one comment, and one that never ends: read in seconds, or refused by its name and the limit."""

from pathlib import Path
from time import monotonic

import pytest

from eosctl.errors import ConfigError
from eosctl.files import IDS, PROFILES, RECORDS, FileKind, open_lines, read_content

WORKER = "bootstrap.servers=127.0.0.1:1\ngroup.id=g\n" + "".join(
    f"{each}.storage.topic=x\n" for each in ("config", "offset", "status")
)
NOBODY = ("-b", "127.0.0.1:1", "--timeout", "1")
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


@pytest.mark.parametrize(
    ("name", "words", "limit"),
    [
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
    ],
)
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


def test_a_device_that_never_ends_is_refused_by_its_name():
    with pytest.raises(ConfigError, match="cannot read --f /dev/zero: it has more than 4 MiB"):
        read_content(Path("/dev/zero"), FileKind("--f"))
    for kind in (RECORDS, IDS):
        with (
            open_lines(Path("/dev/zero"), kind) as lines,
            pytest.raises(ConfigError, match="/dev/zero: line 1 has more"),
        ):
            next(lines)


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
