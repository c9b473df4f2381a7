"""``./just worker HOST``: generate load for a bench that runs on another machine."""

from multiprocessing import AuthenticationError

import click

import harness.quiet  # noqa: F401
from bench.generators import prepare
from bench.generators.workers import PORT, VARIABLE, work
from bench.measuring.machine import identity
from harness.console import say
from harness.errors import TaskError
from harness.system.processes import raise_limits
from harness.task import reports_errors


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("host")
@click.option("--token", envvar=VARIABLE, required=True, show_envvar=True, help="The run's token.")
@reports_errors
def main(host: str, token: str) -> None:
    """Generate load for `./just bench --workers`, which runs on HOST and prints this command."""
    raise_limits()
    prepare()
    say(f"generating load for {host}. Ctrl-C stops it.")
    try:
        work(host, token, identity())
    except (OSError, AuthenticationError) as error:
        hint = "`./just bench --workers` must be waiting there, and its token be this one"
        raise TaskError(f"{host}:{PORT}: {error}: {hint}") from error


if __name__ == "__main__":
    main(prog_name="just worker")
