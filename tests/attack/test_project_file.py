"""A `.eosctl.yaml` that somebody else left in a directory, and the user who works there."""

import json
import os
from pathlib import Path

import pytest

from tests.attack.project_files import files_with_references, random_file
from tests.commands.completion import home, offers, worker

CANARY = "c4n4ry"
USER = "current: prod\nprofiles: {prod: {bootstrap-server: 'prod:9092', protected: true, cluster-id: abc}}\n"
PROJECT = "profiles: {project: {bootstrap-server: 'project:9092', group-id: g, command-config: client.properties}}\n"


@pytest.fixture
def project(eosctl, tmp_path, monkeypatch):
    """The project's directory, where the user is; `client.properties` is in it."""
    user = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    user.parent.mkdir()
    user.write_text(USER)
    monkeypatch.setenv("EOSCTL_TEST_CANARY", CANARY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.properties").write_text("client.id=project\n")
    (tmp_path / "secrets.properties").write_text(f"key={CANARY}\n")
    write(tmp_path / ".eosctl.yaml", PROJECT)
    return tmp_path


def write(path, text, mode=0o644):
    path.write_text(text)
    path.chmod(mode)


def settings(eosctl, *args):
    ran = eosctl("profile", "explain", "-o", "json", *args)
    assert ran.exit_code == 0, ran.stderr
    return {each["setting"]: each["value"] for each in json.loads(ran.stdout)["data"]["settings"]}


def test_a_tab_opens_no_connection_and_reads_no_secret_for_a_file_that_is_not_trusted(tmp_path):
    with worker("orders") as connect:
        user = home(tmp_path)
        evil = f"current: evil\nprofiles: {{evil: {{connect-url: '{connect.url}'}}}}"
        write(tmp_path / ".eosctl.yaml", evil)
        for line in ("eosctl fence --connector ", "eosctl fence --profile evil --connector ", "eosctl offsets show "):
            assert "orders" not in offers(line, tmp_path, **user, EOSCTL_COMPLETION_TIMEOUT="5")
        assert connect.asked == 0
        assert offers("eosctl fence --profile ", tmp_path, **user) == ["production", "staging"]


def test_no_setting_of_a_file_is_used_before_it_is_trusted_and_a_warning_appears(eosctl, project):
    write(project / ".eosctl.yaml", "current: prod\nprofiles: {prod: {bootstrap-server: 'evil:1', protected: false}}")
    ran = eosctl("profile", "explain", "-o", "json")
    assert f"{project}/.eosctl.yaml is not trusted, so no profile in it is used" in ran.stderr
    assert "eosctl profile trust" in ran.stderr
    assert settings(eosctl)["bootstrap.servers"] == "prod:9092"
    unknown = eosctl("profile", "show", "project")
    assert unknown.exit_code == 2
    assert "is not trusted" in unknown.stderr


def test_a_profile_of_the_user_s_own_is_named_without_a_warning(eosctl, project):
    assert eosctl("profile", "explain", "--profile", "prod").stderr == ""


def test_a_trusted_file_is_used_from_below_and_until_it_changes(eosctl, project, monkeypatch):
    trusted = eosctl("profile", "trust")
    assert (trusted.exit_code, "project:9092" in trusted.stdout) == (0, True)
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    found = settings(eosctl, "--profile", "project")
    assert (found["bootstrap.servers"], found["client.id"]) == ("project:9092", "project")
    write(project / ".eosctl.yaml", PROJECT.replace("project:9092", "evil:1"))
    ran = eosctl("profile", "explain", "--profile", "project")
    assert ran.exit_code == 2
    assert "has changed since you trusted it" in ran.stderr


def test_the_client_properties_that_a_file_names_are_trusted_with_it(eosctl, project):
    eosctl("profile", "trust")
    (project / "client.properties").write_text("client.id=project\nbootstrap.servers=evil:1\n")
    ran = eosctl("profile", "explain", "--profile", "project")
    assert ran.exit_code == 2
    assert "client.properties, which" in ran.stderr
    assert "has changed since you trusted it" in ran.stderr


def test_a_copy_elsewhere_and_a_file_that_is_distrusted_are_not_trusted(eosctl, project, monkeypatch):
    eosctl("profile", "trust")
    assert "project" in eosctl("profile", "list").stdout
    assert eosctl("profile", "distrust").exit_code == 0
    assert "project:9092" not in eosctl("profile", "list").stdout
    eosctl("profile", "trust")
    elsewhere = project / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / ".eosctl.yaml").symlink_to(project / ".eosctl.yaml")
    assert "project:9092" not in eosctl("profile", "list").stdout


def test_a_trusted_file_replaces_no_profile_of_the_user_and_not_the_one_in_use(eosctl, project):
    write(project / ".eosctl.yaml", "current: own\nprofiles: {prod: {group-id: evil}, own: {group-id: own}}")
    assert eosctl("profile", "trust").exit_code == 0
    ran = eosctl("profile", "explain", "-o", "json")
    assert f"profile prod ({project}/.eosctl.yaml) is not used" in ran.stderr
    found = settings(eosctl)
    assert (found["bootstrap.servers"], found["group-id"]) == ("prod:9092", None)
    assert settings(eosctl, "--profile", "own")["group-id"] == "own"


def test_a_file_that_others_can_change_is_refused(eosctl, project):
    eosctl("profile", "trust")
    for name in (".eosctl.yaml", "client.properties"):
        for mode in (0o666, 0o664):
            (project / name).chmod(mode)
            ran = eosctl("profile", "trust")
            assert ran.exit_code == 8
            assert f"{name} can be changed by other users" in ran.stderr
            assert "project:9092" not in eosctl("profile", "list").stdout
        (project / name).chmod(0o644)


def test_a_file_of_another_user_is_refused(eosctl, project, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    if os.getuid() == 0:
        os.chown(project / ".eosctl.yaml", 4712, -1)
    ran = eosctl("profile", "trust")
    assert ran.exit_code == 8
    assert "belongs to another user" in ran.stderr


def test_a_file_refers_to_no_secret_wherever_the_reference_stands(eosctl, project):
    for text in files_with_references(str(project / "secrets.properties"), str(project)):
        write(project / ".eosctl.yaml", text)
        ran = eosctl("profile", "trust")
        assert (ran.exit_code, CANARY in ran.stdout + ran.stderr) == (2, False), text
        assert "which a project's file may not" in ran.stderr, text
    for seed in range(5):
        write(project / ".eosctl.yaml", random_file(seed, str(project / "secrets.properties"), str(project)))
        assert eosctl("profile", "trust").exit_code == 2, seed
    write(project / ".eosctl.yaml", PROJECT)
    (project / "client.properties").write_text("client.id=${env:EOSCTL_TEST_CANARY}\n")
    ran = eosctl("profile", "trust")
    assert ran.exit_code == 2
    assert "client.id refers to a config provider" in ran.stderr


def test_a_missing_or_unreadable_file_does_not_end_with_70(eosctl, project, monkeypatch):
    (project / ".eosctl.yaml").unlink()
    assert eosctl("profile", "trust").exit_code == 2
    os.mkfifo(project / "pipe")
    assert eosctl("profile", "trust", project / "pipe").exit_code == 8
    (project / ".eosctl.yaml").write_bytes(b"\xff" * 10)
    assert eosctl("profile", "trust").exit_code == 2
    (project / ".eosctl.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    assert eosctl("profile", "list").exit_code == 0
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert eosctl("profile", "list").exit_code == 0
