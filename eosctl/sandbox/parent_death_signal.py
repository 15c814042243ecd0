"""Runs a command that the kernel kills when its parent dies, also when the parent is killed with SIGKILL.

Called as `python -S -E leash.py PARENT_PID [--user NAME] COMMAND...`; it replaces itself with COMMAND, so the process
ID stays. PR_SET_PDEATHSIG survives execve, but no change of the user, which therefore comes first. It fires when the
*thread* that started this process ends, so that thread must live as long as the command should (`process.Spawner` sees
to it). Elsewhere than on Linux the command is run as it is.
"""

import ctypes
import os
import pwd
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Ties this process to `parent` and becomes `command`; exits with 1 when the parent is gone already."""
    if command[0] == "--user":
        account = pwd.getpwnam(command[1])
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
        command = command[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
