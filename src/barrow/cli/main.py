"""The ``barrow`` command: finds the sub-command, prints errors kindly, sets the exit code.

Exit codes: 0 done; 1 a barrow error (printed with its fix); 2 the command line could not be read; 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module

import click

from barrow._version import __version__
from barrow.cli.again import RepeatedRun
from barrow.cli.terminal import echo, echo_json, echo_usage
from barrow.errors import BarrowError, nearest_name
from barrow.registry import usable
from barrow.remembered import remembering

_COMMANDS = {
    "demo": ("barrow.cli.demo", "Release from bundled real data, in seconds."),
    "init": ("barrow.cli.init", "Write a study and create the ledger of its data set."),
    "choose": ("barrow.cli.choose", "Turn promises in plain words into alpha."),
    "design": ("barrow.cli.design", "Design a study in the browser, with a preview of its results."),
    "plan": ("barrow.cli.plan", "Show the accuracy and the cost of a release before it is made."),
    "compare": ("barrow.cli.compare", "Compare all mechanisms with ordinary user-level DP."),
    "release": ("barrow.cli.release", "Release an answer, with a statement."),
    "propose": ("barrow.cli.propose", "Write releases as a proposal, for a ledger with approvers."),
    "approve": ("barrow.cli.approve", "Read, check and sign a proposal."),
    "check": ("barrow.cli.check", "Find records that a release would refuse (private output)."),
    "explain": ("barrow.cli.explain", "Explain step by step how a release was made."),
    "sample": ("barrow.cli.sample", "Draw synthetic records from a finished release, at no cost."),
    "region": ("barrow.cli.region", "Estimate the share of a region from a finished release."),
    "registry": ("barrow.cli.registry", "Write a release as a record for the registry of deployments."),
    "report": ("barrow.cli.report", "Write a page about one or several releases."),
    "verify": ("barrow.cli.verify", "Check a release's files and its entry in the ledger."),
    "local": ("barrow.cli.local", "Randomise one person's items, mix messages, aggregate reports."),
    "collect": ("barrow.cli.collect", "Collect over the network: cards, collector, shuffler, analyser."),
    "ledger": ("barrow.cli.ledger", "Create and read the ledger: what a data set may spend, and has spent."),
    "key": ("barrow.cli.key", "Create a signing key, or show its fingerprint."),
    "engines": ("barrow.cli.engines", "Check that a database encodes records exactly as barrow does."),
    "sql": ("barrow.cli.sql", "Write the SELECT that counts in your own warehouse."),
    "account": ("barrow.cli.account", "Compute the largest safe alpha0 of a shuffled release."),
    "audit": ("barrow.cli.audit", "Test the noise of a study, or all mechanisms, by attacking them."),
}
"""Sub-commands by name: the module that holds the click command of the same name, and its one-line help."""


_KINDS = ("mean", "histogram", "density", "quantile", "total", "spread", "region")
"""Kinds of questions that people type where a command stands."""
_OTHERS = ("explain", "report", "verify", "local", "collect", "approve", "registry")
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; one that there is not is answered by the nearest."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            close = nearest_name(args[0], _COMMANDS)
            kind = nearest_name(args[0], _KINDS)
            hint = f" Did you mean 'barrow {close}'?" if close else ""
            if kind and not (close and close in args[0]):
                hint = f" To ask for a {kind}: barrow plan --question {kind}"
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

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
    help="Show the versions of barrow and its libraries and exit.",
)
@click.option("--plugins", is_flag=True, help="Also load installed plug-ins for files that other people wrote.")
@click.pass_context
def cli(ctx: click.Context, plugins: bool) -> None:
    """Publish statistics about people, with a proven limit on what anyone can learn about one of them.

    Start with:  barrow demo, or barrow init FILE
    """
    if plugins or ctx.invoked_subcommand not in _OTHERS:
        ctx.with_resource(usable("installed"))


def _quick_start() -> None:
    """Settings of the process that a command runs in; they change what it costs, and no number.

    Threads of linear algebra spin while they wait, on vectors of 10,000 numbers already: half of the CPU time of plans.
    Whoever has large matrices and free cores sets the variable. Most commands end before the first round of garbage
    collection, which would look at all that modules hold and free next to nothing of it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000, 10, 10)


def _quick_end(code: int) -> None:
    """End the process at once, after all that has to be done at its end.

    Python would then free all modules one by one, which took a quarter of a command's time; the system frees them
    anyway. Where threads still run, and where what was printed cannot be written, the process ends as ever.
    """
    if threading.active_count() > 1:
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # a pipe that nobody reads, or no output at all
        return
    os._exit(code)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Args:
        argv: What was typed; by default the arguments of this process, which then ends here.
    """
    try:
        _run(sys.argv[1:] if argv is None else argv)
    except SystemExit as done:
        if argv is None and (done.code is None or isinstance(done.code, int)):
            _quick_end(done.code or 0)
        raise


def _run(arguments: list[str]) -> None:
    _quick_start()
    try:
        with remembering():
            run = RepeatedRun(arguments)
            if run.show():
                sys.exit(0)
            with run.listening():
                code = cli.main(args=arguments, prog_name="barrow", standalone_mode=False, obj=run)
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
