"""The system's ssh client, which never asks for anything: https://man.openbsd.org/ssh"""

import subprocess

from harness.errors import UsageError
from harness.programs import find_program

_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15")


def ssh(host: str, command: str, *options: str) -> list[str]:
    """The arguments that run a shell command on a host."""
    return [_program(), *_OPTIONS, *options, host, command]


def address_of(host: str) -> str:
    """The name or address that ssh connects to for ``host``, which may be ``USER@HOST`` or an
    alias in its configuration."""
    found = subprocess.run([_program(), "-G", host], capture_output=True, text=True)
    if found.returncode:
        raise UsageError(f"{host}: {last_line(found.stderr)}")
    settings = dict(line.split(" ", 1) for line in found.stdout.splitlines() if " " in line)
    return settings["hostname"]


def last_line(output: str) -> str:
    """The last line of a command's output, which usually has its error."""
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "no output"


def _program() -> str:
    program = find_program("ssh")
    if program is None:
        raise UsageError("ssh is missing: install OpenSSH's client (apt install openssh-client)")
    return str(program)
