"""Units of systemd: the service of `watch`, and the audit of a profile every night.

Both run as the same dynamic user, so that the one reads the ledger that the other keeps in /var/lib/eosctl.
"""

from typing import Final

from eosctl.errors import UsageError
from eosctl.model.unseen import UNSEEN
from eosctl.model.watch import WatchFile

_CONFINED: Final = """\
# The user's profiles are /etc/eosctl/config.yaml; what they refer to has to be readable, too.
Environment=XDG_CONFIG_HOME=/etc
User=eosctl
DynamicUser=yes
StateDirectory=eosctl
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
"""
_NETWORK: Final = """\
Wants=network-online.target
After=network-online.target
"""
_SERVICE: Final = """\
[Unit]
Description=Metrics of exactly-once Kafka Connect sources
Documentation=man:eosctl-watch(1)
{network}
[Service]
ExecStart={command}
Restart=on-failure
RestartSec=10
SuccessExitStatus=130
{confined}
[Install]
WantedBy=multi-user.target
"""
_AUDIT: Final = """\
# /etc/systemd/system/eosctl-audit@.service, started by eosctl-audit@PROFILE.timer
[Unit]
Description=Audit of exactly-once for profile %I
Documentation=man:eosctl-audit(1)
{network}
[Service]
Type=oneshot
# It fails where something is found (1) or not read (3): name what alerts you with OnFailure=. The ledger is the
# profile's audit-store, as sqlite:////var/lib/eosctl/audit.db: without one each night reads everything.
ExecStart={program} audit --profile %I --quiet --output json --output-file /var/lib/eosctl/audit-%i.json
Nice=10
{confined}"""
_TIMER: Final = """\
# /etc/systemd/system/eosctl-audit@.timer; for each profile: systemctl enable --now eosctl-audit@PROFILE.timer
[Unit]
Description=Audit of exactly-once every night for profile %I

[Timer]
OnCalendar=*-*-* 02:15:00
RandomizedDelaySec=15min
Persistent=true

[Install]
WantedBy=timers.target
"""


def watch_service(file: WatchFile) -> str:
    """The unit that watches the profiles."""
    words = (file.program, "watch", *file.profiles, "--listen", file.address, "--every", f"{file.every_s:g}")
    return _SERVICE.format(command=" ".join(map(_word, words)), network=_NETWORK, confined=_CONFINED)


def audit_service(file: WatchFile) -> str:
    """The template of a unit that audits the profile that it is named after."""
    return _AUDIT.format(program=_word(file.program), network=_NETWORK, confined=_CONFINED)


def audit_timer() -> str:
    """The template of a timer that starts it every night."""
    return _TIMER


def _word(word: str) -> str:
    """One word of a command line of systemd, where %, $ and quotes mean something.

    UsageError for a word with a character that is not seen: a line end would begin another setting of the unit.
    """
    if UNSEEN.search(word):
        raise UsageError(f"a unit of systemd cannot have a character of {word!a}", hint="give it another name")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if any(char.isspace() or char in "\"';\\" for char in word) else word
