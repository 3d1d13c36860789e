"""Pages that are made while the site is built, so that they cannot drift: commands, the study file, the public API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

import barrow
from barrow.cli.main import cli
from barrow.render.idea import idea_page
from barrow.study.file import StudyFile
from barrow.study.schemas import event_schema, statement_schema

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

WORKER = "assets/docs_worker.js"
_SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme asks another host for where the site is read from disk."""


def commands_page() -> str:
    """The help of every command, as the terminal shows it."""
    parts = ["# Command line\n\nWhat `--help` says for each command.\n"]

    def add(command: click.Command, path: list[str], parent: click.Context | None) -> None:
        context = click.Context(command, info_name=path[-1], parent=parent, max_content_width=100, terminal_width=100)
        parts.append(f"## {' '.join(path)}\n\n```text\n{command.get_help(context)}\n```\n")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                result = command.get_command(context, name)
                if result is not None and not result.hidden:
                    add(result, [*path, name], context)

    add(cli, ["barrow"], None)
    return "\n".join(parts)


def study_page() -> str:
    """The schema of study.toml."""
    schema = json.dumps(msgspec.json.schema(StudyFile), indent=2)
    return (
        "# The study file\n\n`study.toml` holds one data set, one space, the promises, and any number of questions. "
        "Files that it names (records, ledger, public tables) are seen from its own folder, which may be moved and "
        "entered; file names inside an SQL query are seen from where the command is typed. "
        "Its JSON Schema (`study.schema.json` beside this page):\n\n"
        f"```json\n{schema}\n```\n"
    )


def schemas_page() -> str:
    """The schemas of events and of statements, as tables."""
    lines = ["# Events and statements\n"]
    lines += [
        "What a release leaves behind for programs: `statement.json` of its folder, and in it, and in the ledger, the "
        "**event**: what the mechanism did, in the fewest public numbers that price it. JSON Schemas: "
        "`statement.schema.json` and `event.schema.json` beside this page. Numbers that a guarantee depends on are "
        "exact texts (`25`, `0.2`, `1e-12`, `1/30`). What a kind of question says stands under `answer`.\n"
    ]
    statement, events = statement_schema()["$defs"], event_schema()["$defs"]
    for name in [name for name, schema in statement.items() if "properties" in schema and name not in events]:
        lines += _table(name, statement[name])
    for name in list(events)[1:]:
        lines += _table(f"Event: {name}", events[name])
    return "\n".join(lines)


def _table(title: str, schema: dict[str, Any]) -> list[str]:
    rows = ["| field | value | |", "|---|---|---|"]
    for field, value in schema["properties"].items():
        needed = "" if field in schema.get("required", ()) else " (may be left out)"
        rows.append(f"| `{field}` | {_words(value)}{needed} | {value.get('description', '')} |")
    return [f"## {title}\n", schema.get("description", "").splitlines()[0] + "\n", *rows, ""]


def _words(value: dict[str, Any]) -> str:
    if "anyOf" in value:
        return " or ".join(_words(part) for part in value["anyOf"])
    if "const" in value or "enum" in value:
        return ", ".join(f"`{one}`" for one in value.get("enum", [value.get("const")]))
    if "$ref" in value:
        return value["$ref"].rpartition("/")[2]
    if value.get("type") == "array":
        parts = value.get("prefixItems") or [value.get("items") or {}]
        return f"list of {' and '.join(map(_words, parts))}"
    return "exact text" if value.get("description", "").startswith("An exact") else value.get("type", "any")


def api_page() -> str:
    """Every public name with its docstring."""
    names = sorted(name for name in barrow.__all__ if not name.startswith("_"))
    lines = ["# Python", "", "`import barrow as bw` gives these names.", ""]
    for name in names:
        value = getattr(barrow, name)
        lines += [f"::: {getattr(value, '__module__', 'barrow')}.{name}", ""]
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Mkdocs calls this with the pages that it found."""
    from mkdocs.structure.files import File

    built = {
        "reference/commands.md": commands_page(),
        "reference/study-file.md": study_page(),
        "reference/study.schema.json": json.dumps(msgspec.json.schema(StudyFile), indent=2) + "\n",
        "reference/schemas.md": schemas_page(),
        "reference/statement.schema.json": json.dumps(statement_schema(), indent=2) + "\n",
        "reference/event.schema.json": json.dumps(event_schema(), indent=2) + "\n",
        "reference/api.md": api_page(),
        "idea.html": idea_page(),
        WORKER: (Path(__file__).parent / "docs_worker.js").read_text(encoding="utf-8"),
        "assets/docs.css": (Path(__file__).parent / "docs.css").read_text(encoding="utf-8"),
    }
    for path, content in built.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The script that lets the search work from disk is our own: no page asks another host for it."""
    from mkdocs.utils import get_relative_url

    return output.replace(_SHIM, get_relative_url(WORKER, page.url))


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """The same for the page that says that there is no such page."""
    return output.replace(_SHIM, WORKER)
