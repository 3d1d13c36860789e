"""Flags that say the same as a study file, and the study that both make together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from barrow.errors import ParameterError
from barrow.policy import Promise
from barrow.release.study import Study, read_table, study_from_spec
from barrow.spaces import parse_call, parse_space

Command = TypeVar("Command", bound=Callable[..., Any])

_DATA = [
    click.argument("source", required=False),
    click.option("--study", "file", type=click.Path(), help="A study file; flags replace what it says."),
    click.option("--user", help="The column that says whose record it is."),
    click.option("--item", "items", multiple=True, help="A column of the item; repeat it, e.g. for lat and lon."),
    click.option("--sql", help="A query over the source (its records are the table 'records')."),
    click.option(
        "--unknown", type=click.Choice(["error", "default", "nearest"]), help="What to do with unknown records."
    ),
    click.option("--space", metavar="SPACE", help="The public space, e.g. 'earth(box=(40, -75, 41, -73), cell=1)'."),
    click.option("--users", type=int, help="How many people the data are about (public)."),
]
_QUESTION = [
    click.option("--query", metavar="QUERY", help="mean, histogram, \"density(bandwidth='5 km')\", …"),
    click.option("--promise", "promises", multiple=True, metavar="'SHARE, DISTANCE, EPSILON'", help="May be repeated."),
    click.option("--alpha", help="alpha itself, instead of promises."),
    click.option("--delta", help="Probability with which promises may fail."),
    click.option("--part", help="The part of the promised alpha that this release may use."),
    click.option("--noise", help="auto, laplace, l2, linf or gaussian."),
    click.option("--model", type=click.Choice(["local", "shuffle", "central"]), help="Who adds the noise."),
    click.option("--dataset", help="A public name of the data set."),
]


def data_options(command: Command) -> Command:
    """Flags about where the records are and what they are."""
    for option in reversed(_DATA):
        command = option(command)
    return command


def question_options(command: Command) -> Command:
    """Flags about what is asked and what is promised."""
    for option in reversed(_QUESTION):
        command = option(command)
    return command


def output_options(command: Command) -> Command:
    """``--json`` and ``--quiet``, which every command has."""
    command = click.option("--quiet", is_flag=True, help="Print as little as possible.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")(command)


def make_study(file: str | None, **flags: Any) -> Study:
    """The study of a file, with what the flags say in place of what it says."""
    if file is None and str(flags.get("source")).endswith(".toml"):
        file = flags.pop("source")  # barrow plan study.toml means --study study.toml
    spec: dict[str, Any] = {} if file is None else read_table(file)
    for name in ("users", "dataset", "model", "ledger", "out"):
        if flags.get(name) is not None:
            spec[name] = flags[name]
    data = dict(spec.get("data", {}))
    if flags.get("source") is not None or flags.get("sql") is not None:
        data = {k: v for k, v in data.items() if k not in ("source", "sql")}
    for name in ("source", "sql", "user", "unknown"):
        if flags.get(name) is not None:
            data[name] = flags[name]
    if flags.get("items"):
        data["items"] = list(flags["items"])
    if data:
        spec["data"] = data
    if flags.get("space") is not None:
        spec["space"] = _space_spec(flags["space"])
    if flags.get("query") is not None:
        spec["query"] = _query_spec(flags["query"])
    _privacy(spec, flags)
    if "space" not in spec:
        raise ParameterError(
            "No space is named.",
            allowed="a public space: barrow never learns the domain from the data",
            fix="--space 'earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)', or --study study.toml",
        )
    return study_from_spec(spec)


def _privacy(spec: dict[str, Any], flags: dict[str, Any]) -> None:
    privacy = dict(spec.get("privacy", {}))
    for name in ("alpha", "delta", "part", "noise"):
        if flags.get(name) is not None:
            privacy[name] = flags[name]
    if flags.get("promises"):
        rows = [Promise.parse(text) for text in flags["promises"]]
        spec["promise"] = [{"share": p.share_text, "distance": p.distance, "epsilon": str(p.epsilon)} for p in rows]
        if flags.get("alpha") is None:
            privacy.pop("alpha", None)
    elif flags.get("alpha") is not None:
        spec.pop("promise", None)
    if privacy:
        spec["privacy"] = privacy


def _space_spec(text: str) -> dict[str, Any]:
    if text.endswith(".toml"):
        return dict(read_table(text).get("space", {}))
    return parse_space(text).to_spec()


def _query_spec(text: str) -> dict[str, Any]:
    spec = parse_call(text)
    if spec is None:
        raise ParameterError(
            f"The query {text!r} cannot be read.",
            allowed="a kind of query with named arguments",
            fix="--query mean, --query histogram, --query \"density(bandwidth='5 km')\"",
        )
    return spec
