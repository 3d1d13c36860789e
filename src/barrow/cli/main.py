"""The ``barrow`` command: finds the sub-command, prints errors kindly, sets the exit code.

Exit codes: 0 done; 1 a barrow error (printed with its fix); 2 the command line could not be read; 130 interrupted.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from barrow._version import __version__
from barrow.cli.terminal import echo, echo_json, echo_usage
from barrow.errors import BarrowError
from barrow.registry import usable

_COMMANDS = {
    "demo": ("barrow.cli.demo", "Release from bundled real data, in seconds."),
    "init": ("barrow.cli.init", "Write a study and make its data set's ledger."),
    "choose": ("barrow.cli.choose", "Turn promises in plain words into alpha."),
    "design": ("barrow.cli.design", "Choose privacy by looking, in a page on this machine."),
    "plan": ("barrow.cli.plan", "Show what a release would give and cost; reads no private value."),
    "compare": ("barrow.cli.compare", "Compare all mechanisms, and ordinary user-level DP, before choosing."),
    "release": ("barrow.cli.release", "Release an answer, with a statement."),
    "check": ("barrow.cli.check", "Look for records that a release would refuse (private output)."),
    "explain": ("barrow.cli.explain", "Say how a release was made, from its statement."),
    "region": ("barrow.cli.region", "The share of a region, with its interval, from a finished release."),
    "report": ("barrow.cli.report", "One page about one or several releases."),
    "verify": ("barrow.cli.verify", "Check a release's files and its entry in the ledger."),
    "local": ("barrow.cli.local", "One person's report, mixing, and what many reports say."),
    "collect": ("barrow.cli.collect", "Collect over the network: cards, collector, shuffler, analyser."),
    "ledger": ("barrow.cli.ledger", "Make and read a privacy budget that survives crashes."),
    "key": ("barrow.cli.key", "Make a key that signs, and show its fingerprint."),
    "engines": ("barrow.cli.engines", "Check that a warehouse's SQL gives the same items, bit for bit."),
    "account": ("barrow.cli.account", "Say what a shuffled release may cost."),
    "audit": ("barrow.cli.audit", "Try to break every mechanism, exactly, on tiny spaces."),
}
"""Sub-commands by name: the module that holds the click command of the same name, and its one-line help."""


_OTHERS = ("explain", "report", "verify", "local", "collect")
"""Sub-commands that read what other people wrote; all others run a person's own study, and load its plug-ins."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are used, so that ``barrow --help`` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(_COMMANDS[cmd_name][0])
        command = getattr(module, cmd_name.replace("-", "_"))
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version
    from platform import python_version

    echo(f"barrow, version {__version__}\n  Python {python_version()}")
    for name in ("numpy", "scipy", "python-flint", "cryptography", "duckdb", "psycopg", "pyspark"):
        with suppress(PackageNotFoundError):
            echo(f"  {name} {version(name)}")
    ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the versions that matter and exit.",
)
@click.option("--plugins", is_flag=True, help="Load installed plug-ins for what other people wrote, too.")
@click.pass_context
def cli(ctx: click.Context, plugins: bool) -> None:
    """User-level metric differential privacy via the earth mover's distance.

    Start with:  barrow demo, or barrow init FILE
    """
    if plugins or ctx.invoked_subcommand not in _OTHERS:
        ctx.with_resource(usable("installed"))


def tell(as_json: bool, quiet: bool, told: Any, short: str | None, *lines: str) -> None:
    """Print plain data as one JSON object, or as little as possible (``short``), or sentences."""
    if as_json:
        echo_json(told)
    elif not quiet:
        echo("\n".join(lines))
    elif short is not None:
        echo(short)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = cli.main(args=arguments, prog_name="barrow", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        echo("Interrupted.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        echo_usage(error)
        sys.exit(error.exit_code)
    except BarrowError as error:
        if "--json" in arguments:
            echo_json(error.to_json())
        else:
            echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # such as a full disk that the output goes to
        with suppress(OSError):
            echo(f"Error: The system refused: {error.strerror}.\n  fix:     run the same command again", err=True)
        sys.exit(1)
